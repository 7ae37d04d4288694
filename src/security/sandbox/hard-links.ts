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
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, dirname } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { messageOf, ShellServerError } from '../../base/errors.ts';
import { withFile } from '../../base/files.ts';
import { randomText } from '../../base/ids.ts';
import { kindOf, lookAt, namesIn } from './host-files.ts';

/** Settings and scripts are smaller. */
const MAX_BYTES = 16 * 1024 * 1024;
/** Of one directory with all that is in it; settings have few files. */
const MAX_ENTRIES = 2000;

/** Throws where a file cannot be copied: nothing may run then. */
export function separateLinks(paths: readonly string[], writable: readonly string[]): void {
  const there = paths.filter((path) => kindOf(path) !== undefined);
  for (const path of new Set(there.map(realPathOf))) {
    if (!writable.some((root) => path !== root && isInside(path, root))) continue;
    for (const file of linkedIn(path)) separate(file);
  }
}

/** Files with more than one name, there or below. */
function linkedIn(path: string): string[] {
  const found: string[] = [];
  const pending = [path];
  for (
    let entries = 0, next = pending.pop();
    next !== undefined && entries < MAX_ENTRIES;
    next = pending.pop()
  ) {
    entries++;
    const about = lookAt(next);
    if (about?.isDirectory() === true && basename(next) !== 'node_modules')
      pending.push(...namesIn(next, /^/));
    if (about?.isFile() === true && about.nlink > 1) found.push(next);
  }
  return found;
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
    if (about.size > MAX_BYTES) throw new Error('it is too large to be copied');
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
