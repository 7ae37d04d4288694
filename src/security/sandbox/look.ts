/** Looks at the host's files, without ever failing: what cannot be seen is not there. */
import { accessSync, constants, lstatSync, readlinkSync } from 'node:fs';

export type FileKind = 'directory' | 'file' | 'link' | 'special';

/** Of the path itself: a link is a link, wherever it leads. */
export function kindOf(path: string): FileKind | undefined {
  try {
    // Most of what is looked for is not there, and an error for each would take longer than the rest.
    const about = lstatSync(path, { throwIfNoEntry: false });
    if (about === undefined) return undefined;
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

/** Whether anything of it could be read from here; where not, there is nothing to hide. */
export function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

export function readLinkAt(path: string): string | undefined {
  if (kindOf(path) !== 'link') return undefined;
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
