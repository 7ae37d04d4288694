/**
 * The memory of a tree with what its processes share counted once. The sum of what is resident counts the pages of a
 * process again for each child that it forked; the kernel's proportional figure does not, but walks all pages for it.
 * So it is asked for only where the cheap sum is over a limit, and off the thread that answers calls.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProcess, type ProcessEntry } from './process-table.ts';

/** A tree whose pages take longer to count, or whose kernel lets us wait, is judged by what is resident. */
const PATIENCE_MS = 2000;

export async function measureProportional(entries: readonly ProcessEntry[]): Promise<number> {
  const controller = new AbortController();
  const isOver = sleep(PATIENCE_MS, 'over' as const, { ref: false, signal: controller.signal }).catch(
    () => 'over' as const,
  );
  let total = 0;
  let isLate = false;
  for (const entry of entries) {
    const bytes: number | undefined | 'over' = isLate
      ? undefined
      : await Promise.race([readProportional(entry.pid), isOver]);
    if (bytes === 'over') isLate = true;
    total += typeof bytes === 'number' ? bytes : residentNow(entry);
  }
  controller.abort();
  return total;
}

/** Undefined where it cannot be read: the process is gone, does not let itself be looked at, or the kernel is old. */
async function readProportional(pid: number): Promise<number | undefined> {
  try {
    const kib = /^Pss:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/smaps_rollup`, 'latin1'))?.[1];
    return kib === undefined ? undefined : Number(kib) * 1024;
  } catch {
    return undefined;
  }
}

/** Nothing, where it has ended meanwhile. */
function residentNow({ pid, startTime }: ProcessEntry): number {
  const entry = findProcess(pid);
  return entry?.startTime === startTime && !entry.isZombie ? entry.residentBytes : 0;
}
