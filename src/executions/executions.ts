/**
 * The entry point of everything that runs. One engine for the four modes: they differ in how long the caller waits, and in
 * who holds the pipes. An execution takes a slot, gets its permit, starts, and ends exactly once.
 */
import { homedir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { isInside, realPathOf } from '../base/config/paths.ts';
import { ShellServerError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Bundle } from '../outputs/types.ts';
import type { Security } from '../security/security.ts';
import type { BeginOptions } from './begin.ts';
import { createCgroups } from './cgroups/cgroups.ts';
import { createExplainer } from './explainer.ts';
import { createForker } from './forker.ts';
import { createInventory } from './inventory.ts';
import { type LimitEnforcement, limitEnforcement } from './limit-enforcement.ts';
import type { Live } from './live.ts';
import { createLoginPath } from './login-path.ts';
import { createLostSessions } from './lost-sessions.ts';
import { createMonitors } from './monitors.ts';
import { createNews } from './news.ts';
import { createPipes } from './pipes.ts';
import { createPreparation } from './preparation.ts';
import type { ExecutionRecord } from './record.ts';
import { createRunning, type Running, type RunningEntry, type RunningOptions } from './running.ts';
import { createSandboxPool } from './sandbox-pool.ts';
import { createSecretRequests, type SecretRequestOptions } from './secret-requests.ts';
import { createSessionNames } from './session-names.ts';
import { createSessions, type SessionChange } from './sessions.ts';
import { type SlotKind, slotKind } from './slots.ts';
import { forkerBeside } from './spawner.ts';
import { createStarter, type StartRequest } from './start.ts';
import { createStore, type Store, type Summary } from './store.ts';
import type { Usage } from './usage.ts';
import { waitForEnd } from './wait.ts';
import { createWaits } from './waits/waits.ts';

export { OPERATOR } from './end-requests.ts';
export type { Cause, EndSignal } from './ending.ts';
export { runHelper } from './helper.ts';
export { createInstance, type Instance } from './instance.ts';
export { type LimitEnforcement, NOT_ENFORCED } from './limit-enforcement.ts';
export type { Live } from './live.ts';
export type { MonitorReading, Monitors, MonitorView } from './monitors.ts';
export type { News, NewsEvent } from './news.ts';
export { createObserver, type ObservedExecution, type Observer } from './observer.ts';
export { describeAppeared, listPaths } from './outcome-words.ts';
export { ownProcesses } from './own-processes.ts';
export type { ExecutionMode, ExecutionRecord, Outcome, Status } from './record.ts';
export { durationOf, EXECUTION_MODES, pidOf, spanOf, TERMINATION_REASONS } from './record.ts';
export { type Figure, METRICS, type Metric, type Sample, whyUnavailable } from './sampler.ts';
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

export type Executions = ReturnType<typeof createExecutions>;

export interface ExecutionsOptions extends Omit<BeginOptions, 'store' | 'running' | 'tools'> {
  readonly security: Security;
  readonly directory: string;
  readonly log: Log;
  /** Where programs can ask the operator for passwords. */
  readonly questions?: SecretRequestOptions['questions'];
  /** Called with dead servers that were taken over, while their directories still exist. */
  readonly onTakenOver?: (dead: readonly string[]) => Promise<void>;
  /** Called with each execution that ended. */
  readonly onEnded?: () => void;
}

/** Nobody waits for its end. */
const isAside = ({ isLetGo, record: { mode } }: RunningEntry): boolean =>
  isLetGo || mode === 'background' || mode === 'detached' || mode === 'terminal';

/** Between two looks at an execution that another server runs. */
const WATCH_OTHERS_MS = 250;

export function createExecutions(options: ExecutionsOptions) {
  const { security } = options;
  const sessions = createSessions(options.settings.defaultWorkdir, security.directories);
  const tools = createTools(options);
  const { cgroups, loginPath, pool } = tools;
  const { store, running, news } = createTables(options, createExplainer(security, loginPath.current));
  const inventory = createInventory({ ...options, store, running, audit: security.audit });
  const lookups = createLookups(store, running, inventory);
  const names = createSessionNames(`${options.settings.stateDir}/sessions`);
  const lostSessions = createLostSessions({ sessions, names, list: lookups.list, log: options.log });
  const preparation = createPreparation({ security, pool, loginPath, cgroups, open: inventory.open });
  const starter = createStarter({ ...options, store, running, sessions, tools, loginPath, preparation });
  const { questions, log } = options;
  const secrets =
    questions !== undefined && options.settings.security.asksSecrets
      ? createSecretRequests({ security, running, questions, log })
      : undefined;
  const monitors = createMonitors({ clock: options.clock });
  let disposing: Promise<void> | undefined;

  return {
    sessions,
    monitors,
    waits: createWaits(),
    news,
    /** A principal has connected, and may be about to start something. */
    anticipate: preparation.anticipate,
    /** Starts it; resolves as soon as the process is there. */
    async start(request: StartRequest, signal: AbortSignal): Promise<Execution> {
      inventory.open();
      if (secrets !== undefined) await secrets.open();
      const { principal, sessionId } = request;
      if (sessionId === undefined) return new RunningExecution(running, await starter.start(request, signal));
      const isLost = await lostSessions.has(principal, sessionId);
      const entry = await starter.start(request, signal);
      lostSessions.used(principal, sessionId);
      return new RunningExecution(running, entry, isLost);
    },
    answered: lostSessions.answered,
    /** Resolves when what earlier servers left is known. */
    ready: inventory.ready,
    ...lookups,
    /** How each limit of a principal's commands is enforced, found out by trying. */
    async limitEnforcement(principal: string): Promise<LimitEnforcement> {
      await cgroups.settled();
      return limitEnforcement({
        held: cgroups.held(),
        sandboxKind: (await security.sandbox.state()).kind,
        security: security.restrictions.of(principal).security,
      });
    },
    /** The PATH that commands see. */
    commandPath: loginPath.resolve,
    /** Ends everything but the detached. */
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
    await tools.dispose();
    store.close();
    inventory.close();
  }
}

/** The executions on record, those that run, and what happens to them unseen. */
function createTables(
  { settings, security, directory, instance, log, onEnded }: ExecutionsOptions,
  explain: RunningOptions['explain'],
) {
  const { id, isInstanceAlive } = instance;
  const store = createStore({ directory, log, instance: id, isInstanceAlive });
  const running = createRunning({
    store,
    audit: security.audit,
    log,
    explain,
    onEnded(entry) {
      if (isAside(entry)) news.finished(entry.record);
      onEnded?.();
    },
  });
  const news = createNews((principal) =>
    [...running.entries.values()]
      .filter(
        (entry) =>
          entry.record.owner === principal &&
          isAside(entry) &&
          entry.live.outputBytes() > settings.limits.maxOutputBytes,
      )
      .map(({ record }) => record),
  );
  return { store, running, news };
}

/** What processes are started with. */
function createTools({ settings, security, instance, clock, wrapperPath }: ExecutionsOptions) {
  const spawner = createForker(forkerBeside(wrapperPath));
  const pipes = createPipes(`${instance.directory}/pipes`, spawner);
  const cgroups = createCgroups();
  const { now } = clock;
  const launchTools = { pipes, cgroups, spawner, now };
  const pool = createSandboxPool({ ...launchTools, server: instance.id });
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
  async function dispose(): Promise<void> {
    await spawner.dispose();
    pipes.dispose();
    cgroups.dispose();
  }
  return { ...launchTools, pool, loginPath, dispose };
}

function createLookups(store: Store, running: Running, inventory: ReturnType<typeof createInventory>) {
  /** Throws RESOURCE_001. */
  async function get(principal: string, executionId: string): Promise<Execution> {
    await inventory.ready();
    const entry = running.entries.get(executionId);
    if (entry !== undefined && entry.record.owner === principal) return new RunningExecution(running, entry);
    const record = store.find(principal, executionId);
    if (record === undefined) throw notFound(`execution ${executionId.slice(0, 64)}`);
    const bundle = inventory.bundleOf(record.id);
    const { record: now, live } = inventory.truthOf(record);
    return live === undefined
      ? { ...NOT_HERE, record: now, bundle }
      : new HeldExecution(() => inventory.truthOf(record).record, live, bundle);
  }

  return {
    /** The caller was answered while it runs: the session does not wait for it any longer. */
    letGo(execution: Execution): void {
      const entry = running.entries.get(execution.record.id);
      if (entry === undefined) return;
      entry.isLetGo = true;
      entry.bundle.outlast();
      entry.releaseSession();
    },
    get,
    /** The execution, once it ended or the time is over. */
    async waitFor(
      principal: string,
      executionId: string,
      timeoutMs: number,
      signal: AbortSignal,
    ): Promise<Execution> {
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
    /** By the number of a process that this server started and that still runs; throws RESOURCE_001. */
    async getByPid(principal: string, pid: number): Promise<Execution> {
      await inventory.ready();
      for (const entry of running.entries.values()) {
        const { pid: leader, program } = entry.live.process;
        if (entry.record.owner === principal && (leader === pid || program === pid))
          return new RunningExecution(running, entry);
      }
      throw notFound(`running process ${pid}`);
    },
    /** Oldest first. */
    async list(principal: string): Promise<readonly Summary[]> {
      await inventory.ready();
      return inventory.truthOfAll(store.summaries(principal));
    },
    /** The host of a terminal says that it has ended, or is gone. True where that is not on disk yet. */
    checkEnd(executionId: string): boolean {
      running.entries.get(executionId)?.live.checkEnd();
      return running.isActive(executionId);
    },
    /** How many run, of all principals. */
    count: (kind: SlotKind): number =>
      [...running.entries.values()].filter(({ record }) => slotKind(record) === kind).length,
  };
}

/** Of an execution that does not run here. */
const NOT_HERE = {
  live: undefined,
  usage: () => undefined,
  sessionChange: undefined,
  isSessionLost: false,
};

/** It goes on in a process that holds it, and nobody could take it over. */
class HeldExecution implements Execution {
  readonly #now: () => ExecutionRecord;
  readonly #live: Live;
  readonly bundle: Bundle;
  readonly usage = NOT_HERE.usage;
  readonly sessionChange = NOT_HERE.sessionChange;
  readonly isSessionLost = NOT_HERE.isSessionLost;

  constructor(now: () => ExecutionRecord, live: Live, bundle: Bundle) {
    this.#now = now;
    this.#live = live;
    this.bundle = bundle;
  }

  get record(): ExecutionRecord {
    return this.#now();
  }

  get live(): Live | undefined {
    return this.record.outcome === undefined ? this.#live : undefined;
  }
}

/** Stays true after the end, for the caller who started it or waited for it. */
class RunningExecution implements Execution {
  readonly #entries: Running['entries'];
  readonly #entry: RunningEntry;
  readonly isSessionLost: boolean;

  constructor({ entries }: Running, entry: RunningEntry, isSessionLost = false) {
    this.#entries = entries;
    this.#entry = entry;
    this.isSessionLost = isSessionLost;
  }

  get record(): ExecutionRecord {
    return this.#entry.record;
  }

  get live(): Live | undefined {
    return this.#entries.has(this.record.id) ? this.#entry.live : undefined;
  }

  get sessionChange(): Execution['sessionChange'] {
    return this.#entry.sessionChange;
  }

  get bundle(): Bundle {
    return this.#entry.bundle;
  }

  usage(): ReturnType<Execution['usage']> {
    return this.live && this.#entry.meter.read(this.live.tree);
  }
}

const notFound = (what: string): ShellServerError =>
  new ShellServerError('RESOURCE_001', `There is no ${what} that this server started.`);
