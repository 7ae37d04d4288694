/**
 * Whether the state directory is this user's alone. Another user who can write there decides who has a token, what was run
 * and what the audit log says.
 */
import { lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { attempt } from './attempt.ts';
import { ShellServerError } from './errors.ts';
import { currentUser } from './user.ts';

const GROUP_OR_OTHERS_WRITE = 0o022;
const GROUP_WRITE = 0o020;
const OTHERS_WRITE = 0o002;
const OTHERS_SEARCH = 0o011;
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
  return findForeignOwner(path, user) ?? findOtherWriters(path, user) ?? findOpenEntry(path, user);
}

/** What lies in it was made by the server, unless another made it first. */
function findOpenEntry(path: string, user: number) {
  const canBeEntered = ((statusOf(path)?.mode ?? 0) & OTHERS_SEARCH) !== 0;
  for (const name of attempt(() => readdirSync(path)) ?? []) {
    const entry = join(path, name);
    const about = attempt(() => lstatSync(entry));
    if (about === undefined) continue;
    if (isForeign(about, user))
      return {
        message: `${entry} in the state directory belongs to another user (${about.uid}).`,
        hint: 'Remove it, or name another state directory with --state-dir.',
      };
    const isOpen = canBeEntered && !about.isSymbolicLink() && (about.mode & GROUP_OR_OTHERS_WRITE) !== 0;
    if (isOpen)
      return {
        message: `${entry} in the state directory can be written by others.`,
        hint: `Run \`chmod go-w ${entry}\`, or name another state directory with --state-dir.`,
      };
  }
  return undefined;
}

/** Of the directory, or of a link on the way to it, which its owner can point elsewhere. */
function findForeignOwner(path: string, user: number) {
  const links = stepsOf(path)
    .map(({ entry }) => attempt(() => lstatSync(entry)))
    .filter((at) => at?.isSymbolicLink());
  const foreign = [statusOf(path), ...links].find((about) => about !== undefined && isForeign(about, user));
  return (
    foreign && {
      message: `The state directory ${path} belongs to another user (${foreign.uid}).`,
      hint: 'Name one of your own with --state-dir; it is created where it is missing.',
    }
  );
}

const isForeign = ({ uid }: { readonly uid: number }, user: number): boolean => uid !== user && uid !== 0;

/** In a user namespace (a container) the host's root is unknown, and owns `/` all the same. Undefined outside of one. */
function unknownOwner(): number | undefined {
  const read = (path: string): string => attempt(() => readFileSync(path, 'latin1')) ?? '';
  const isWhole = /^\s*0\s+0\s+4294967295\s*$/.test(read('/proc/self/uid_map'));
  return isWhole ? undefined : Number(read('/proc/sys/kernel/overflowuid'));
}

function findOtherWriters(path: string, user: number) {
  const about = statusOf(path);
  if (about !== undefined && (about.mode & GROUP_OR_OTHERS_WRITE) !== 0)
    return {
      message: `The state directory ${path} can be written by others.`,
      hint: `Run \`chmod 700 ${path}\`, or name another one with --state-dir.`,
    };
  for (const { directory } of stepsOf(path).reverse()) {
    const parent = statusOf(directory);
    if (parent === undefined) continue;
    const replaced = `The state directory ${path} can be replaced by others:`;
    if (isForeign(parent, user) && parent.uid !== unknownOwner())
      return {
        message: `${replaced} ${directory} belongs to another user (${parent.uid}).`,
        hint: 'Name one in a directory of your own with --state-dir.',
      };
    const writers = findWriters(parent);
    if (writers !== undefined)
      return {
        message: `${replaced} ${writers.name} can write in ${directory}.`,
        hint: `Run \`chmod ${writers.mode} ${directory}\`, or name another one with --state-dir.`,
      };
  }
  return undefined;
}

/** Without the sticky bit, write access to a directory allows renaming what is in it. */
function findWriters({ mode, gid }: { readonly mode: number; readonly gid: number }) {
  if ((mode & STICKY) !== 0) return undefined;
  if ((mode & OTHERS_WRITE) !== 0) return { name: 'anybody', mode: 'o-w' };
  // With a group for each user, which many systems have, what a user creates is often writable by that group.
  const isOthers = (mode & GROUP_WRITE) !== 0 && gid !== currentUser().gid;
  return isOthers ? { name: `the group ${gid}`, mode: 'g-w' } : undefined;
}

/** As many as the kernel follows. */
const MAX_LINKS = 40;

/** The entries that lead to the path, links among them, each with the directory in which it is looked up. */
function stepsOf(path: string): { readonly directory: string; readonly entry: string }[] {
  const namesIn = (text: string): string[] => text.split('/').filter((name) => name !== '' && name !== '.');
  const steps: { directory: string; entry: string }[] = [];
  const names = namesIn(resolve(path));
  let directory = '/';
  for (let links = 0; names.length > 0 && links <= MAX_LINKS; ) {
    const entry = join(directory, names.shift() ?? '');
    steps.push({ directory, entry });
    const target = attempt(() => readlinkSync(entry));
    if (target === undefined) directory = entry;
    else {
      links += 1;
      names.unshift(...namesIn(target));
      if (target.startsWith('/')) directory = '/';
    }
  }
  return steps;
}
