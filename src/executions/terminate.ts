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

export interface TerminateOptions {
  readonly signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP' | 'SIGKILL';
  readonly graceMs?: number;
}

/** Ends the tree and answers when it is gone, or with what could not be ended. */
export async function terminateTree(tree: ProcessTree, options: TerminateOptions): Promise<Survivor[]> {
  if (options.signal !== 'SIGKILL') {
    // Taken before the first death: an orphan's parent is init, and nothing else ties it to the tree.
    const before = tree.members();
    const polite = before.filter((entry) => !tree.isWall(entry));
    for (const entry of polite) sendSignal(entry, options.signal);
    // A stopped process gets the signal only once it goes on.
    for (const entry of polite) sendSignal(entry, 'SIGCONT');
    // With only the wall there, nothing has run yet that could clean up.
    const graceMs = polite.length === 0 ? 0 : (options.graceMs ?? LIMITS.killGraceMs);
    if (await isGone(tree, before, graceMs)) return [];
    for (const entry of before) sendSignal(entry, 'SIGKILL');
  }
  return killUntilGone(tree);
}

/** Ends whatever carries this marker in its environment: nothing else is known of what somebody left who was killed. */
export async function endByMarker(marker: string): Promise<Survivor[]> {
  const tree = createTree({ leader: { pid: 0, startTime: 0 }, marker, group: undefined });
  return tree.members().length === 0 ? [] : terminateTree(tree, { signal: 'SIGKILL' });
}

async function killUntilGone(tree: ProcessTree): Promise<Survivor[]> {
  const deadline = Date.now() + LIMITS.killSettleMs;
  let alive: ProcessEntry[] = [];
  let emptyRounds = 0;
  for (;;) {
    tree.killGroup();
    alive = tree.members();
    for (const entry of alive) sendSignal(entry, 'SIGKILL');
    // Twice, because a process may fork between the look and the signal.
    emptyRounds = alive.length === 0 ? emptyRounds + 1 : 0;
    if (emptyRounds === 2) return [];
    if (Date.now() > deadline) return alive.map(({ pid, name }) => ({ pid, name }));
    await sleep(emptyRounds === 1 ? 1 : 10);
  }
}

/** Waits until neither the members known before nor any new one is alive. */
async function isGone(tree: ProcessTree, before: readonly ProcessEntry[], graceMs: number): Promise<boolean> {
  const deadline = Date.now() + graceMs;
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 2, 50)) {
    if (!before.some(isAlive) && tree.members().length === 0) return true;
    if (Date.now() > deadline) return false;
    await sleep(pauseMs);
  }
}
