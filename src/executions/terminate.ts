/**
 * The one kill ladder. A polite signal to the whole tree, time to clean up, then KILL until nothing is left that can
 * be found; what still lives is named. Everything that ends an execution comes through here.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { LIMITS } from '../base/limits.ts';
import { isAlive, type ProcessEntry } from './process-table.ts';
import { createTree, type ProcessTree, sendSignal } from './tree.ts';

export interface Survivor {
  readonly pid: number;
  readonly name: string;
}

interface TerminateOptions {
  readonly signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP' | 'SIGKILL';
  readonly graceMs?: number;
  /** Resolves with the leader's end, where it is reported: nearly always the tree is gone then. */
  readonly exited?: Promise<unknown> | undefined;
}

/** Ends the tree and answers when it is gone, or with what could not be ended. */
export async function terminateTree(tree: ProcessTree, options: TerminateOptions): Promise<Survivor[]> {
  const pauses = createPauses(options.exited);
  if (options.signal !== 'SIGKILL') {
    // Taken before the first death: an orphan's parent is init, and nothing else ties it to the tree.
    const before = await tree.membersTogether();
    const polite = before.filter((entry) => !tree.isBubblewrap(entry));
    // A stopped process gets the signal only once it goes on.
    for (const entry of polite) sendSignal(entry, options.signal, 'SIGCONT');
    // With only the sandbox there, nothing has run yet that could clean up.
    const graceMs = polite.length === 0 ? 0 : (options.graceMs ?? LIMITS.killGraceMs);
    const isGone = await waitUntilGone(tree, before, graceMs, pauses);
    if (!isGone) {
      tree.killTogether();
      for (const entry of before) sendSignal(entry, 'SIGKILL');
    }
  }
  return killUntilGone(tree, pauses);
}

/** Ends whatever carries this marker in its environment: nothing else is known of what a killed server left. */
export async function endByMarker(marker: string): Promise<Survivor[]> {
  const tree = createTree({ leader: { pid: 0, startTime: 0 }, marker, group: undefined });
  return (await tree.membersForCertain()).length === 0 ? [] : terminateTree(tree, { signal: 'SIGKILL' });
}

async function killUntilGone(tree: ProcessTree, pauses: Pauses): Promise<Survivor[]> {
  const deadline = performance.now() + LIMITS.killSettleMs;
  /** A process that is dying has no environment any more, and would not be found by its marker. */
  let killed: readonly ProcessEntry[] = [];
  for (;;) {
    // Two looks, because a process may fork between the look and the signal; the second costs more and sees more.
    let found = tree.members();
    if (found.length === 0) found = await tree.membersForCertain();
    if (found.length > 0) tree.killTogether();
    for (const entry of found) sendSignal(entry, 'SIGKILL');
    const known = new Set(found.map(({ pid }) => pid));
    killed = [...found, ...killed.filter((entry) => !known.has(entry.pid) && isAlive(entry))];
    if (killed.length === 0) return [];
    if (performance.now() > deadline) return killed.map(({ pid, name }) => ({ pid, name }));
    await pauses.next(MAX_KILL_PAUSE_MS);
  }
}

/** Waits until neither the members known before nor any new one is alive. */
async function waitUntilGone(
  tree: ProcessTree,
  before: readonly ProcessEntry[],
  graceMs: number,
  pauses: Pauses,
): Promise<boolean> {
  for (const deadline = performance.now() + graceMs; ; await pauses.next(MAX_GRACE_PAUSE_MS)) {
    if (!before.some(isAlive) && tree.members().length === 0) return true;
    if (performance.now() > deadline) return false;
  }
}

const MAX_KILL_PAUSE_MS = 10;
const MAX_GRACE_PAUSE_MS = 50;

type Pauses = ReturnType<typeof createPauses>;

function createPauses(exited: Promise<unknown> | undefined) {
  let pauseMs = 1;
  let wake = (): void => undefined;
  exited?.then(
    () => wake(),
    () => wake(),
  );
  return {
    /** Twice as long as the one before, up to this; the leader's end cuts one short. */
    async next(maxMs: number): Promise<void> {
      const timer = new AbortController();
      wake = () => timer.abort();
      await sleep(Math.min(pauseMs, maxMs), undefined, { signal: timer.signal }).catch(() => undefined);
      pauseMs = Math.min(pauseMs * 2, MAX_GRACE_PAUSE_MS);
    },
  };
}
