/**
 * Starts a detached execution through its wrapper, and follows what another process of ours holds: that wrapper, or the
 * host of a terminal, of this server or of an earlier one. The server only looks: at the bundle's files, and at whether
 * that process is alive.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { decodeError } from '../../base/errors.ts';
import { openGroup } from '../cgroups/cgroups.ts';
import { END_SIGNALS, signalAndWait } from '../ending.ts';
import type { Live } from '../live.ts';
import { startOwnProgram } from '../own-program.ts';
import { isAlive, type ProcessIdentity } from '../process-table.ts';
import { durationOf, type ExecutionRecord, type Outcome, spanOf } from '../record.ts';
import { endByMarker, terminateTree } from '../terminate.ts';
import { createTree, type ProcessTree, sendSignal } from '../tree.ts';
import { claimCause, withdrawCause } from './outcome-files.ts';
import { readOutcome, type WrapperSpec, wrapperReplySchema } from './wrapper-protocol.ts';

/** How often a wrapper that is not our child is looked at: less and less, until it is being ended. */
const MIN_POLL_MS = 25;
const MAX_POLL_MS = 1000;
const HANG_UP_AGAIN_MS = 500;
/** A host tells when a terminal has ended; this is for one that cannot be spoken to. */
const MAX_HOST_POLL_MS = 10_000;

/** What another process of ours has started. */
export type Held = Pick<Process, 'pid' | 'startTime' | 'group' | 'program' | 'wrapper'>;

type Process = NonNullable<ExecutionRecord['process']>;

/** `searchPath` is for mkfifo; nothing else of the environment is the wrapper's business. */
export async function launchDetached(
  spec: WrapperSpec,
  wrapperPath: string,
  searchPath: string,
): Promise<Held> {
  const { identity: wrapper, reply: replied } = startOwnProgram({
    path: wrapperPath,
    spec,
    // In a sandbox the directory may be one that only exists there.
    cwd: spec.permit.sandboxSpec === undefined ? spec.permit.directory : '/',
    searchPath,
    what: 'The detached execution',
  });
  const reply = await replied
    .then((said) => wrapperReplySchema.parse(said))
    .catch(async (error: unknown) => {
      // It may yet start what nobody would know of.
      sendSignal(wrapper, 'SIGKILL');
      await endByMarker(spec.permit.marker);
      throw error;
    });
  if ('error' in reply) throw decodeError(reply.error);
  return { ...reply, wrapper };
}

export interface FollowOptions {
  /** The directory. */
  readonly bundle: string;
  now(): number;
  /** The process that held it was killed: keeps what there is of its output. */
  readonly salvage?: ((record: ExecutionRecord, bundle: string) => Promise<void>) | undefined;
}

/** Of a server that is gone; undefined where neither wrapper nor outcome is left. */
export function adoptHeld(record: ExecutionRecord, bootId: string, options: FollowOptions): Live | undefined {
  const { process: known } = record;
  return known !== undefined && isHeld(record, bootId) ? follow(record, known, options) : undefined;
}

/**
 * What is left of one whose server is gone, and that no other has taken over: how it ended, `held` while it goes on, or
 * nothing. Where nothing can be written, none can be taken over.
 */
export function leftOf(
  record: ExecutionRecord,
  bootId: string,
  bundle: string,
): Outcome | 'held' | undefined {
  // In this order: what ends between the two questions has written its outcome before.
  const goesOn = isHeld(record, bootId);
  return record.outcome ?? readOutcome(bundle) ?? (goesOn ? 'held' : undefined);
}

/** Whether its wrapper, or the host of its terminal, is alive. */
export const isHeld = ({ process: known }: ExecutionRecord, bootId: string): boolean =>
  known?.wrapper !== undefined && known.bootId === bootId && isAlive(known.wrapper);

export function follow(record: ExecutionRecord, known: Process, options: FollowOptions): Live {
  const { bundle, now } = options;
  const { streams, mode } = record;
  const isTerminal = mode === 'terminal';
  const tree = treeOf(known);
  const poll = pollForOutcome(known.wrapper ?? known, bundle, isTerminal ? MAX_HOST_POLL_MS : MAX_POLL_MS);
  const finished = poll.outcome.then(async (outcome) => {
    if (outcome !== undefined) return outcome;
    // The wrapper was killed, and with it the pipes: what it left cannot go on.
    const survivors = await terminateTree(tree, { signal: 'SIGTERM' });
    tree.release();
    await options.salvage?.(record, bundle);
    return { ...lostOutcome(now(), durationOf(spanOf(record), now())), survivors };
  });
  return {
    tree,
    process: known,
    finished,
    // As when its window is closed: an interactive shell ignores TERM.
    async end(cause, signal = isTerminal ? 'SIGHUP' : 'SIGTERM') {
      claimCause(bundle, cause);
      return terminateTree(tree, { signal }).finally(poll.hurry);
    },
    async request(signal, scope, windowMs) {
      poll.hurry();
      if (scope === 'leader') return signalAndWait(tree, finished, { signal, scope, windowMs });
      const claim = claimCause(
        bundle,
        'terminated',
        isTerminal ? END_SIGNALS.find((one) => one === signal) : undefined,
      );
      const hangUp = (): Promise<void> => tree.signal('SIGHUP');
      const isHangUp = isTerminal && signal === 'SIGTERM';
      if (isHangUp) await hangUp();
      // A shell that was about to wait for a key has noted the first one, and waits all the same.
      const again = isHangUp ? setTimeout(() => void hangUp(), HANG_UP_AGAIN_MS) : undefined;
      const hasEnded = await signalAndWait(tree, finished, { signal, scope, windowMs });
      clearTimeout(again);
      if (!hasEnded) withdrawCause(bundle, claim);
      return hasEnded;
    },
    outputBytes: () =>
      Math.max(0, ...streams.map((stream) => attempt(() => statSync(join(bundle, stream)).size) ?? 0)),
    onOutput: () => () => undefined,
    mask: () => undefined,
    checkEnd: poll.hurry,
    state: () => Buffer.alloc(0),
  };
}

/** Of a process that another process of ours started. */
export function treeOf(known: Omit<Process, 'bootId' | 'program' | 'wrapper'>): ProcessTree {
  return createTree({
    leader: known,
    marker: known.marker,
    group: known.group === undefined ? undefined : openGroup(known.group),
    isSandboxed: known.isSandboxed ?? false,
  });
}

function pollForOutcome(wrapper: ProcessIdentity, bundle: string, maxPauseMs: number) {
  let pauseMs = MIN_POLL_MS;
  let wake = (): void => undefined;
  async function poll(): Promise<Outcome | undefined> {
    for (;;) {
      // Asked in this order: a wrapper that ends between the two questions has written its outcome before.
      const isOver = !isAlive(wrapper);
      const outcome = readOutcome(bundle);
      if (outcome !== undefined || isOver) return outcome;
      await new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, pauseMs).unref();
      });
      pauseMs = Math.min(pauseMs * 1.5, maxPauseMs);
    }
  }
  return {
    outcome: poll(),
    hurry(): void {
      pauseMs = MIN_POLL_MS;
      wake();
    },
  };
}

/** The one who would know is gone: no exit code is invented. How long it ran is known only in the boot that it began in. */
export function lostOutcome(endedAtMs: number, durationMs?: number): Outcome {
  return {
    status: 'failed',
    reason: 'server_lost',
    endedAtMs,
    ...(durationMs !== undefined && { durationMs }),
    survivors: [],
    endedLeftovers: [],
  };
}
