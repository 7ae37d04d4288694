/**
 * Keeps the process small: V8 would rather grow than collect, and where this process forks by itself, garbage is paid for
 * with each command. Measured by `npm run bench memory`.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** A full collection takes some 20 ms; this much garbage gathers in some hundred executions. */
const GROWTH_BYTES = 8 * 1024 * 1024;

export function createHeap() {
  // The young generation would grow to three times 16 MiB and stay there.
  setFlagsFromString('--semi-space-growth-factor=1');
  // For so little memory it takes longer to wake threads than to do their work.
  setFlagsFromString('--no-parallel-scavenge');
  // Records of executions lie between garbage, and would keep pages that are nearly empty.
  setFlagsFromString('--compact-on-every-full-gc');
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let lowest = Number.POSITIVE_INFINITY;
  return {
    /** Collects if enough garbage may have gathered since the last time; cheap otherwise. */
    tidy(): void {
      const used = getHeapStatistics().used_heap_size;
      lowest = Math.min(lowest, used);
      if (used < lowest + GROWTH_BYTES) return;
      collect();
      lowest = getHeapStatistics().used_heap_size;
    },
  };
}
