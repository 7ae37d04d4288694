/**
 * What a tree has used by its end: from its cgroup where there is one, else from what the kernel says of the process that
 * was waited for, and from a look at the tree now and then.
 */
import { createFileLook, readUnmappedBytes } from './memory-files.ts';
import { type ProcessEntry, TICKS_PER_SECOND } from './process-table.ts';
import { measureProportional } from './proportional.ts';
import type { Outcome } from './record.ts';
import type { Rounds } from './rounds.ts';
import type { Exit } from './spawner.ts';
import type { ProcessTree } from './tree.ts';
import { sumResident, sumTicks } from './usage.ts';
import type { WatchdogOptions } from './watchdog.ts';

export type Used = Pick<Outcome, 'peakMemoryBytes' | 'cpuSeconds' | 'processes' | 'nearLimits'>;

/** Most commands are over by then, and are not looked at. */
const FIRST_MS = 250;
const MAX_MS = 5000;
const GROWTH = 1.5;
/** Of a limit: what is more is near it. */
const NEAR = 0.8;
/** What a tree shares is counted again where the cheap sum has changed by more than this share of it. */
const CHANGED = 0.02;

export function startUseMeter(
  tree: ProcessTree,
  rounds: Rounds,
  { memoryLimitBytes, cpuLimitSeconds, group }: WatchdogOptions,
) {
  let processes = 0;
  const peak = createPeak();
  let ticks = 0;
  let pauseMs = FIRST_MS;

  async function look(): Promise<number> {
    try {
      const members = tree.members().filter((entry) => !tree.isBubblewrap(entry));
      note(members);
      // Of a group that holds it the kernel knows the peak.
      if (group?.held().memory === undefined) await peak.note(members);
    } catch {
      // The process table could not be read (too many open files, say); the next look may do better.
    }
    pauseMs = Math.min(pauseMs * GROWTH, MAX_MS);
    return pauseMs;
  }

  function note(members: readonly ProcessEntry[]): void {
    processes = Math.max(processes, members.length);
    ticks = Math.max(ticks, sumTicks(members));
  }

  const stop = rounds.add(look, FIRST_MS);

  return {
    /** After the end and before the group goes. `watchedBytes`: as the limit was watched. */
    conclude(exit: Exit | undefined, watchedBytes: number | undefined, refusedForks: number): Used {
      stop();
      const counted = group?.usage();
      // Of a tree that is killed, the process that was waited for has not waited for the others.
      const seen = [exit?.usage?.cpuSeconds, ticks === 0 ? undefined : ticks / TICKS_PER_SECOND];
      const known = seen.filter((seconds) => seconds !== undefined);
      const cpuSeconds = counted?.cpuSeconds() ?? (known.length === 0 ? undefined : Math.max(...known));
      // What the kernel counts of a group is exact; everything else is at least what was seen.
      const isExact = group?.held().memory !== undefined && watchedBytes !== undefined;
      const seenBytes = Math.max(watchedBytes ?? 0, peak.bytes(), exit?.usage?.maxResidentBytes ?? 0);
      const peakMemoryBytes = isExact ? watchedBytes : seenBytes > 0 ? seenBytes : undefined;
      const near = [
        isNear(peakMemoryBytes, memoryLimitBytes) ? ('memory' as const) : undefined,
        isNear(cpuSeconds, cpuLimitSeconds) ? ('cpu' as const) : undefined,
        refusedForks > 0 ? ('processes' as const) : undefined,
      ].filter((limit) => limit !== undefined);
      return {
        ...(peakMemoryBytes !== undefined && { peakMemoryBytes }),
        ...(cpuSeconds !== undefined && { cpuSeconds: Math.round(cpuSeconds * 1000) / 1000 }),
        ...(processes > 0 && { processes }),
        ...(near.length > 0 && { nearLimits: near }),
      };
    },
  };
}

/** The most that a tree was seen to have, with what its processes share counted once. */
function createPeak() {
  let peakBytes = 0;
  let lastSum = 0;
  const lookForFiles = createFileLook();
  return {
    bytes: (): number => peakBytes,
    async note(members: readonly ProcessEntry[]): Promise<void> {
      const { bytes: held } = lookForFiles(members);
      const unmapped = readUnmappedBytes(members, held);
      const largest = Math.max(0, ...members.map(({ residentBytes }) => residentBytes));
      // What is certain at once, since the tree may end before the rest is counted.
      peakBytes = Math.max(peakBytes, largest + unmapped);
      const sum = sumResident(members) + unmapped;
      const isOld = Math.abs(sum - lastSum) <= lastSum * CHANGED;
      // The sum is never less than the count: a tree that does nothing costs no count at all.
      if (members.length < 2 || sum <= peakBytes || isOld) return;
      lastSum = sum;
      const { bytes } = await measureProportional(members, held);
      peakBytes = Math.max(peakBytes, bytes);
    },
  };
}

const isNear = (used: number | undefined, limit: number | undefined): boolean =>
  used !== undefined && limit !== undefined && used >= limit * NEAR;
