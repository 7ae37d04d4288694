/** Looks at the host's files; most without ever failing: what cannot be seen is not there. */
import {
  accessSync,
  constants,
  fstatSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { attempt, succeeds } from '../../base/attempt.ts';
import { realPathOf } from '../../base/config/paths.ts';
import { errnoOf } from '../../base/errors.ts';
import { readUtf8, withFile } from '../../base/files.ts';
import { canSearch } from '../../base/reach.ts';

export type FileKind = 'directory' | 'file' | 'link' | 'special';

/** The kernel looks for nothing with a longer one. */
export const MAX_PATH = 4096;

/**
 * Where a path leads that is written somewhere: the kernel follows links before it goes up from where they lead. A link at
 * its end stays one.
 */
export function pathFrom(base: string, path: string): string {
  const full = isAbsolute(path) ? path : `${base}/${path}`;
  const up = /^.*\/\.\.(?=\/|$)/s.exec(full)?.[0];
  return up === undefined || full.length > MAX_PATH
    ? resolve(full)
    : join(realPathOf(up), full.slice(up.length));
}

/** Of the path itself: a link is a link, wherever it leads. */
export function kindOf(path: string): FileKind | undefined {
  const about = lookAt(path);
  if (about === undefined) return undefined;
  if (about.isDirectory()) return 'directory';
  if (about.isFile()) return 'file';
  return about.isSymbolicLink() ? 'link' : 'special';
}

/** Most of what is looked for is not there, and an error for each would take longer than the rest. */
export const lookAt = (path: string): Stats | undefined =>
  attempt(() => lstatSync(path, { throwIfNoEntry: false }));

export function isThere(path: string): boolean {
  return kindOf(path) !== undefined;
}

/** Whether anything of it could be read from here; where not, there is nothing to hide. */
export const isReadable = (path: string): boolean => canAccess(path, constants.R_OK);

/** Whether we may run it as a program, or enter it as a directory. */
export const canExecute = (path: string): boolean => canAccess(path, constants.X_OK);

const canAccess = (path: string, mode: number): boolean => succeeds(() => accessSync(path, mode));

/**
 * Whether a command could get to a path: it has no capabilities, also where the server is root and sees everything.
 * Directories of our own count as open, since their owner can open them.
 * `known` keeps what was found out about directories, where many paths are asked for at once.
 */
export function isReachable(path: string, known = new Map<string, boolean>()): boolean {
  const parent = dirname(path);
  if (parent === path) return true;
  const before = known.get(parent);
  if (before !== undefined) return before;
  const answer = isReachable(parent, known) && canBeEntered(parent);
  known.set(parent, answer);
  return answer;
}

function canBeEntered(directory: string): boolean {
  const isOpen = attempt(() => {
    const about = statSync(directory, { throwIfNoEntry: false });
    return about === undefined || about.uid === process.geteuid?.() || canSearch(directory);
  });
  return isOpen === true;
}

/**
 * The directory of ours on the way to a path that is shut, so that nobody can tell what is in it; a command of ours
 * could open it again. Undefined where it can be told whether there is anything at the path.
 */
export function shutAround(path: string): string | undefined {
  try {
    lstatSync(path, { throwIfNoEntry: false });
    return undefined;
  } catch (error) {
    if (errnoOf(error) !== 'EACCES') return undefined;
  }
  for (let directory = dirname(path); directory !== dirname(directory); directory = dirname(directory))
    if (kindOf(directory) === 'directory') return isOurs(directory) ? directory : undefined;
  return undefined;
}

/** The path where there is something, or else the directory that is shut: a command could open it, and all that is in it. */
export const thereOrShut = (path: string): string | readonly never[] =>
  isThere(path) ? path : (shutAround(path) ?? []);

/** Whether it is ours and cannot be listed or searched as it is. */
export function isShut(directory: string): boolean {
  if (kindOf(directory) !== 'directory') return false;
  return !canAccess(directory, constants.R_OK | constants.X_OK) && isOurs(directory);
}

const isOurs = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.uid === process.geteuid?.();

export function readLinkAt(path: string): string | undefined {
  return kindOf(path) === 'link' ? attempt(() => readlinkSync(path)) : undefined;
}

/**
 * Throws where it cannot be opened; undefined where it is no file, or too large a one. Never through a link, and never
 * held up by a FIFO: a command may exchange one for the other.
 */
export const readPlainFile = (path: string, maxBytes?: number): string | undefined =>
  readPlainBytes(path, maxBytes)?.toString('utf8');

export function readPlainBytes(path: string, maxBytes = Number.POSITIVE_INFINITY): Buffer | undefined {
  return withFile(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK, (fd) => {
    const about = fstatSync(fd);
    const isPlain = about.isFile() && about.size <= maxBytes && realPathOf(dirname(path)) === dirname(path);
    return isPlain ? readFileSync(fd) : undefined;
  });
}

/** Nothing where it cannot be read. */
export const readText = (path: string): string => attempt(() => readUtf8(path)) ?? '';

/** Paths of what is in there and called so; none where it cannot be listed. */
export function namesIn(directory: string, names: RegExp): string[] {
  return (attempt(() => readdirSync(directory)) ?? [])
    .filter((name) => names.test(name))
    .map((name) => join(directory, name));
}

export const MISSING = '-';

/** Of a directory: which entries it has. */
export function stampOf(path: string): string {
  // Fails below a file, say: a root may be one, and so may .git.
  const about = attempt(() => statSync(path, { throwIfNoEntry: false, bigint: true }));
  return about === undefined ? MISSING : `${about.ino} ${about.mtimeNs} ${about.ctimeNs}`;
}
