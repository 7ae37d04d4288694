/**
 * The executions that run now: from the moment they have a process to the one in which their end is on disk. Each is
 * concluded exactly once, before waiting callers are answered.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../base/errors.ts';
import { renameId } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Bundle, Sink, StreamType } from '../outputs/types.ts';
import { type Audit, type AuditEntry, maskBeginning } from '../security/security.ts';
import type { Live } from './live.ts';
import { durationOf, type ExecutionRecord, type Outcome, spanOf, withOutcome } from './record.ts';
import type { SessionChange } from './sessions.ts';
import type { Store } from './store.ts';
import type { UsageMeter } from './usage.ts';

export interface RunningEntry {
  record: ExecutionRecord;
  readonly bundle: Bundle;
  readonly live: Live;
  readonly meter: UsageMeter;
  /** None where another process writes them. */
  readonly sinks: ReadonlyMap<StreamType, Sink>;
  /** For the audit line of its end. */
  readonly requestId: string;
  readonly client: string | undefined;
  /** What the session took over, once it ended; undefined where there is no session. */
  sessionChange: SessionChange | 'nothing' | undefined;
  /** The caller was answered while it ran: its session has gone on without it. */
  isLetGo: boolean;
  readonly releaseSession: () => void;
}

export type Running = ReturnType<typeof createRunning>;

/** The call that started it, where this server knows of it. */
type EndedCall = Pick<RunningEntry, 'requestId' | 'client'>;

const NOTE_AFTER_MS = 25;
/** Of a shutdown's 5 s. */
const SHUTDOWN_MS = 3500;
/** What a server that is killed had in memory of an output is lost: so much of it at most. */
const LASTS_MS = 250;

export interface RunningOptions {
  readonly store: Store;
  readonly audit: Audit;
  readonly log: Log;
  /** Why it failed, and what the audit log should mark. */
  explain(
    record: ExecutionRecord,
    outcome: Outcome,
    bundle: Bundle,
  ): Partial<Pick<Outcome, 'errorCode' | 'explanation' | 'securityEvent'>>;
  /** Called with each end when it is on disk. */
  readonly onEnded: (entry: RunningEntry) => void;
}

export function createRunning(options: RunningOptions) {
  const { store, log } = options;
  const entries = new Map<string, RunningEntry>();
  const reserved = new Set<string>();
  let isClosed = false;

  return {
    entries: entries as ReadonlyMap<string, RunningEntry>,
    explain: options.explain,
    /** Writes the audit line of an end. */
    recordEnd: (record: ExecutionRecord, bundle: Bundle, call: EndedCall): void =>
      recordEnd(options, record, bundle, call),
    /** From now on it counts as running, though it has no process yet; `track` or `giveUp` follows. */
    reserve: (id: string): void => void reserved.add(id),
    giveUp: (id: string): void => void reserved.delete(id),
    isActive: (id: string): boolean => entries.has(id) || reserved.has(id),
    /** `onEnd` is called when it ended, before waiting callers are answered. */
    track(entry: RunningEntry, onEnd?: () => void): void {
      const { id, mode, process: started } = entry.record;
      const { requestId } = entry;
      entries.set(id, entry);
      reserved.delete(id);
      log.debug('execution_started', { executionId: id, requestId, mode, pid: started?.pid });
      const note = (): void => store.note(entry.record);
      // Most executions end before it would be written, and by its marker alone a process is found as well; only a
      // wrapper or a host must be known.
      const isHeld = entry.live.process.wrapper !== undefined;
      const noting = isHeld ? undefined : setTimeout(note, NOTE_AFTER_MS);
      if (isHeld) note();
      const lasting = setTimeout(() => entry.bundle.outlast(), LASTS_MS);
      // Nobody waits for it: it is there to be looked at later.
      if (mode === 'background') entry.bundle.outlast();
      const clear = (): void => {
        for (const pending of [noting, lasting]) clearTimeout(pending);
      };
      entry.live.finished.then(
        (outcome) => {
          clear();
          // The server that adopts a detached execution also records its end.
          if (isClosed) return;
          conclude(options, entry, outcome, onEnd);
          entries.delete(id);
          recordEnd(options, entry.record, entry.bundle, entry);
          options.onEnded(entry);
        },
        (error: unknown) => {
          clear();
          log.error('an execution could not be followed to its end', {
            execution: id,
            error: messageOf(error),
          });
          entries.delete(id);
          onEnd?.();
        },
      );
    },
    /** Ends all that are not detached, and follows those that are no further. */
    async close(): Promise<void> {
      const ours = [...entries.values()].filter((entry) => entry.record.mode !== 'detached');
      await Promise.all(
        ours.map(async (entry) => {
          await entry.live.end('server_shutdown');
          // The transcript of a terminal may take longer: a later call finds it.
          await Promise.race([entry.live.finished, sleep(SHUTDOWN_MS, undefined, { ref: false })]);
        }),
      );
      isClosed = true;
    },
  };
}

