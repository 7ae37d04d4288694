/**
 * Keeps the process small, and V8 from working for a future that does not come: it would rather grow than collect, and
 * compile than interpret. Measured by `npm run bench memory` and `npm run bench compare`.
 */
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const MIB = 1024 * 1024;
/** A full collection takes some 30 ms, for which other calls wait: while calls come, it waits for this much garbage. */
const GROWTH_BYTES = 8 * MIB;
/** So long after the last call nobody waits for it. */
const IDLE_MS = 700;
/** And so long after it nobody waits for a young collection, of half a millisecond, which the next call need not make. */
const PAUSE_MS = 20;
/** Of the young generation, which is a mebibyte. */
const PAUSE_GROWTH_BYTES = MIB / 4;
/** Then this much is worth it, of what young collections have left. */
const IDLE_GROWTH_BYTES = 2 * MIB;

/** Of V8: a compiler between the simple one and the last. */
const FIRST_WITH_A_MIDDLE_WAY = 12;

export function createHeap() {
  // For so little memory it takes longer to wake threads than to do their work.
  setFlagsFromString('--no-parallel-scavenge');
  setFlagsFromString('--expose-gc');
  if (Number.parseInt(process.versions.v8, 10) < FIRST_WITH_A_MIDDLE_WAY) {
    // A call runs a lot of code once, which is not compiled to the last (load-script.mjs), and is better compiled in a
    // simple way at once than interpreted.
    setFlagsFromString('--always-sparkplug');
    // The same for what comes from the code cache: after a call or two, each function on its own.
    setFlagsFromString('--interrupt-budget-factor-for-feedback-allocation=1');
    setFlagsFromString('--no-baseline-batch-compilation');
  }
  const collect = runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void;
  let lowest = Number.POSITIVE_INFINITY;
  let lowestOld = 0;
  let idle: NodeJS.Timeout | undefined;
  let pause: NodeJS.Timeout | undefined;

  function collectAll(): void {
    // Records of executions lie between garbage, and would keep pages that are nearly empty. V8's own collections come
    // while a call is served, and are to be short.
    setFlagsFromString('--compact-on-every-full-gc');
    collect();
    setFlagsFromString('--no-compact-on-every-full-gc');
    lowest = getHeapStatistics().used_heap_size;
    lowestOld = oldBytes();
  }

  /** Collects if enough garbage may have gathered since the last time, or when no call follows. */
  function tidy(): void {
    const used = getHeapStatistics().used_heap_size;
    lowest = Math.min(lowest, used);
    if (used >= lowest + GROWTH_BYTES) collectAll();
    idle ??= setTimeout(() => {
      if (oldBytes() >= lowestOld + IDLE_GROWTH_BYTES) collectAll();
    }, IDLE_MS).unref();
    idle.refresh();
    pause ??= setTimeout(() => {
      if (bytesOf((name) => name === 'new_space') > PAUSE_GROWTH_BYTES) collect({ type: 'minor' });
    }, PAUSE_MS).unref();
    pause.refresh();
  }

  // Loading leaves some, too.
  tidy();
  return { tidy };
}

/** All but what is young, which the next call's collections take anyway. */
const oldBytes = (): number => bytesOf((name) => !name.startsWith('new_'));

function bytesOf(isWanted: (space: string) => boolean): number {
  const spaces = getHeapSpaceStatistics().filter(({ space_name: name }) => isWanted(name));
  return spaces.reduce((sum, space) => sum + space.space_used_size, 0);
}
