/**
 * From a request to a running process: a slot, the session's state, the permit, a bundle and a record on disk, then
 * the launch. Whatever fails on the way gives everything back.
 */
import { constants } from 'node:os';
import { ticks } from '../base/clock.ts';
import { messageOf, ShellServerError } from '../base/errors.ts';
import { isDiskFull } from '../base/files.ts';
import { createId } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { StreamType } from '../outputs/types.ts';
import {
  findLastPipeline,
  type LaunchPermit,
  maskBeginning,
  maskEnvironment,
  type Security,
} from '../security/security.ts';
import { type BeginOptions, begin } from './begin.ts';
import type { LoginPath } from './login-path.ts';
import type { Preparation } from './preparation.ts';
import type { ExecutionRecord, Outcome } from './record.ts';
import type { RunningEntry } from './running.ts';
import { isSandboxFailure } from './sandbox-failures.ts';
import type { Session, Sessions } from './sessions.ts';
import { parseState, parseStatuses, type Wanted, withReport } from './shell-report.ts';
import { createSlots, slotKind } from './slots.ts';
import type { StartRequest } from './start-request.ts';
import { createUsageMeter } from './usage.ts';
import { waitForEnd } from './wait.ts';

export type { StartRequest, TerminalStart } from './start-request.ts';

interface StarterOptions extends BeginOptions {
  readonly security: Security;
  readonly log: Log;
  readonly sessions: Sessions;
  readonly loginPath: LoginPath;
  readonly preparation: Preparation;
}

export function createStarter(options: StarterOptions) {
  const { settings, running, sessions } = options;
  const starting = new Set<Promise<unknown>>();
  const slots = createSlots(settings.limits, running);
  let isStopped = false;

  async function start(
    request: StartRequest,
    signal: AbortSignal,
    onTracked: () => void,
  ): Promise<RunningEntry> {
    const session =
      request.sessionId === undefined ? undefined : sessions.get(request.principal, request.sessionId);
    const carriesState =
      session !== undefined && (request.mode === 'foreground' || request.mode === 'adaptive');
    const release = carriesState ? await session.acquire(signal, request.patienceMs) : () => undefined;
    try {
      signal.throwIfAborted();
      if (request.terminal === undefined) await options.preparation.ready(request.principal);
      const entry = await startNow(options, request, { session, carriesState, release, onTracked });
      if (!signal.aborted) return entry;
      // Cancelled while it started: nobody would ever learn its id.
      await entry.live.end('terminated');
      await waitForEnd(entry.live, { patienceMs: LIMITS.killSettleMs }, new AbortController().signal);
      throw signal.reason;
    } catch (error) {
      release();
      throw error;
    }
  }

  return {
    /** Starts an execution and puts it into the table of those that run. */
    start(request: StartRequest, signal: AbortSignal): Promise<RunningEntry> {
      if (isStopped) throw new ShellServerError('SYSTEM_002', 'The server is shutting down.');
      const handOver = slots.take(request.principal, slotKind(request));
      const started = start(request, signal, handOver);
      starting.add(started);
      const forget = (): void => {
        starting.delete(started);
        handOver();
      };
      started.then(forget, forget);
      return started;
    },
    /** Starts nothing more, and resolves when what was being started is in the table or has failed. */
    async stop(): Promise<void> {
      isStopped = true;
      await Promise.allSettled(starting);
    },
  };
}

interface SessionPart {
  readonly session: Session | undefined;
  readonly carriesState: boolean;
  readonly release: () => void;
  /** It has a place in the table now. */
  readonly onTracked: () => void;
}

/** What was to be mounted may be gone or changed by then: the sandbox is then built anew, as nothing was run. */
const SANDBOX_ATTEMPTS = 3;

const STATE_DISK_FULL = 'The disk of the state directory is full, so nothing was started.';

async function startNow(
  options: StarterOptions,
  request: StartRequest,
  part: SessionPart,
): Promise<RunningEntry> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryStart(options, request, part);
    } catch (error) {
      options.security.sandbox.forget(request.principal);
      // Files of the sandbox, of the output or of the journal, all in one directory.
      if (isDiskFull(error)) throw new ShellServerError('EXECUTION_004', STATE_DISK_FULL, { cause: error });
      if (!isSandboxFailure(error) || attempt === SANDBOX_ATTEMPTS) throw error;
    }
  }
}

