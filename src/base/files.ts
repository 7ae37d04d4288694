/**
 * Files that are whole or not there: written beside their place, then renamed into it.
 */
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { attempt } from './attempt.ts';
import { errnoOf } from './errors.ts';
import { type IdPrefix, isId, randomText } from './ids.ts';

/** What to do about a disk that is full. */
export const FREE_SPACE =
  'Free some space on the disk of the state directory: delete_execution_outputs still works, and so does `mcp-shell-server state prune`. Then try again.';

/** No space is left for what was to be written, or no inode for another file. */
export const isDiskFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(errnoOf(error) ?? '');

/**
 * Creates a directory that only its owner can read, with its parents. Not by Node's `recursive`, which never returns
 * where the system says ENOENT though the parent is there, as it does below /proc.
 */
export function makePrivateDirectory(path: string): void {
  if (isDirectory(path)) return;
  const parent = dirname(path);
  if (parent !== path) makePrivateDirectory(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another server may have been faster.
    if (!isDirectory(path)) throw error;
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Not only its name, from which Node would make such an object, of a hidden class of its own, for each file. */
const UTF8 = { encoding: 'utf8', flag: 'r' } as const;

/** For files that are read with every call; `readFileSync(path, 'utf8')` does the same. */
export const readUtf8 = (path: string): string => readFileSync(path, UTF8);

/** Opens a file for as long as it is used. */
export function withFile<T>(path: string, flags: string | number, use: (fd: number) => T): T {
  const fd = openSync(path, flags, 0o600);
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

export function writeFileWhole(path: string, data: string | Uint8Array): void {
  const temporary = `${path}.${randomText()}.tmp`;
  try {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data;
    withFile(temporary, 'wx', (fd) => writeAllSync(fd, bytes));
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** A directory with all that is in it, and what is being put there meanwhile: Node looks into it only once. */
export function removeTree(path: string): void {
  for (let tries = 1; ; tries++) {
    try {
      return rmSync(path, { recursive: true, force: true });
    } catch (error) {
      if (tries === REMOVE_ATTEMPTS || errnoOf(error) !== 'ENOTEMPTY') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, REMOVE_PAUSE_MS);
    }
  }
}

const REMOVE_ATTEMPTS = 100;
const REMOVE_PAUSE_MS = 20;

/** writeSync may write less than it was given, on a disk that is nearly full. */
export function writeAllSync(fd: number, data: Uint8Array): void {
  let written = 0;
  while (written < data.length) written += writeSync(fd, data, written, data.length - written);
}

/** As many of the bytes as there are, in `into` where they fit. */
export function readAt(fd: number, offset: number, length: number, into?: Buffer): Buffer {
  const buffer = into !== undefined && into.length >= length ? into : Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const count = readSync(fd, buffer, done, length - done, offset + done);
    if (count === 0) break;
    done += count;
  }
  return buffer.subarray(0, done);
}

/** Names in a directory; none where it is not there. */
export function listNames(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Names in a directory that are such ids; none where it is not there. */
export function listIds(directory: string, prefix: IdPrefix): string[] {
  return (attempt(() => readdirSync(directory)) ?? []).filter((name) => isId(prefix, name));
}
