/**
 * Says which limit a running tree has passed. Where the kernel enforces one there is next to nothing to do. Everything
 * else is looked at no sooner than it could have been passed since the last look: an idle tree with a limit of some
 * gigabytes every few seconds, one that grows towards its limit every few milliseconds.
 */
import { availableParallelism } from 'node:os';
import type { ExecutionGroup } from './cgroups/cgroups.ts';
import { createFileLook, readUnmappedBytes } from './memory-files.ts';
import {
  findAlive,
  type ProcessEntry,
  readLastPid,
  readPeakBytes,
  TICKS_PER_SECOND,
} from './process-table.ts';
import { createCount, createLowerBound } from './proportional.ts';
import { createRounds } from './rounds.ts';
import type { ProcessTree } from './tree.ts';
import { sumResident, sumTicks } from './usage.ts';

type PassedLimit = 'memory_limit' | 'cpu_limit';

export interface WatchdogOptions {
  readonly memoryLimitBytes: number | undefined;
  readonly cpuLimitSeconds: number | undefined;
  readonly group: ExecutionGroup | undefined;
}

interface Meter {
  readonly limit: PassedLimit;
  /** Whether the limit is passed, and when it could be at the earliest. */
  look(): Promise<{ readonly isPassed: boolean; readonly nextMs: number }>;
  readonly firstMs: number;
}

/** What a program can allocate in a millisecond, of memory that it really touches: more than all but a few reach. */
const BYTES_PER_MS = 4 * 1024 * 1024;
/** A look comes before the limit can be passed by more than this share of it. */
const OVERSHOOT = 0.25;
const MIN_LOOK_MS = 2;
const MAX_LOOK_MS = 4000;
/** Looking may take this share of the time at most, unless one look alone takes long. */
const MAX_LOOKING = 0.1;
/** Of the limit: what is shared is counted from here on, so that it is known when it matters. */
const NEAR = 0.5;
/** Of processor time without a cgroup: short-lived processes are only counted if they are seen. */
const BUSY_LOOK_MS = 250;
const IDLE_LOOK_MS = 2000;
/** Of processor time with one. */
const MAX_WAIT_MS = 60 * 60_000;
/** In version 1 the kernel kills one process and leaves the others waiting for it. */
const OOM_LOOK_MS = 250;

/** There is one process table for this process, so that there is one of these. */
export const rounds = createRounds();

export function startWatchdog(
  tree: ProcessTree,
  options: WatchdogOptions,
  onPassed: (limit: PassedLimit) => void,
) {
  const { memoryLimitBytes, cpuLimitSeconds, group } = options;
  const isMemoryHeld = group?.held().memory !== undefined;
  let peakMemoryBytes: number | undefined;
  const notePeak = (bytes: number | undefined): void => {
    if (bytes !== undefined) peakMemoryBytes = Math.max(peakMemoryBytes ?? 0, bytes);
  };
  /** Page cache counts in the kernel's own numbers, so that reaching the limit is not a sign; a killed process is. */
  const isOutOfMemory = (): boolean => isMemoryHeld && (group?.usage()?.oomKills() ?? 0) > 0;

  const follow = createFollower(tree);
  const meters: Meter[] = [];
  const memoryLeft = (): number => (memoryLimitBytes ?? 0) - (group?.usage()?.memoryBytes() ?? 0);
  if (isMemoryHeld && !group.killsTogether) meters.push(watchForKills(isOutOfMemory, memoryLeft));
  if (!isMemoryHeld && memoryLimitBytes !== undefined)
    meters.push(measureMemory(follow, memoryLimitBytes, notePeak));
  if (cpuLimitSeconds !== undefined) meters.push(measureCpu(follow, cpuLimitSeconds, group));

  let isOver = false;
  const stops = meters.map((meter) =>
    rounds.add(async () => {
      // Where the process table could not be read (too many open files, say), the next look may do better.
      const { isPassed, nextMs } = await meter
        .look()
        .catch(() => ({ isPassed: false, nextMs: meter.firstMs }));
      if (isPassed && !isOver) {
        end();
        onPassed(meter.limit);
      }
      return nextMs;
    }, meter.firstMs),
  );

  function end(): void {
    isOver = true;
    for (const stop of stops) stop();
  }

  return {
    /** After the end and before the group goes: what the kernel knows and no look has seen. */
    conclude(): { passed: PassedLimit | undefined; peakMemoryBytes: number | undefined } {
      end();
      if (!isMemoryHeld) return { passed: undefined, peakMemoryBytes };
      const usage = group?.usage();
      const passed = (usage?.oomKills() ?? 0) > 0 ? 'memory_limit' : undefined;
      return { passed, peakMemoryBytes: usage?.peakMemoryBytes() ?? usage?.memoryBytes() };
    },
  };
}