async function tryStart(
  options: StarterOptions,
  request: StartRequest,
  part: SessionPart,
): Promise<RunningEntry> {
  const { running } = options;
  const id = createId('exec');
  const defaultDirectory = options.sessions.defaultDirectory(request.principal);
  const stages = reportsStages(request) ? findLastPipeline(request.command) : undefined;
  const script = scriptOf(options, request, { state: part.carriesState, statuses: stages !== undefined });
  const carried = request.workingDirectory === undefined ? part.session?.directory : undefined;
  const permit = await options.security.authorize({
    ...request,
    executionId: id,
    command: request.terminal?.command ?? request.command,
    workingDirectory: request.workingDirectory ?? carried,
    carriedBy: carried === undefined ? undefined : request.sessionId,
    defaultDirectory,
    callerEnvironment: request.environment,
    sessionEnvironment: part.session?.variables ?? new Map(),
    path: await options.loginPath.resolve(),
    script,
    terminal: request.terminal?.shell,
  });
  const record = recordOf(options, request, permit, { id, defaultDirectory });
  // From its creation on, or a collection of old outputs might take it away before it runs.
  running.reserve(id);
  const beginning = { record, permit, wantsReport: script !== undefined };
  const begun = await begin(options, request, beginning).catch((error: unknown) => {
    recordFailure(options, request, id, error);
    // Nothing ran, so nothing is kept.
    running.giveUp(id);
    options.outputs.discard(id);
    options.store.abandon(id);
    throw error;
  });
  const { live } = begun;
  const entry: RunningEntry = {
    ...begun,
    record: { ...begun.record, process: live.process },
    meter: createUsageMeter(0),
    requestId: request.requestId,
    client: request.client,
    sessionChange: undefined,
    isLetGo: false,
    releaseSession: part.release,
  };
  part.onTracked();
  running.track(entry, () => {
    const { outcome } = entry.record;
    const pipeline = stages && hiddenFailures(stages, outcome, live.state());
    if (outcome !== undefined && pipeline !== undefined)
      entry.record = { ...entry.record, outcome: { ...outcome, pipeline } };
    if (part.carriesState && part.session !== undefined && !entry.isLetGo) {
      const state = parseState(live.state());
      entry.sessionChange =
        state === undefined ? 'nothing' : part.session.carry(state, permit.environment, permit.directory);
    }
    part.release();
  });
  return entry;
}

/** With what makes the shell report; undefined where nothing is wanted of it. */
function scriptOf({ security }: StarterOptions, request: StartRequest, wanted: Wanted): string | undefined {
  if (!wanted.state && !wanted.statuses) return undefined;
  return withReport(security.shellFor(request), request.command, wanted);
}

function recordOf(
  { instance, clock }: StarterOptions,
  request: StartRequest,
  permit: LaunchPermit,
  about: Pick<ExecutionRecord, 'id' | 'defaultDirectory'>,
): ExecutionRecord {
  return {
    format: 1,
    ...about,
    owner: request.principal,
    instance: instance.id,
    command: request.command,
    mode: request.mode,
    ...(request.sessionId !== undefined && { sessionId: request.sessionId }),
    directory: permit.directory,
    environment: maskEnvironment(request.environment),
    ...(request.terminal !== undefined && { terminal: request.terminal.record }),
    streams: streamsOf(request),
    createdAtMs: clock.now(),
    createdTicks: ticks(),
    ...timeLimit(request.timeoutMs, permit.maxDurationMs),
    marker: permit.marker,
  };
}

/** Only where this server reads what the shell reports, and where an answer can say it. */
const reportsStages = ({ mode, argv, rules }: StartRequest): boolean =>
  mode !== 'detached' && mode !== 'terminal' && argv === undefined && rules === undefined;

/** Of a stage that ended because the next one had read enough, as in `yes | head -1`. */
const BROKEN_PIPE = 128 + constants.signals.SIGPIPE;
/** Of a stage, in an answer. */
const STAGE_CHARS = 120;

/** Every stage with its status, where one failed and the command has succeeded all the same. */
function hiddenFailures(
  stages: readonly string[],
  outcome: Outcome | undefined,
  report: Buffer,
): Outcome['pipeline'] {
  if (outcome?.status !== 'completed') return undefined;
  const statuses = parseStatuses(report, stages.length);
  if (statuses?.some((status) => status !== 0 && status !== BROKEN_PIPE) !== true) return undefined;
  return stages.map((stage, at) => ({
    command: maskBeginning(stage, STAGE_CHARS),
    exitCode: statuses[at] ?? 0,
  }));
}

/** The log has said that it may run; why there was no process is worth a line, but nothing that could be refused. */
function recordFailure(
  { security, log }: StarterOptions,
  { principal, client, requestId, sessionId }: StartRequest,
  executionId: string,
  error: unknown,
): void {
  const reason = messageOf(error);
  try {
    const caller = { principal, client, requestId, session: sessionId };
    security.audit.write({ event: 'execution_not_started', ...caller, executionId, reason });
  } catch (failure) {
    log.error('the audit log cannot be written', { execution: executionId, error: messageOf(failure) });
  }
}

function streamsOf(request: StartRequest): StreamType[] {
  if (request.mode === 'terminal') return ['log', 'cast'];
  if (request.mergeStderr) return ['combined'];
  return request.captureStderr ? ['stdout', 'stderr'] : ['stdout'];
}

/** The smaller of the caller's and the policy's limit, where there is one. */
function timeLimit(asked: number | undefined, policy: number | undefined): { timeoutMs?: number } {
  if (asked === undefined && policy === undefined) return {};
  return { timeoutMs: Math.min(asked ?? Infinity, policy ?? Infinity, LIMITS.timerMs) };
}
