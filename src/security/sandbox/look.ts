/** Looks at the host's files, without ever failing: what cannot be seen is not there. */
import { lstatSync, readlinkSync } from 'node:fs';

export type FileKind = 'directory' | 'file' | 'link' | 'special';

/** Of the path itself: a link is a link, wherever it leads. */
export function kindOf(path: string): FileKind | undefined {
  try {
    const about = lstatSync(path);
    if (about.isDirectory()) return 'directory';
    if (about.isFile()) return 'file';
    return about.isSymbolicLink() ? 'link' : 'special';
  } catch {
    return undefined;
  }
}

export function isThere(path: string): boolean {
  return kindOf(path) !== undefined;
}

export function readLinkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
