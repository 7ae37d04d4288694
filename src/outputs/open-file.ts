/**
 * How the files of a bundle are opened: never through a symbolic link, and never waiting on a FIFO that was put
 * in their place.
 */
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { errnoOf } from '../base/errors.ts';

/** Undefined where there is no regular file of that name. */
export function openForReading(path: string): number | undefined {
  return ifThere(() => openRegular(path, constants.O_RDONLY).fd);
}

/** Undefined where `openForReading` is; `use` gets the descriptor for as long as it runs. */
export function withFile<Result>(path: string, use: (fd: number) => Result): Result | undefined {
  const fd = openForReading(path);
  if (fd === undefined) return undefined;
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

/** With the size it has already. */
export function openForAppending(path: string): { fd: number; size: number } {
  return openRegular(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT);
}

/** ELOOP is what O_NOFOLLOW says to a link, ENXIO what O_NONBLOCK says to a FIFO or a socket. */
const ABSENCE = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EISDIR'];

/** Undefined where there is nothing of that name, or something else in its place. */
export function ifThere<Result>(look: () => Result): Result | undefined {
  try {
    return look();
  } catch (error) {
    if (ABSENCE.includes(errnoOf(error) ?? '')) return undefined;
    throw error;
  }
}

function openRegular(path: string, flags: number): { fd: number; size: number } {
  const fd = openSync(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o600);
  const stat = fstatSync(fd);
  if (stat.isFile()) return { fd, size: stat.size };
  closeSync(fd);
  throw Object.assign(new Error(`ENXIO: not a regular file, open '${path}'`), { code: 'ENXIO' });
}
