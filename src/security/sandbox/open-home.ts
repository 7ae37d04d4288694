/**
 * A home directory that commands may write to. What the user's shells, sessions and editors obey lies in files and
 * directories with a dot, and under any name: all of them stay as they are, and so do the directories of PATH and what
 * links in any of them lead to.
 */
import { readdirSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { setOf } from '../list.ts';
import { isThere, kindOf } from './host-files.ts';
import { linkedFrom } from './linked.ts';
import type { Mount } from './profile.ts';
import { OWN_CACHE, PROTECTED_IN_HOME, TOOL_CACHES } from './protected-paths.ts';

/** Each is a mount. A command can make as many as it likes, which the next one has to bear. */
const MAX_MOUNTS = 128;
/** With more entries with a dot, not all that their links lead to is looked for. */
const MAX_FOLLOWED = 512;

/** What stays as it is, where all of it can be mounted one by one. `besides` is what `obeyedBesidesDots` answers. */
export function obeyedInHome(home: string, besides: readonly string[]): string[] {
  const dots = (namesIn(home) ?? []).filter(isObeyed);
  return [...(dots.length > MAX_MOUNTS ? [] : dots.map((name) => join(home, name))), ...besides];
}

/**
 * Directories of PATH, and what the links in them and behind a dot lead to. Of too many, the entries of the home directory
 * that they lie in; in the end the home directory itself.
 */
export function obeyedBesidesDots(home: string, pathDirectories: readonly string[]): string[] {
  const names = (namesIn(home) ?? []).filter(isObeyed);
  if (names.length > MAX_FOLLOWED) return [home, ...pathDirectories];
  const dots = names.map((name) => join(home, name));
  const known = [...pathDirectories, ...PROTECTED_IN_HOME.map((name) => join(home, name))];
  const skipped = new Set([...TOOL_CACHES, ...NOT_FOLLOWED].map((name) => join(home, name)));
  const targets = [
    ...linkedFrom(
      [...known, ...dots],
      (directory) => !skipped.has(directory) && !HOLDS_NONE.has(basename(directory)),
    ),
    ...dots.filter((path) => kindOf(path) === 'link').map(realPathOf),
  ].filter((path) => path !== home && isInside(path, home) && !isObeyed(topOf(path, home)));
  const all = new Set([...pathDirectories, ...targets]);
  if (all.size <= MAX_MOUNTS) return [...all];
  const tops = new Set(targets.map((path) => join(home, topOf(path, home))));
  return [...pathDirectories, ...(tops.size > MAX_MOUNTS ? [home] : tops)];
}

/** Where package managers keep what `link` made known: a project that is worked on, which nothing but a build uses. */
const NOT_FOLLOWED = ['.config/yarn/link', '.wine', '.steam'];

/** What is installed there, nobody's shell looks into. */
const HOLDS_NONE = setOf('.git node_modules');

const topOf = (path: string, home: string): string => relative(home, path).split('/')[0] ?? '';

/**
 * Where there are too many, or nobody can tell: the directory itself, but for the oldest directories without a dot in which
 * nothing is obeyed.
 */
export function closedHome(home: string, besides: readonly string[]): Mount[] {
  const closed: Mount = { kind: 'readable', path: home };
  const names = namesIn(home);
  if (names === undefined) return kindOf(home) === 'directory' ? [closed] : [];
  if (besides.includes(home)) return [closed];
  if (names.filter(isObeyed).length <= MAX_MOUNTS) return [];
  const obeyed = [...PROTECTED_IN_HOME.map((name) => join(home, name)).filter(isThere), ...besides].map(
    realPathOf,
  );
  const open = names
    .filter((name) => !isObeyed(name))
    .map((name) => join(home, name))
    .filter((path) => kindOf(path) === 'directory')
    .filter((path) => !obeyed.some((other) => isInside(other, path)))
    .map((path) => ({ path, madeMs: madeAt(path) }))
    .toSorted((one, other) => one.madeMs - other.madeMs)
    .slice(0, MAX_MOUNTS);
  return [closed, ...open.map(({ path }): Mount => ({ kind: 'writable', path }))];
}

/** A new one is named. Caches come and go, and `.cache` is another one inside. */
export const isObeyed = (name: string): boolean =>
  name.startsWith('.') && !TOOL_CACHES.includes(name) && name !== OWN_CACHE;

/**
 * Of a PATH, the directories in a home directory. A project's own directories are on it only while working on that
 * project: those are known by what the entry says, or the variable of an activated environment, which no command changes.
 */
export function pathDirectoriesIn(home: string, entries: readonly string[], virtual = ''): string[] {
  const isOwn = (entry: string): boolean =>
    (basename(entry) === '.bin' && basename(dirname(entry)) === 'node_modules') ||
    (isAbsolute(virtual) && isInside(entry, virtual));
  // A link on the way may be exchanged: both are obeyed.
  const paths = entries.flatMap((entry) => (isOwn(entry) ? [] : [realPathOf(entry), entry]));
  return [...new Set(paths)].filter((path) => path !== home && isInside(path, home));
}

/** Of a PATH, the entries that lie in a home directory or lead into it. */
export const pathEntriesIn = (home: string, path: string): string[] =>
  [...new Set(path.split(':').filter(isAbsolute))].filter(
    (entry) => isInside(entry, home) || isInside(realPathOf(entry), home),
  );

const namesIn = (directory: string): string[] | undefined => attempt(() => readdirSync(directory));

const madeAt = (path: string): number =>
  attempt(() => statSync(path).birthtimeMs) ?? Number.POSITIVE_INFINITY;