/** Puts its end into its record and on disk. */
function conclude(
  { store, log, explain }: RunningOptions,
  entry: RunningEntry,
  ended: Outcome,
  onEnd: (() => void) | undefined,
): void {
  const problem = [...entry.sinks.values()].map((sink) => sink.problem()).find((each) => each !== undefined);
  const outcome: Outcome =
    problem === undefined ? ended : { ...ended, errorCode: ended.errorCode ?? 'EXECUTION_004' };
  entry.record = withOutcome(entry.record, { ...outcome, ...explain(entry.record, outcome, entry.bundle) });
  try {
    onEnd?.();
  } catch (error) {
    // What a session would have taken over is lost; the execution is not.
    log.error('the end of an execution could not be reported', {
      execution: entry.record.id,
      error: messageOf(error),
    });
  }
  const content = entry.bundle.content();
  store.conclude(entry.record, content);
  const storage = content && store.storageOf(entry.record.id);
  if (storage !== undefined) entry.bundle.keepIn(storage);
}

function recordEnd(
  { audit, log }: RunningOptions,
  record: ExecutionRecord,
  bundle: Bundle,
  call: EndedCall,
): void {
  try {
    if (record.outcome !== undefined)
      audit.write(endOf(record, bundle, record.outcome, { ...call, mask: audit.mask }));
  } catch (error) {
    // The start is on record, and the next start is refused until the log can be written again.
    log.error('the audit log cannot be written', { execution: record.id, error: messageOf(error) });
  }
}

/** Of a command, in the line of its end. */
const COMMAND_CHARS = 200;

function endOf(
  record: ExecutionRecord,
  bundle: Bundle,
  outcome: Outcome,
  { requestId, client, mask }: EndedCall & Pick<Audit, 'mask'>,
): AuditEntry {
  return {
    event: 'execution_ended',
    principal: record.owner,
    client,
    requestId,
    session: record.sessionId,
    executionId: record.id,
    ...(record.terminal !== undefined && { terminalId: renameId(record.id, 'term') }),
    // Masked before it is cut: a part of a secret has not its shape.
    command: maskBeginning(record.command, COMMAND_CHARS, mask),
    status: outcome.status,
    reason: outcome.reason,
    exitCode: outcome.exitCode,
    signal: outcome.signal,
    code: outcome.errorCode,
    securityEvent: outcome.securityEvent,
    appeared: outcome.appeared,
    unprotected: outcome.unprotected,
    ...(outcome.survivors.length > 0 && { survivors: outcome.survivors.map(({ pid }) => pid) }),
    durationMs: durationOf({ ...spanOf(record), ...outcome }, outcome.endedAtMs),
    peakMemoryBytes: outcome.peakMemoryBytes,
    cpuSeconds: outcome.cpuSeconds,
    processes: outcome.processes,
    outputs: record.streams.map((stream) => bundle.outputId(stream)),
  };
}
