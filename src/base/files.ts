/**
 * Files that are whole or not there: written beside their place, then renamed into it.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { randomText } from './ids.ts';

/** Creates a directory that only its owner can read, with its parents. */
export function makePrivateDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

export function writeFileWhole(
  path: string,
  data: string | Uint8Array,
  options: { fsync?: boolean } = {},
): void {
  const temporary = `${path}.${randomText()}.tmp`;
  try {
    const fd = openSync(temporary, 'wx', 0o600);
    try {
      writeAllSync(fd, typeof data === 'string' ? Buffer.from(data) : data);
      if (options.fsync === true) fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** writeSync may write less than it was given, on a disk that is nearly full. */
export function writeAllSync(fd: number, data: Uint8Array): void {
  let written = 0;
  while (written < data.length) written += writeSync(fd, data, written, data.length - written);
}
