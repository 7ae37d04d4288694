/**
 * Files without a name that are memory (`memfd_create`): what is written to one is in no process's resident size unless it
 * is mapped as well. Their size can be read through the descriptors of a process, by its own user.
 */
import { type Dir, opendirSync, readlinkSync, statSync } from 'node:fs';
import { attempt } from '../base/attempt.ts';
import { type ProcessEntry, readSharedMemoryBytes } from './process-table.ts';

/** Of one process, so that one with a million open files does not hold up the server. */
const MAX_DESCRIPTORS = 1000;
const BLOCK_BYTES = 512;

/** Looking may take this share of the time: most commands have no such file. */
const MAX_LOOKING = 0.05;

/** Of one file, with the processes that had it open. */
interface Held {
  readonly bytes: number;
  readonly holders: Set<string>;
}

/**
 * What a tree holds open in such files, each of them counted once; with the time that looking took. A tree whose processes
 * have not run since is not looked at again: without processor time nothing is written.
 */
export function createFileLook(): (entries: readonly ProcessEntry[]) => { bytes: number; tookMs: number } {
  let files: readonly Held[] = [];
  let dueMs = 0;
  let seen = '';
  return (entries) => {
    const beganMs = performance.now();
    const ran = entries.map(({ pid, cpuTicks }) => `${pid}:${cpuTicks}`).join();
    if (beganMs < dueMs || ran === seen) return { bytes: sumHeld(files, entries), tookMs: 0 };
    seen = ran;
    files = readHeld(entries);
    const tookMs = performance.now() - beganMs;
    dueMs = beganMs + tookMs + tookMs / MAX_LOOKING;
    return { bytes: sumHeld(files, entries), tookMs };
  };
}

const keyOf = ({ pid, startTime }: ProcessEntry): string => `${pid} ${startTime}`;

/** Of those whose holders have not all ended since. */
function sumHeld(files: readonly Held[], entries: readonly ProcessEntry[]): number {
  if (files.length === 0) return 0;
  const keys = new Set(entries.map(keyOf));
  const isHeld = ({ holders }: Held): boolean => [...holders].some((holder) => keys.has(holder));
  return files.filter(isHeld).reduce((total, { bytes }) => total + bytes, 0);
}

function readHeld(entries: readonly ProcessEntry[]): Held[] {
  const files = new Map<number, Held>();
  for (const entry of entries) addFilesOf(entry, files);
  return [...files.values()];
}

/**
 * What of that is certainly in no process's resident size. All that is mapped of shared memory is left out: whether it
 * belongs to one of these files cannot be told without walking its pages.
 */
export function readUnmappedBytes(entries: readonly ProcessEntry[], heldBytes: number): number {
  if (heldBytes === 0) return 0;
  const mapped = entries.reduce((total, entry) => total + readSharedMemoryBytes(entry), 0);
  return Math.max(0, heldBytes - mapped);
}

/** By inode: all such files of a machine are of one file system. */
function addFilesOf(entry: ProcessEntry, files: Map<number, Held>): void {
  const path = `/proc/${entry.pid}/fd`;
  const directory = attempt(() => opendirSync(path));
  if (directory === undefined) return;
  try {
    for (let n = 0; n < MAX_DESCRIPTORS; n++) {
      const name = nextName(directory);
      if (name === undefined) return;
      const file = `${path}/${name}`;
      if (attempt(() => readlinkSync(file))?.startsWith('/memfd:') !== true) continue;
      const stats = attempt(() => statSync(file));
      if (stats === undefined) continue;
      const holders = files.get(stats.ino)?.holders ?? new Set();
      files.set(stats.ino, { bytes: stats.blocks * BLOCK_BYTES, holders: holders.add(keyOf(entry)) });
    }
  } finally {
    directory.closeSync();
  }
}

const nextName = (directory: Dir): string | undefined => attempt(() => directory.readSync())?.name;
