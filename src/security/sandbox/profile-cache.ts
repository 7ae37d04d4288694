/**
 * A profile is built for each execution, since commands change what it is built from; but most do not. It is used again
 * for a moment where the directories that decide about it are as they were.
 */
import { dirname, join } from 'node:path';
import type { SecuritySettings } from '../../base/settings.ts';
import { MISSING, stampOf } from './host-files.ts';
import { PROTECTED_IN_HOME, PROTECTED_IN_WORKSPACE } from './protected-paths.ts';
import { REDACTED_FILES } from './redact.ts';

export interface Signed {
  readonly signature: string;
  readonly atMs: number;
}

/**
 * Files may be edited without a trace in these directories: settings in the home directory, which are shown without
 * their secrets where it is, and copies of system files otherwise.
 */
const FRESH_MS = { host: 2000, others: 60_000 };

export const isFresh = (
  known: Signed | undefined,
  signature: string,
  root: SecuritySettings['root'],
): boolean =>
  known !== undefined &&
  known.signature === signature &&
  performance.now() - known.atMs < (root === 'host' ? FRESH_MS.host : FRESH_MS.others);

/** Directories in which a protected file may come or go. */
const INSIDE = [
  ...new Set([
    '.git',
    '.git/info',
    '.git/modules',
    '.git/worktrees',
    ...PROTECTED_IN_WORKSPACE.map((name) => dirname(name)),
  ]),
];

/** Where the home directory can be written to: the directories on the way to what is protected there. */
const ON_THE_WAY = [
  ...new Set(
    [...PROTECTED_IN_HOME, ...REDACTED_FILES].flatMap((name) => {
      const parts = name.split('/').slice(0, -1);
      return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
    }),
  ),
];

/** Of a home directory that can be written to: what decides about a profile besides its own entries. */
export const placesInHome = (home: string): string[] =>
  [...ON_THE_WAY, ...REDACTED_FILES].map((name) => join(home, name));

export interface Places {
  readonly roots: readonly string[];
  readonly repositories: readonly string[];
  readonly others: readonly string[];
  readonly names: readonly string[];
}

/** What is missing is looked for again at least this often, whatever the directory around it says. */
const SURE_MS = 2000;

/**
 * Differs where an entry of one of these directories was made, removed or replaced, or anything else that is listed. Most
 * of them are not there, and nothing comes to be in a directory that has not changed: so those are not looked for anew.
 */
export function createSignatures(): (places: Places) => string {
  let known = new Map<string, string>();
  let sureAt = Number.NEGATIVE_INFINITY;
  return ({ roots, repositories, others, names }) => {
    const isSure = performance.now() - sureAt < SURE_MS;
    const before = isSure ? known : new Map<string, string>();
    const now = new Map<string, string>();
    if (!isSure) sureAt = performance.now();
    const stamp = (path: string): string => {
      const seen = now.get(path) ?? (isStillMissing(path) ? MISSING : stampOf(path));
      now.set(path, seen);
      return seen;
    };
    const isStillMissing = (path: string): boolean => {
      const around = dirname(path);
      return (
        around !== path &&
        before.get(path) === MISSING &&
        before.has(around) &&
        stamp(around) === before.get(around)
      );
    };
    const directories = [
      ...roots.flatMap((root) => [root, ...INSIDE.map((name) => join(root, name))]),
      ...repositories.map((path) => join(path, '.git')),
      ...others,
    ];
    const stamps = directories.map(stamp);
    // Of what is missing, the nearest directory that is there must be known the next time.
    for (const path of directories) {
      for (let at = path; now.get(at) === MISSING && at !== dirname(at); at = dirname(at)) stamp(dirname(at));
    }
    known = now;
    return [...stamps, ...names].join('\n');
  };
}
