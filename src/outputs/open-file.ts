/**
 * How the files of a bundle are opened: never through a symbolic link, and never waiting on a FIFO that was put
 * in their place.
 */
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { errnoOf } from '../base/errors.ts';

/** Undefined where there is no regular file of that name. */
export function openForReading(path: string): number | undefined {
  try {
    return openRegular(path, constants.O_RDONLY).fd;
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** With the size it has already. */
export function openForAppending(path: string): { fd: number; size: number } {
  return openRegular(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT);
}

/** ELOOP is what O_NOFOLLOW says to a link, ENXIO what O_NONBLOCK says to a FIFO or a socket. */
export function isAbsence(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EISDIR'].includes(errnoOf(error) ?? '');
}

function openRegular(path: string, flags: number): { fd: number; size: number } {
  const fd = openSync(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o600);
  const stat = fstatSync(fd);
  if (stat.isFile()) return { fd, size: stat.size };
  closeSync(fd);
  throw Object.assign(new Error(`ENXIO: not a regular file, open '${path}'`), { code: 'ENXIO' });
}
