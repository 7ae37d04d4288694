/** Paths as the kernel and `cd` see them. Links are followed by a function that is handed in. */
import { posix } from 'node:path';
import type { Cwds } from './findings.ts';

export type RealPath = (path: string) => string;

/** As it was handed in, or the path itself; a path that the disk cannot answer for is taken as it is. */
export function safeRealPath(realPath: RealPath | undefined): RealPath {
  return (path) => {
    try {
      return realPath?.(path) ?? path;
    } catch {
      return path;
    }
  };
}

/** Where a path leads from a real directory: `..` behind a link means the parent of what it points to. */
export function resolvePath(directory: string, path: string, realPath: RealPath): string {
  const whole = posix.isAbsolute(path) ? path : `${directory}/${path}`;
  if (!/(?:^|\/)\.\.(?:\/|$)/.test(whole)) return realPath(posix.normalize(whole));
  let at = posix.isAbsolute(path) ? '/' : directory;
  for (const step of path.split('/')) {
    if (step === '' || step === '.') continue;
    at = step === '..' ? posix.dirname(at) : realPath(posix.join(at, step));
  }
  return at;
}

/** Where `cd` leads: it takes `..` away from the text first, or follows links first with `-P` and where that fails. */
export function enterPath(cwds: Cwds, path: string, realPath: RealPath): Cwds {
  const places = cwds.flatMap((directory) => {
    if (directory === null && !posix.isAbsolute(path)) return [null];
    const from = directory ?? '/';
    return [realPath(posix.resolve(from, path)), resolvePath(from, path, realPath)];
  });
  return [...new Set(places)];
}

/** A directory that `cd` does not look for in CDPATH. */
export function isPlainTarget(path: string): boolean {
  return /^(?:\/|\.{1,2}(?:\/|$))/.test(path);
}

/** Both absolute and normal; a directory is inside itself. */
export function isInside(path: string, directory: string): boolean {
  return (
    path === directory ||
    directory === '/' ||
    path.startsWith(directory.endsWith('/') ? directory : `${directory}/`)
  );
}
