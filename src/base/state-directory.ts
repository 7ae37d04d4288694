/**
 * Whether the state directory is this user's alone. Another user who can write there decides who has a token, what was run
 * and what the audit log says.
 */
import { lstatSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { attempt } from './attempt.ts';
import { ShellServerError } from './errors.ts';

const GROUP_OR_OTHERS_WRITE = 0o022;
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;

/** Undefined where it is missing, or not for us to see: the first write says so. */
const statusOf = (path: string) => attempt(() => statSync(path));

/** Throws where others can write it, own it, or put another one in its place. */
export function checkStateDirectory(path: string): void {
  const problem = findStateDirectoryProblem(path);
  if (problem !== undefined)
    throw new ShellServerError('SYSTEM_003', problem.message, { hint: problem.hint });
}

export function findStateDirectoryProblem(path: string) {
  const user = process.geteuid?.();
  // Windows has neither owners nor modes in this sense.
  if (user === undefined) return undefined;
  return findForeignOwner(path, user) ?? findOtherWriters(path);
}

/** Of the directory, or of a link on the way to it, which its owner can point elsewhere. */
function findForeignOwner(path: string, user: number) {
  const links = [path, ...parentsOf(path)]
    .map((at) => attempt(() => lstatSync(at)))
    .filter((at) => at?.isSymbolicLink());
  const foreign = [statusOf(path), ...links].find(
    (about) => about !== undefined && about.uid !== user && about.uid !== 0,
  );
  return (
    foreign && {
      message: `The state directory ${path} belongs to another user (${foreign.uid}).`,
      hint: 'Name one of your own with --state-dir; it is created where it is missing.',
    }
  );
}

function findOtherWriters(path: string) {
  const about = statusOf(path);
  if (about !== undefined && (about.mode & GROUP_OR_OTHERS_WRITE) !== 0)
    return {
      message: `The state directory ${path} can be written by others.`,
      hint: `Run \`chmod 700 ${path}\`, or name another one with --state-dir.`,
    };
  const there = [path, ...parentsOf(path)].find((at) => statusOf(at) !== undefined) ?? '/';
  const real = realpathSync(there);
  // Without the sticky bit, write access to a directory allows renaming what is in it.
  const open = [...(there === path ? [] : [real]), ...parentsOf(real)].find((parent) => {
    const { mode } = statSync(parent);
    return (mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0;
  });
  if (open === undefined) return undefined;
  return {
    message: `The state directory ${path} can be replaced by others: anybody can write in ${open}.`,
    hint: `Run \`chmod o-w ${open}\`, or name another one with --state-dir.`,
  };
}

/** From the nearest to the root. */
function parentsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...parentsOf(parent)];
}
