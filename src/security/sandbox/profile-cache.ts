/**
 * A profile is built for each execution, since commands change what it is built from; but most do not. It is used again
 * for a moment where the directories that decide about it are as they were.
 */
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { SecuritySettings } from '../../base/settings.ts';
import { PROTECTED_IN_WORKSPACE } from './protected-paths.ts';

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

/** Differs where an entry of one of these directories was made, removed or replaced, or anything else that is listed. */
export function signatureOf(places: {
  readonly roots: readonly string[];
  readonly repositories: readonly string[];
  readonly others: readonly string[];
  readonly names: readonly string[];
}): string {
  const directories = [
    ...places.roots.flatMap((root) => INSIDE.map((name) => join(root, name))),
    ...places.repositories.map((path) => join(path, '.git')),
    ...places.others,
  ];
  return [...directories.map(stampOf), ...places.names].join('\n');
}

/** Of a directory: which entries it has. */
export function stampOf(path: string): string {
  try {
    const about = statSync(path, { throwIfNoEntry: false, bigint: true });
    return about === undefined ? '-' : `${about.ino} ${about.mtimeNs} ${about.ctimeNs}`;
  } catch {
    // Below a file, say: a root may be one, and so may .git.
    return '-';
  }
}
