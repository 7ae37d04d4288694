/**
 * A protected file with a second name could be written to by that one, since a mount protects a name and not the file. So
 * it is replaced by a copy that has only the one.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  futimesSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { messageOf, ShellServerError } from '../../base/errors.ts';
import { withFile } from '../../base/files.ts';
import { randomText } from '../../base/ids.ts';
import { setOf } from '../list.ts';
import { kindOf, lookAt } from './host-files.ts';

/** Settings and scripts are smaller. */
export const MAX_COPIED_BYTES = 16 * 1024 * 1024;
/** Of all that is looked at, which is done before every command; settings are fewer files. */
const MAX_ENTRIES = 20_000;
/** Packages are installed by links, and git never obeys what lies in these of a git directory, nor a sample. */
const NOT_OBEYED = setOf('objects refs logs lfs');
const SAMPLE = /\.sample$/;

export interface Separated {
  /** A file has become another one. */
  readonly isAny: boolean;
  /** There is more than was looked at. */
  readonly hasMore: boolean;
}

/**
 * Of files, and of all that is in directories, but for places where something else is kept. Throws where a file cannot
 * be copied: nothing may run then.
 */
export function separateLinks(
  paths: readonly string[],
  writable: readonly string[],
  apart: readonly string[] = [],
): Separated {
  const there = paths.filter((path) => kindOf(path) !== undefined).map(realPathOf);
  const tops = there.filter((path) => writable.some((root) => path !== root && isInside(path, root)));
  const { byFile, hasMore } = linkedIn(tops, new Set(apart));
  // With all of its names in protected places no command can write to it.
  const open = [...byFile.values()].filter(({ names, count }) => BigInt(names.length) < count);
  for (const { names } of open) for (const name of names) separate(name);
  return { isAny: open.length > 0, hasMore };
}

interface Linked {
  readonly names: string[];
  readonly count: bigint;
}

/** Files with more than one name, there or below. */
function linkedIn(tops: readonly string[], apart: ReadonlySet<string>) {
  const byFile = new Map<string, Linked>();
  const seen = new Set<string>();
  const pending = [...tops];
  for (const path of pending) {
    if (seen.has(path) || apart.has(path)) continue;
    if (seen.add(path).size > MAX_ENTRIES) return { byFile, hasMore: true };
    const about = lookAt(path);
    if (about?.isDirectory() === true) for (const each of obeyedIn(path)) pending.push(each);
    if (about?.isFile() !== true || about.nlink <= 1) continue;
    const exact = attempt(() => lstatSync(path, { bigint: true }));
    if (exact === undefined) continue;
    const key = `${exact.dev}:${exact.ino}`;
    const known = byFile.get(key) ?? { names: [], count: exact.nlink };
    known.names.push(path);
    byFile.set(key, known);
  }
  return { byFile, hasMore: false };
}

function obeyedIn(directory: string): string[] {
  const names = attempt(() => readdirSync(directory)) ?? [];
  const isGit = names.includes('HEAD');
  return names
    .filter((name) => name !== 'node_modules' && !SAMPLE.test(name) && !(isGit && NOT_OBEYED.has(name)))
    .map((name) => join(directory, name));
}

/** By the directory's descriptor: a command that runs could exchange a directory on the way for a link. */
function separate(path: string): void {
  const directory = openSync(
    dirname(path),
    constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW,
  );
  const at = (name: string): string => `/proc/self/fd/${directory}/${name}`;
  const copy = at(`.${basename(path)}.${randomText()}`);
  try {
    if (realPathOf(`/proc/self/fd/${directory}`) !== dirname(path)) throw new Error('it was moved');
    writeCopy(at(basename(path)), copy);
    renameSync(copy, at(basename(path)));
  } catch (error) {
    rmSync(copy, { force: true });
    if (kindOf(path) !== undefined) throw linked(path, error);
  } finally {
    closeSync(directory);
  }
}

function writeCopy(from: string, to: string): void {
  withFile(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK, (source) => {
    const about = fstatSync(source);
    if (!about.isFile()) throw new Error('it is not a file any more');
    if (about.size > MAX_COPIED_BYTES) throw new Error('it is too large to be copied');
    withFile(to, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, (target) => {
      writeSync(target, readFileSync(source));
      if (process.geteuid?.() !== about.uid || process.getegid?.() !== about.gid)
        fchownSync(target, about.uid, about.gid);
      fchmodSync(target, about.mode & 0o777);
      futimesSync(target, about.atime, about.mtime);
    });
  });
}

function linked(path: string, cause: unknown): ShellServerError {
  return new ShellServerError(
    'SECURITY_003',
    `Nothing was run: ${path} is protected, but has a second name (a hard link) by which a command could write to it.`,
    {
      hint: `Ask the user to replace it with a copy: cp -p FILE FILE.new && mv FILE.new FILE (${messageOf(cause)}).`,
      details: { path },
      cause,
    },
  );
}
