/**
 * Starts a detached execution through its wrapper, and finds one again that an earlier server started. Either way the
 * server only looks: at the bundle's files, and at whether the wrapper is alive.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { ShellServerError } from '../../base/errors.ts';
import { openGroup } from '../cgroups/cgroups.ts';
import { signalAndWait } from '../ending.ts';
import type { Live } from '../live.ts';
import { startOwnProgram } from '../own-program.ts';
import { isAlive, type ProcessIdentity } from '../process-table.ts';
import type { ExecutionRecord, Outcome } from '../record.ts';
import { SandboxFailed } from '../sandboxed.ts';
import { terminateTree } from '../terminate.ts';
import { createTree, type ProcessTree, sendSignal } from '../tree.ts';
import { claimCause, readOutcome, type WrapperSpec, withdrawCause, wrapperReplySchema } from './protocol.ts';

/** How often a wrapper that is not our child is looked at: less and less, until somebody ends it. */
const MIN_POLL_MS = 25;
const MAX_POLL_MS = 1000;

export interface DetachedTools {
  /** The wrapper's program, beside the server's own. */
  readonly wrapperPath: string;
  readonly bootId: string;
  /** PATH for mkfifo; nothing else of the environment is the wrapper's business. */
  readonly path: string;
  now(): number;
}

export async function launchDetached(spec: WrapperSpec, tools: DetachedTools): Promise<Live> {
  const { identity: wrapper, reply: replied } = startOwnProgram({
    path: tools.wrapperPath,
    spec,
    // Behind a wall the directory may be one that only exists there.
    cwd: spec.permit.wall === undefined ? spec.permit.directory : '/',
    searchPath: tools.path,
    what: 'The detached execution',
  });
  const reply = await replied
    .then((said) => wrapperReplySchema.parse(said))
    .catch(async (error: unknown) => {
      // It may yet start what nobody would know of.
      sendSignal(wrapper, 'SIGKILL');
      await terminateTree(treeOf({ pid: 0, startTime: 0, marker: spec.permit.marker }), {
        signal: 'SIGKILL',
      });
      throw error;
    });
  if ('error' in reply) {
    throw new (reply.isWallFailure === true ? SandboxFailed : ShellServerError)('EXECUTION_001', reply.error);
  }
  const known = {
    pid: reply.pid,
    startTime: reply.startTime,
    bootId: tools.bootId,
    marker: spec.permit.marker,
    ...(reply.group !== undefined && { group: reply.group }),
    ...(spec.permit.wall?.kind === 'bubblewrap' && { isWalled: true }),
    wrapper,
  };
  return watch(known, spec.bundle, spec.streams, tools.now);
}

/** A detached execution of a server that is gone; undefined where neither wrapper nor outcome is left. */
export function adoptDetached(
  record: ExecutionRecord,
  bundle: string,
  bootId: string,
  now: () => number,
): Live | undefined {
  const { process: known } = record;
  if (known?.wrapper === undefined || known.bootId !== bootId || !isAlive(known.wrapper)) return undefined;
  return watch(known, bundle, record.streams, now);
}

function watch(
  known: NonNullable<ExecutionRecord['process']>,
  bundle: string,
  streams: readonly string[],
  now: () => number,
): Live {
  const tree = treeOf(known);
  const poll = pollForOutcome(known.wrapper ?? known, bundle);
  const finished = poll.outcome.then(async (outcome) => {
    if (outcome !== undefined) return outcome;
    // The wrapper was killed, and with it the pipes: what it left cannot go on.
    const survivors = await terminateTree(tree, { signal: 'SIGTERM' });
    tree.release();
    return { ...lostOutcome(now()), survivors };
  });
  return {
    tree,
    process: known,
    finished,
    async end(cause, signal = 'SIGTERM') {
      claimCause(bundle, cause);
      return terminateTree(tree, { signal }).finally(poll.hurry);
    },
    async request(signal, scope, windowMs) {
      poll.hurry();
      if (scope === 'leader') return signalAndWait(tree, finished, { signal, scope, windowMs });
      const claim = claimCause(bundle, 'terminated');
      const hasEnded = await signalAndWait(tree, finished, { signal, scope, windowMs });
      if (!hasEnded) withdrawCause(bundle, claim);
      return hasEnded;
    },
    outputBytes: () => Math.max(0, ...streams.map((stream) => sizeOf(join(bundle, stream)))),
    onOutput: () => undefined,
    state: () => Buffer.alloc(0),
  };
}

function treeOf(known: {
  pid: number;
  startTime: number;
  marker: string;
  group?: string | undefined;
  isWalled?: boolean | undefined;
}): ProcessTree {
  return createTree({
    leader: known,
    marker: known.marker,
    group: known.group === undefined ? undefined : openGroup(known.group),
    isWalled: known.isWalled ?? false,
  });
}

function pollForOutcome(
  wrapper: ProcessIdentity,
  bundle: string,
): { readonly outcome: Promise<Outcome | undefined>; hurry(): void } {
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
      pauseMs = Math.min(pauseMs * 1.5, MAX_POLL_MS);
    }
  }
  return {
    outcome: poll(),
    hurry() {
      pauseMs = MIN_POLL_MS;
      wake();
    },
  };
}

/** The one who would know is gone: no exit code is invented. */
export function lostOutcome(endedAtMs: number): Outcome {
  return { status: 'failed', reason: 'server_lost', endedAtMs, survivors: [], endedLeftovers: [] };
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}
