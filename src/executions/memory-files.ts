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

/**
 * What a tree holds open in such files, each of them counted once; with the time that looking took. A tree whose processes
 * have not run since is not looked at again: without processor time nothing is written.
 */
export function createFileLook(): (entries: readonly ProcessEntry[]) => { bytes: number; tookMs: number } {
  let bytes = 0;
  let dueMs = 0;
  let seen = '';
  return (entries) => {
    const beganMs = performance.now();
    if (beganMs < dueMs) return { bytes, tookMs: 0 };
    const ran = entries.map(({ pid, cpuTicks }) => `${pid}:${cpuTicks}`).join();
    if (ran === seen) return { bytes, tookMs: 0 };
    seen = ran;
    bytes = readHeldBytes(entries);
    const tookMs = performance.now() - beganMs;
    dueMs = beganMs + tookMs + tookMs / MAX_LOOKING;
    return { bytes, tookMs };
  };
}

function readHeldBytes(entries: readonly ProcessEntry[]): number {
  const bytesOf = new Map<number, number>();
  for (const { pid } of entries) addFilesOf(pid, bytesOf);
  return [...bytesOf.values()].reduce((total, bytes) => total + bytes, 0);
}

/**
 * What of that is certainly in no process's resident size. All that is mapped of shared memory is left out: whether it
 * belongs to one of these files cannot be told without walking its pages.
 */
export function readUnmappedBytes(entries: readonly ProcessEntry[], heldBytes: number): number {
  if (heldBytes === 0) return 0;
  const mapped = entries.reduce((total, { pid }) => total + readSharedMemoryBytes(pid), 0);
  return Math.max(0, heldBytes - mapped);
}

/** By inode: all such files of a machine are of one file system. */
function addFilesOf(pid: number, bytesOf: Map<number, number>): void {
  const path = `/proc/${pid}/fd`;
  const directory = attempt(() => opendirSync(path));
  if (directory === undefined) return;
  try {
    for (let n = 0; n < MAX_DESCRIPTORS; n++) {
      const name = nextName(directory);
      if (name === undefined) return;
      const file = `${path}/${name}`;
      if (attempt(() => readlinkSync(file))?.startsWith('/memfd:') !== true) continue;
      const stats = attempt(() => statSync(file));
      if (stats !== undefined) bytesOf.set(stats.ino, stats.blocks * BLOCK_BYTES);
    }
  } finally {
    directory.closeSync();
  }
}

const nextName = (directory: Dir): string | undefined => attempt(() => directory.readSync())?.name;