/** The tree's processes as they are now. Who has come is looked for only where anybody has forked since. */
function createFollower(tree: ProcessTree): () => readonly ProcessEntry[] {
  let known: readonly ProcessEntry[] = [];
  let knownPid = Number.NaN;
  return () => {
    // Read first: who forks meanwhile is found by the next look.
    const lastPid = readLastPid();
    known = lastPid === knownPid ? known.flatMap((entry) => findAlive(entry) ?? []) : tree.members();
    knownPid = lastPid;
    return known;
  };
}

/** The kernel kills nobody before the limit is reached. */
function watchForKills(isOutOfMemory: () => boolean, leftBytes: () => number): Meter {
  const untilNext = (): number => clamp(leftBytes() / BYTES_PER_MS, OOM_LOOK_MS, MAX_LOOK_MS);
  return {
    limit: 'memory_limit',
    firstMs: untilNext(),
    look: async () => ({ isPassed: isOutOfMemory(), nextMs: untilNext() }),
  };
}

const clamp = (value: number, least: number, most: number): number => Math.min(most, Math.max(least, value));

function measureMemory(
  follow: () => readonly ProcessEntry[],
  limitBytes: number,
  notePeak: (bytes: number) => void,
): Meter {
  const measureAtLeast = createLowerBound();
  const count = createCount();
  const lookForFiles = createFileLook();
  let last = { atMs: performance.now(), bytes: 0 };

  /** When the limit could be passed by too much, at the rate that was seen or at the one that is likely. */
  function untilNext(bytes: number, beganMs: number): number {
    const nowMs = performance.now();
    const grownPerMs = (bytes - last.bytes) / Math.max(nowMs - last.atMs, 1);
    last = { atMs: nowMs, bytes };
    const leftMs = (limitBytes * (1 + OVERSHOOT) - bytes) / Math.max(BYTES_PER_MS, grownPerMs * 2);
    return Math.min(MAX_LOOK_MS, Math.max(MIN_LOOK_MS, (nowMs - beganMs) / MAX_LOOKING, leftMs));
  }

  return {
    limit: 'memory_limit',
    firstMs: untilNext(0, performance.now()),
    async look() {
      const beganMs = performance.now();
      const entries = follow();
      const { bytes: held, tookMs } = lookForFiles(entries);
      const unmapped = readUnmappedBytes(entries, held);
      const sum = sumResident(entries) + unmapped;
      const isShared = entries.length > 1;
      const isNear = isShared && sum > limitBytes * NEAR;
      const atLeast = measureAtLeast(entries, isNear) + unmapped;
      const certain = isNear ? Math.max(atLeast, count(entries, held)) : 0;
      const bytes = isShared && sum > limitBytes ? certain : sum;
      const isPassed = bytes > limitBytes;
      // The sum counts what is shared once for each process: it may keep a limit, and never is a peak.
      notePeak(isShared ? certain : sum);
      if (isPassed) for (const { pid } of entries) notePeak(readPeakBytes(pid) ?? 0);
      return { isPassed, nextMs: untilNext(bytes, beganMs + tookMs) };
    },
  };
}

/** Of everybody, with those that ended. */
function measureCpu(
  follow: () => readonly ProcessEntry[],
  limitSeconds: number,
  group: ExecutionGroup | undefined,
): Meter {
  const ticksOf = new Map<string, number>();
  let mostSeconds = 0;

  /** Without a group two ways of counting, each of which leaves out some that ended: what is more is nearer. */
  function countSeconds(): number {
    const entries = follow();
    for (const { pid, startTime, cpuTicks } of entries) ticksOf.set(`${pid} ${startTime}`, cpuTicks);
    let seen = 0;
    for (const ticks of ticksOf.values()) seen += ticks;
    return Math.max(seen, sumTicks(entries)) / TICKS_PER_SECOND;
  }

  const untilPassed = (seconds: number): number =>
    Math.min(MAX_WAIT_MS, Math.max(MIN_LOOK_MS, ((limitSeconds - seconds) / availableParallelism()) * 1000));

  return {
    limit: 'cpu_limit',
    firstMs: group === undefined ? Math.min(untilPassed(0), BUSY_LOOK_MS) : untilPassed(0),
    async look() {
      const counted = group?.usage()?.cpuSeconds();
      const seconds = Math.max(mostSeconds, counted ?? countSeconds());
      const isIdle = seconds === mostSeconds;
      mostSeconds = seconds;
      const atMostMs = counted !== undefined ? MAX_WAIT_MS : isIdle ? IDLE_LOOK_MS : BUSY_LOOK_MS;
      return { isPassed: seconds > limitSeconds, nextMs: Math.min(untilPassed(seconds), atMostMs) };
    },
  };
}
