/**
 * A home directory that commands may write to. What the user's shells, sessions and editors obey lies in files and
 * directories with a dot, and under any name: all of them stay as they are, and so do the directories of PATH.
 */
import { readdirSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { isThere, kindOf } from './host-files.ts';
import type { Mount } from './profile.ts';
import { OWN_CACHE, TOOL_CACHES } from './protected-paths.ts';

/** Each is a mount. A command can make as many as it likes, which the next one has to bear. */
const MAX_MOUNTS = 128;

/** What stays as it is, where all of it can be mounted one by one. */
export function obeyedInHome(home: string, pathDirectories: readonly string[]): string[] {
  const dots = (namesIn(home) ?? []).filter(isObeyed);
  return [...(dots.length > MAX_MOUNTS ? [] : dots.map((name) => join(home, name))), ...pathDirectories];
}

/** Where there are too many, or nobody can tell: the directory itself, but for the oldest directories without a dot. */
export function closedHome(home: string): Mount[] {
  const names = namesIn(home);
  if (names === undefined) return kindOf(home) === 'directory' ? [{ kind: 'readable', path: home }] : [];
  if (names.filter(isObeyed).length <= MAX_MOUNTS) return [];
  const open = names
    .filter((name) => !isObeyed(name))
    .map((name) => join(home, name))
    .filter((path) => kindOf(path) === 'directory')
    .map((path) => ({ path, madeMs: madeAt(path) }))
    .toSorted((one, other) => one.madeMs - other.madeMs)
    .slice(0, MAX_MOUNTS);
  return [{ kind: 'readable', path: home }, ...open.map(({ path }): Mount => ({ kind: 'writable', path }))];
}

/** A new one is named. Caches come and go, and `.cache` is another one inside. */
export const isObeyed = (name: string): boolean =>
  name.startsWith('.') && !TOOL_CACHES.includes(name) && name !== OWN_CACHE;

/** Of a PATH, the directories in a home directory. A project's own directories are on it only while working on that project. */
export function pathDirectoriesIn(home: string, entries: readonly string[]): string[] {
  return [...new Set(entries.map(realPathOf))].filter(
    (path) =>
      path !== home &&
      isInside(path, home) &&
      !(basename(path) === '.bin' && basename(dirname(path)) === 'node_modules') &&
      !isThere(join(dirname(path), 'pyvenv.cfg')),
  );
}

/** Of a PATH, the entries that lie in a home directory or lead into it. */
export const pathEntriesIn = (home: string, path: string): string[] =>
  [...new Set(path.split(':').filter(isAbsolute))].filter(
    (entry) => isInside(entry, home) || isInside(realPathOf(entry), home),
  );

const namesIn = (directory: string): string[] | undefined => attempt(() => readdirSync(directory));

const madeAt = (path: string): number =>
  attempt(() => statSync(path).birthtimeMs) ?? Number.POSITIVE_INFINITY;
