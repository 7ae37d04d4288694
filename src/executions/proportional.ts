/**
 * The memory of a tree with what its processes share counted once. The sum of what is resident counts the pages of a
 * process again for each child that it forked, and those of a library for each that uses it. The kernel's proportional
 * figure does not, but walks all pages for it: so it is asked for only where the cheap sum is over a limit, and off the
 * thread that answers calls. What is certain without it is known at once.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { findAlive, type ProcessEntry, readAnonymousBytes, readSharedMemoryBytes } from './process-table.ts';

/** A tree whose pages take longer to count, or whose kernel lets us wait, is judged by what is resident. */
const PATIENCE_MS = 2000;

interface Counted {
  readonly bytes: number;
  /** Of it, of memory that is mapped to be shared. */
  readonly sharedBytes: number;
}

/** `heldBytes`: in files that are memory, of which some may be mapped and some not. */
export async function measureProportional(entries: readonly ProcessEntry[], heldBytes = 0): Promise<Counted> {
  const controller = new AbortController();
  const isOver = sleep(PATIENCE_MS, undefined, { ref: false, signal: controller.signal }).catch(
    () => undefined,
  );
  // All at once: they go on allocating meanwhile.
  const parts = entries.map(
    async (entry) =>
      (await Promise.race([readProportional(entry), isOver])) ?? {
        bytes: findAlive(entry)?.residentBytes ?? 0,
        sharedBytes: readSharedMemoryBytes(entry),
      },
  );
  const counted = await Promise.all(parts);
  controller.abort();
  const shared = counted.reduce((total, { sharedBytes }) => total + sharedBytes, 0);
  const unmapped = Math.max(0, heldBytes - shared);
  return { bytes: counted.reduce((total, { bytes }) => total + bytes, unmapped), sharedBytes: shared };
}

/** Undefined where it cannot be read: the process is gone, does not let itself be looked at, or the kernel is old. */
async function readProportional(entry: ProcessEntry): Promise<Counted | undefined> {
  const text = await readFile(`/proc/${entry.pid}/smaps_rollup`, 'latin1').catch(() => '');
  const kib = /^Pss:\s+(\d+) kB$/m.exec(text)?.[1];
  if (kib === undefined) return undefined;
  // Before Linux 5.4 it is not told: then all that is mapped of shared memory is taken to be of those files.
  const sharedKib = /^Pss_Shmem:\s+(\d+) kB$/m.exec(text)?.[1];
  const sharedBytes = sharedKib === undefined ? readSharedMemoryBytes(entry) : Number(sharedKib) * 1024;
  return { bytes: Number(kib) * 1024, sharedBytes };
}

/** Counting may take this share of the time; where there is no count any more, the other one. */
const MAX_COUNTING = { again: 0.1, anew: 0.3 };

/**
 * The kernel's count of a tree, which goes on beside the looks, and what its processes have grown by since: at least so
 * much they have now. What is shared and given back counts less in the sum than in each of them. 0 where nothing is
 * counted yet, and anew where one of those has ended.
 */
export function createCount(): (entries: readonly ProcessEntry[], heldBytes?: number) => number {
  interface Count {
    readonly bytes: number;
    /** As it was known before the count, and what the count may have found of it since. */
    readonly heldBytes: number;
    readonly seenBytes: number;
    readonly own: ReadonlyMap<string, number>;
  }
  let counted: Count | undefined;
  let isCounting = false;
  let last = { endedMs: 0, tookMs: 0 };

  async function count(entries: readonly ProcessEntry[], heldBytes: number): Promise<void> {
    const beganMs = performance.now();
    isCounting = true;
    const { bytes, sharedBytes } = await measureProportional(entries, heldBytes);
    // Read after the count: what they have grown by meanwhile is left out, not counted twice.
    counted = { bytes, heldBytes, seenBytes: Math.max(heldBytes, sharedBytes), own: ownOf(entries) };
    const endedMs = performance.now();
    last = { endedMs, tookMs: endedMs - beganMs };
    isCounting = false;
  }

  const isDue = (): boolean =>
    performance.now() - last.endedMs >=
    last.tookMs / (counted === undefined ? MAX_COUNTING.anew : MAX_COUNTING.again);

  return (entries, heldBytes = 0) => {
    const own = ownOf(entries);
    const isComplete = [...(counted?.own.keys() ?? [])].every((key) => own.has(key));
    if (!isComplete) counted = undefined;
    if (!isCounting && isDue()) void count(entries, heldBytes);
    if (counted === undefined) return 0;
    const held = Math.min(heldBytes - counted.heldBytes, Math.max(0, heldBytes - counted.seenBytes));
    let bytes = counted.bytes + held;
    for (const [key, before] of counted.own) bytes += (own.get(key) ?? 0) - before;
    return bytes;
  };
}

const ownOf = (entries: readonly ProcessEntry[]): ReadonlyMap<string, number> =>
  new Map(entries.map(({ pid, startTime }) => [`${pid} ${startTime}`, readAnonymousBytes(pid)]));

/** Called with every scan, it knows what a tree has at least; that is only counted where it is asked for. */
export function createLowerBound(): (entries: readonly ProcessEntry[], isWanted: boolean) => number {
  interface Known extends ProcessEntry {
    /** What it had when it was first seen, where that may be its parent's too. */
    readonly sharedBytes: number;
  }
  let known = new Map<number, Known>();

  function remember(entry: ProcessEntry, stacks: Set<number>): Known {
    const old = known.get(entry.pid);
    const { startTime, stackStart, residentBytes } = entry;
    // Who has executed a program since shares nothing of what it writes to with anybody.
    const isSame = old?.startTime === startTime && old.stackStart === stackStart;
    const isCopy = stackStart === 0 || stacks.has(stackStart);
    stacks.add(stackStart);
    return { ...entry, sharedBytes: isSame ? old.sharedBytes : isCopy ? residentBytes : 0 };
  }

  return (entries, isWanted) => {
    const stacks = new Set([...known.values()].map(({ stackStart }) => stackStart));
    const now = entries.map((entry) => remember(entry, stacks));
    known = new Map(now.map((entry) => [entry.pid, entry]));
    if (!isWanted) return 0;
    const grown = now.map(({ pid, sharedBytes }) => Math.max(0, readAnonymousBytes(pid) - sharedBytes));
    const largest = Math.max(0, ...now.map(({ residentBytes }) => residentBytes));
    return Math.max(
      largest,
      grown.reduce((total, bytes) => total + bytes, 0),
    );
  };
}
