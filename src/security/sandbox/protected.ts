/**
 * What can be written to and yet must not be: files that somebody outside executes or obeys. Each is mounted
 * read-only on itself. And what is mounted inside a writable directory is pinned: every directory in between is mounted
 * on itself, since it could otherwise be moved away, with the mount below it, and replaced.
 */
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { isThere, kindOf } from './look.ts';
import type { Mount } from './profile.ts';
import {
  PROTECTED_CACHES,
  PROTECTED_IN_GIT,
  PROTECTED_IN_HOME,
  PROTECTED_IN_WORKSPACE,
} from './protected-paths.ts';

export interface ProtectedInput {
  readonly homedir: string;
  readonly installation: readonly string[];
  readonly gitDirectories: readonly string[];
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
    ...input.gitDirectories.flatMap(insideGit),
    ...PROTECTED_IN_HOME.map((name) => join(home, name)),
    ...listNames(join(home, '.cache'))
      .filter((name) => PROTECTED_CACHES.test(name))
      .map((name) => join(home, '.cache', name)),
    ...input.installation,
  ];
  const paths = [...new Set(candidates)].filter(
    (path) =>
      rootOf(path, writable) !== undefined &&
      // Named by the operator itself; a directory around it is the workspace and no such wish.
      !opened.includes(path) &&
      isThere(path),
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
  return insideGit(git);
}

function insideGit(git: string): string[] {
  const inner = [join(git, 'modules'), join(git, 'worktrees')].flatMap((path) =>
    gitDirectoriesBelow(path, 4),
  );
  return [git, ...inner].flatMap((path) => PROTECTED_IN_GIT.map((name) => join(path, name)));
}

/** Submodules may have submodules. */
function gitDirectoriesBelow(directory: string, depth: number): string[] {
  if (depth === 0 || kindOf(directory) !== 'directory') return [];
  return listDirectories(directory).flatMap((name) => {
    const path = join(directory, name);
    return isThere(join(path, 'HEAD'))
      ? [path, ...gitDirectoriesBelow(join(path, 'modules'), depth - 1)]
      : gitDirectoriesBelow(path, depth - 1);
  });
}

function listNames(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function listDirectories(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .slice(0, MAX_INNER)
      .map(({ name }) => name);
  } catch {
    return [];
  }
}

/** Submodules in one place; each is a few mounts. */
const MAX_INNER = 50;

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
