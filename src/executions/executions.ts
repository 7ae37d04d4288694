/**
 * The entry point of everything that runs. One engine for the four modes: they differ in how long the caller waits, and in
 * who holds the pipes. An execution takes a slot, gets its permit, starts, and ends exactly once.
 */
import { homedir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { isInside, realPathOf } from '../base/config/paths.ts';
import { ShellServerError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Settings } from '../base/settings.ts';
import type { Bundle, Outputs } from '../outputs/types.ts';
import type { Security } from '../security/security.ts';
import { createCgroups } from './cgroups/cgroups.ts';
import type { FollowOptions } from './detached/launch-detached.ts';
import { createEndRequests } from './end-requests.ts';
import { createExplainer } from './explainer.ts';
import { createForker } from './forker.ts';
import type { Instance } from './instance.ts';
import { createInventory } from './inventory.ts';
import { type LimitEnforcement, limitEnforcement } from './limit-enforcement.ts';
import type { Live } from './live.ts';
import { createLoginPath } from './login-path.ts';
import { createLostSessions } from './lost-sessions.ts';
import { createMonitors, type Monitors } from './monitors.ts';
import { createNews, type News } from './news.ts';
import { createPipes } from './pipes.ts';
import { createPreparation } from './preparation.ts';
import type { ExecutionRecord } from './record.ts';
import { createRunning, type RunningEntry } from './running.ts';
import { createSandboxPool } from './sandbox-pool.ts';
import { createSecretRequests, type SecretRequestOptions } from './secret-requests.ts';
import { createSessions, type SessionChange, type Sessions } from './sessions.ts';
import { type SlotKind, slotKind } from './slots.ts';
import { createStarter, type StartRequest } from './start.ts';
import { createStore, type Summary } from './store.ts';
import type { Usage } from './usage.ts';
import { waitForEnd } from './wait.ts';
import { createWaits, type Waits } from './waits/waits.ts';

export { OPERATOR } from './end-requests.ts';
export type { Cause, EndSignal } from './ending.ts';
export { runHelper } from './helper.ts';
export { createInstance, type Instance } from './instance.ts';
export { type LimitEnforcement, NOT_ENFORCED } from './limit-enforcement.ts';
export type { Live } from './live.ts';
export type { MonitorReading, Monitors, MonitorView } from './monitors.ts';
export type { News, NewsEvent } from './news.ts';
export { createObserver, type ObservedExecution, type Observer } from './observer.ts';
export { ownProcesses } from './own-processes.ts';
export type { ExecutionMode, ExecutionRecord, Outcome, Status } from './record.ts';
export { durationOf, EXECUTION_MODES, pidOf, spanOf, TERMINATION_REASONS } from './record.ts';
export { type Figure, METRICS, type Metric, type Sample } from './sampler.ts';
export type { SessionChange } from './sessions.ts';
export type { StartRequest, TerminalStart } from './start.ts';
export type { Summary } from './store.ts';
export { type WaitResult, waitForEnd } from './wait.ts';
export type { Condition, Sighting } from './waits/conditions.ts';
export type { Verdict, WaitReport, Waits, WaitTarget } from './waits/waits.ts';

/** One execution as the tools see it: the record as it is now, its outputs, and its life while it has one. */
export interface Execution {
  readonly record: ExecutionRecord;
  readonly bundle: Bundle;
  readonly live: Live | undefined;
  /** Of the whole tree, while it runs here. */
  usage(): Usage | undefined;
  /** What the session took over, once the execution ended; undefined where there is no session. */
  readonly sessionChange: SessionChange | 'nothing' | undefined;
  /** Its session had state, which this server did not have when it began. */
  readonly isSessionLost: boolean;
}

export interface Executions {
  readonly sessions: Sessions;
  readonly monitors: Monitors;
  readonly waits: Waits;
  readonly news: News;
  /** Resolves when what earlier servers left is known. */
  ready(): Promise<void>;
  /** A principal has connected, and may be about to start something. */
  anticipate(principal: string): void;
  /** Starts it; resolves as soon as the process is there. */
  start(request: StartRequest, signal: AbortSignal): Promise<Execution>;
  /** The caller was answered while it runs: the session does not wait for it any longer. */
  letGo(execution: Execution): void;
  /** Throws RESOURCE_001. */
  get(principal: string, executionId: string): Promise<Execution>;
  /** The execution, once it ended or the time is over. */
  waitFor(principal: string, executionId: string, timeoutMs: number, signal: AbortSignal): Promise<Execution>;
  /** By the number of a process that this server started and that still runs; throws RESOURCE_001. */
  getByPid(principal: string, pid: number): Promise<Execution>;
  list(principal: string): Promise<readonly Summary[]>;
  /** The host of a terminal says that it has ended, or is gone. True where that is not on disk yet. */
  checkEnd(executionId: string): boolean;
  /** How many run, of all principals. */
  count(kind: SlotKind): number;
  /** Who keeps each limit of a principal's commands, found out by trying. */
  limitEnforcement(principal: string): Promise<LimitEnforcement>;
  /** The PATH that commands see. */
  commandPath(): Promise<string>;
  /** Ends everything but the detached. */
  dispose(): Promise<void>;
}

export interface ExecutionsOptions {
  readonly settings: Settings;
  readonly security: Security;
  readonly outputs: Outputs;
  readonly instance: Instance;
  readonly directory: string;
  /** The program of a detached execution's wrapper. */
  readonly wrapperPath: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Where programs can ask the operator for passwords. */
  readonly questions?: SecretRequestOptions['questions'];
  /** Called with dead servers that were taken over, while their directories still exist. */
  readonly onTakenOver?: (dead: readonly string[]) => Promise<void>;
  /** The host of a terminal was killed: makes a transcript of what it had written. */
  readonly salvage?: FollowOptions['salvage'];
  /** Called with each execution that ended. */
  readonly onEnded?: () => void;
}

/** Nobody waits for its end. */
const isAside = ({ isLetGo, record: { mode } }: RunningEntry): boolean =>
  isLetGo || mode === 'background' || mode === 'detached' || mode === 'terminal';

/** Between two looks at an execution that another server runs. */
const WATCH_OTHERS_MS = 250;

export function createExecutions(options: ExecutionsOptions): Executions {
  const { settings, security, outputs, instance, clock, log } = options;
  const store = createStore({
    directory: options.directory,
    log,
    instance: instance.id,
    isInstanceAlive: instance.isInstanceAlive,
  });
  const running = createRunning({
    store,
    audit: security.audit,
    log,
    explain: createExplainer(security),
    onEnded(entry) {
      if (isAside(entry)) news.finished(entry.record);
      options.onEnded?.();
    },
  });
  const news = createNews({
    overLimit: (principal) =>
      [...running.entries.values()]
        .filter(
          (entry) =>
            entry.record.owner === principal &&
            isAside(entry) &&
            entry.live.outputBytes() > settings.limits.maxOutputBytes,
        )
        .map(({ record }) => record),
  });
  const sessions = createSessions(settings.defaultWorkdir, security.directories);
  const lostSessions = createLostSessions(sessions, async (principal, sessionId) => {
    await inventory.ready();
    return store.summaries(principal).some((summary) => summary.sessionId === sessionId);
  });
  const spawner = createForker();
  const pipes = createPipes(`${instance.directory}/pipes`, spawner);
  const cgroups = createCgroups();
  const loginPath = createLoginPath({
    shell: security.shells.configured,
    stateDirectory: settings.stateDir,
    environment: settings.environment,
    home: homedir(),
    prepareSandbox: security.sandbox.prepareForLogin,
    onKnown: security.sandbox.learnLoginPath,
    isHomeOpen: [...settings.security.workspace, ...settings.security.writablePaths].some((root) =>
      isInside(realPathOf(homedir()), realPathOf(root)),
    ),
    marker: instance.id,
  });
  const pool = createSandboxPool({ pipes, cgroups, spawner, server: instance.id, now: clock.now });
  const preparation = createPreparation({ security, pool, loginPath, open: () => inventory.open() });
  const starter = createStarter({
    ...options,
    store,
    running,
    sessions,
    tools: { pipes, cgroups, spawner, pool, now: clock.now },
    loginPath,
    preparation,
  });
  const inventory = createInventory({
    store,
    running,
    outputs,
    instance,
    audit: security.audit,
    endRequests: createEndRequests({ directory: instance.directory, running, audit: security.audit, log }),
    clock,
    log,
    onTakenOver: options.onTakenOver ?? (() => Promise.resolve()),
    salvage: options.salvage,
  });
  const { questions } = options;
  const secrets =
    questions !== undefined && settings.security.asksSecrets
      ? createSecretRequests({ security, running, questions, log })
      : undefined;
  const monitors = createMonitors({ clock });
  let disposing: Promise<void> | undefined;

  /** Stays true after the end, for the caller who started it or waited for it. */
  function viewRunning(entry: RunningEntry, isSessionLost = false): Execution {
    const isRunning = (): boolean => running.entries.has(entry.record.id);
    return {
      get record() {
        return entry.record;
      },
      get live() {
        return isRunning() ? entry.live : undefined;
      },
      get sessionChange() {
        return entry.sessionChange;
      },
      isSessionLost,
      bundle: entry.bundle,
      usage: () => (isRunning() ? entry.meter.read(entry.live.tree) : undefined),
    };
  }

  function viewRecord(record: ExecutionRecord): Execution {
    return {
      record: inventory.truthOf(record),
      bundle: inventory.bundleOf(record.id),
      live: undefined,
      usage: () => undefined,
      sessionChange: undefined,
      isSessionLost: false,
    };
  }

  function notFound(what: string): ShellServerError {
    return new ShellServerError('RESOURCE_001', `There is no ${what} that this server started.`);
  }

  async function get(principal: string, executionId: string): Promise<Execution> {
    await inventory.ready();
    const entry = running.entries.get(executionId);
    if (entry !== undefined && entry.record.owner === principal) return viewRunning(entry);
    const record = store.find(principal, executionId);
    if (record === undefined) throw notFound(`execution ${executionId.slice(0, 64)}`);
    return viewRecord(record);
  }

  return {
    sessions,
    monitors,
    waits: createWaits(),
    news,
    anticipate: preparation.anticipate,
    async start(request, signal) {
      inventory.open();
      if (secrets !== undefined) await secrets.open();
      const { principal, sessionId } = request;
      if (sessionId === undefined) return viewRunning(await starter.start(request, signal));
      const isLost = await lostSessions.has(principal, sessionId);
      const entry = await starter.start(request, signal);
      lostSessions.informed(principal, sessionId);
      return viewRunning(entry, isLost);
    },
    letGo(execution) {
      const entry = running.entries.get(execution.record.id);
      if (entry === undefined) return;
      entry.isLetGo = true;
      entry.bundle.outlast();
      entry.releaseSession();
    },
    ready: inventory.ready,
    get,
    async waitFor(principal, executionId, timeoutMs, signal) {
      const deadline = performance.now() + timeoutMs;
      for (;;) {
        const execution = await get(principal, executionId);
        const leftMs = deadline - performance.now();
        if (execution.record.outcome !== undefined || leftMs <= 0) return execution;
        if (execution.live !== undefined) {
          await waitForEnd(execution.live, { patienceMs: leftMs }, signal);
          return execution;
        }
        // Another server's: only its record tells.
        await sleep(Math.min(leftMs, WATCH_OTHERS_MS), undefined, { signal });
      }
    },
    async getByPid(principal, pid) {
      await inventory.ready();
      for (const entry of running.entries.values()) {
        const { pid: leader, program } = entry.live.process;
        if (entry.record.owner === principal && (leader === pid || program === pid))
          return viewRunning(entry);
      }
      throw notFound(`running process ${pid}`);
    },
    async list(principal) {
      await inventory.ready();
      return store.summaries(principal);
    },
    checkEnd(executionId) {
      running.entries.get(executionId)?.live.checkEnd();
      return running.isActive(executionId);
    },
    count: (kind) => [...running.entries.values()].filter(({ record }) => slotKind(record) === kind).length,
    limitEnforcement: async (principal) =>
      limitEnforcement({
        held: cgroups.held(),
        sandboxKind: (await security.sandbox.state()).kind,
        security: security.restrictions.of(principal).security,
      }),
    commandPath: loginPath.resolve,
    dispose: () => (disposing ??= dispose()),
  };

  async function dispose(): Promise<void> {
    preparation.dispose();
    loginPath.dispose();
    monitors.dispose();
    await starter.stop();
    await pool.dispose();
    await running.close();
    secrets?.dispose();
    await spawner.dispose();
    pipes.dispose();
    cgroups.dispose();
    store.close();
    inventory.close();
  }
}
