/**
 * Keeps the process small, and V8 from working for a future that does not come: it would rather grow than collect, and
 * compile than interpret. Measured by `npm run bench memory` and `npm run bench compare`.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** A full collection takes some 20 ms; this much garbage gathers in some hundred executions. */
const GROWTH_BYTES = 8 * 1024 * 1024;
/** The same while others run: they would wait for it, and keep what they use from being collected. */
const BUSY_GROWTH_BYTES = 4 * GROWTH_BYTES;

/** Of V8: a compiler between the simple one and the last. */
const FIRST_WITH_A_MIDDLE_WAY = 12;

export function createHeap() {
  // The young generation would grow to three times 16 MiB and stay there.
  setFlagsFromString('--semi-space-growth-factor=1');
  // For so little memory it takes longer to wake threads than to do their work.
  setFlagsFromString('--no-parallel-scavenge');
  // Records of executions lie between garbage, and would keep pages that are nearly empty.
  setFlagsFromString('--compact-on-every-full-gc');
  setFlagsFromString('--expose-gc');
  if (Number.parseInt(process.versions.v8, 10) < FIRST_WITH_A_MIDDLE_WAY) {
    // A call runs a lot of code once. What is compiled to the last takes longer to compile, on other threads, than it
    // saves in thousands of calls; what is not is better compiled in a simple way at once than interpreted.
    setFlagsFromString('--interrupt-budget=600000');
    setFlagsFromString('--always-sparkplug');
  }
  const collect = runInNewContext('gc') as () => void;
  let lowest = Number.POSITIVE_INFINITY;
  return {
    /** Collects if enough garbage may have gathered since the last time; cheap otherwise. */
    tidy(isBusy = false): void {
      const used = getHeapStatistics().used_heap_size;
      lowest = Math.min(lowest, used);
      if (used < lowest + (isBusy ? BUSY_GROWTH_BYTES : GROWTH_BYTES)) return;
      collect();
      lowest = getHeapStatistics().used_heap_size;
    },
  };
}
