/**
 * What can be written to and yet must not be: files that somebody outside executes or obeys. Each is mounted
 * read-only on itself. And what is mounted inside a writable directory is pinned: every directory in between is mounted
 * on itself, since it could otherwise be moved away, with the mount below it, and replaced.
 */
import { dirname, join } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { isThere, kindOf } from './look.ts';
import { PROTECTED_IN_GIT, PROTECTED_IN_HOME, PROTECTED_IN_WORKSPACE } from './private-paths.ts';
import type { Mount } from './profile.ts';

export interface ProtectedInput {
  readonly homedir: string;
  readonly installation: readonly string[];
  /** Directories with a `.git` in them. */
  readonly repositories: readonly string[];
  readonly security: { readonly writablePaths: readonly string[] };
}

export function protectedIn(writable: readonly string[], input: ProtectedInput): Mount[] {
  const home = realPathOf(input.homedir);
  const opened = input.security.writablePaths.map(realPathOf);
  const candidates = [
    ...writable.flatMap((directory) => PROTECTED_IN_WORKSPACE.map((name) => join(directory, name))),
    ...[...writable, ...input.repositories].flatMap(gitPaths),
    ...PROTECTED_IN_HOME.map((name) => join(home, name)),
    ...input.installation,
  ];
  const paths = [...new Set(candidates)].filter(
    (path) =>
      isThere(path) &&
      rootOf(path, writable) !== undefined &&
      // Named by the operator itself; a directory around it is the workspace and no such wish.
      !opened.includes(path),
  );
  return paths
    .map(realPathOf)
    .filter((real) => rootOf(real, writable) !== undefined)
    .map((path): Mount => ({ kind: 'readable', path }));
}

/** The directories between a mount and the writable directory that it lies in, outer ones first. */
export function pinsFor(mounts: readonly Mount[], writable: readonly string[]): Mount[] {
  const pinned = new Set<string>();
  for (const { path } of mounts) {
    const root = rootOf(path, writable);
    if (root !== undefined) for (const between of directoriesBetween(root, path)) pinned.add(between);
  }
  return [...pinned]
    .filter((path) => kindOf(path) === 'directory')
    .sort((a, b) => depth(a) - depth(b))
    .map((path): Mount => ({ kind: 'writable', path }));
}

/** Also of a worktree or submodule, whose `.git` is a file that names the directory. */
function gitPaths(directory: string): string[] {
  const git = join(directory, '.git');
  if (kindOf(git) !== 'directory') return isThere(git) ? [git] : [];
  return PROTECTED_IN_GIT.map((name) => join(git, name));
}

export function rootOf(path: string, writable: readonly string[]): string | undefined {
  return writable.find((directory) => path !== directory && isInside(path, directory));
}

function directoriesBetween(root: string, path: string): string[] {
  const between: string[] = [];
  for (let parent = dirname(path); parent !== root && isInside(parent, root); parent = dirname(parent)) {
    between.unshift(parent);
  }
  return between;
}

const depth = (path: string): number => path.split('/').length;
