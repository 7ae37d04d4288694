/** What can be written to and yet must not be: files that somebody outside executes or obeys. */
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { isShut, isThere, kindOf, namesIn, shutAround } from './look.ts';
import { obeyedInHome } from './open-home.ts';
import type { Mount } from './profile.ts';
import {
  PROTECTED_IN_GIT,
  PROTECTED_IN_HOME,
  PROTECTED_IN_WORKSPACE,
  PROTECTED_NAMES,
  WORK_IN_PROTECTED,
} from './protected-paths.ts';

export interface ProtectedInput {
  readonly homedir: string;
  readonly installation: readonly string[];
  readonly gitDirectories: readonly string[];
  /** Directories with a `.git` in them, or that cannot be looked into. */
  readonly repositories: readonly string[];
  /** Directories of PATH in a home directory. */
  readonly pathDirectories: readonly string[];
  readonly security: { readonly writablePaths: readonly string[] };
}

export function protectedIn(writable: readonly string[], input: ProtectedInput): Mount[] {
  const home = realPathOf(input.homedir);
  const isHomeOpen = writable.some((directory) => isInside(home, directory));
  const opened = input.security.writablePaths.map(realPathOf);
  const candidates = [
    ...writable.flatMap((directory) => inWorkspace(directory, opened)),
    ...writable.flatMap((directory) => namesIn(directory, PROTECTED_NAMES).slice(0, MAX_INNER)),
    ...[...writable, ...input.repositories].flatMap(gitPaths),
    ...input.gitDirectories.flatMap(insideGit),
    ...PROTECTED_IN_HOME.map((name) => join(home, name)),
    ...(isHomeOpen ? obeyedInHome(home, input.pathDirectories) : []),
    ...input.installation,
  ];
  const paths = [...new Set(candidates)]
    // Named by the operator itself; a directory around it is the workspace and no such wish.
    .filter((path) => rootOf(path, writable) !== undefined && !opened.includes(path))
    // What cannot be looked into is protected as a whole: the next command could open it.
    .flatMap((path) => (isThere(path) ? path : (shutAround(path) ?? [])));
  const protectedPaths = [...new Set(paths.map(realPathOf))]
    // A link that is left leads nowhere, and nothing can be mounted on it.
    .filter((real) => rootOf(real, writable) !== undefined && kindOf(real) !== 'link');
  const work = writable
    .flatMap((directory) => WORK_IN_PROTECTED.map((name) => join(directory, name)))
    .filter((path) => protectedPaths.includes(dirname(path)) && kindOf(path) === 'directory');
  // A directory that is read-only does for what is in it, unless something between them can be written to.
  const isCovered = (path: string): boolean =>
    protectedPaths.some(
      (around) =>
        around !== path &&
        isInside(path, around) &&
        ![...writable, ...work].some((root) => isInside(path, root) && isInside(root, around)),
    );
  return [
    ...protectedPaths.filter((path) => !isCovered(path)).map((path): Mount => ({ kind: 'readable', path })),
    ...work.map((path): Mount => ({ kind: 'writable', path })),
  ];
}

/**
 * A file in a directory of settings is protected with the directory: a mount on the file alone is gone as soon as somebody
 * outside replaces it.
 */
function inWorkspace(directory: string, opened: readonly string[]): string[] {
  return PROTECTED_IN_WORKSPACE.flatMap((name) => {
    const path = join(directory, name);
    const around = dirname(path);
    const isWhole = name.includes('/') && !name.startsWith('node_modules/');
    // The file itself may be a link.
    return isWhole && kindOf(around) === 'directory' && !opened.includes(around) ? [around, path] : [path];
  });
}

/** Also of a worktree or submodule, whose `.git` is a file that names the directory. */
function gitPaths(directory: string): string[] {
  const git = join(directory, '.git');
  if (isShut(directory)) return [directory];
  return kindOf(git) === 'directory' ? insideGit(git) : [git];
}

/** The git directories of its submodules and worktrees. */
export function modulesOf(git: string): string[] {
  return [join(git, 'modules'), join(git, 'worktrees')].flatMap((path) => gitDirectoriesBelow(path, 4));
}

function insideGit(git: string): string[] {
  return [git, ...modulesOf(git)].flatMap((path) =>
    isShut(path) ? [path] : PROTECTED_IN_GIT.map((name) => join(path, name)),
  );
}

/** Submodules may have submodules. */
function gitDirectoriesBelow(directory: string, depth: number): string[] {
  if (depth === 0 || kindOf(directory) !== 'directory') return [];
  if (isShut(directory)) return [directory];
  return listDirectories(directory).flatMap((name) => {
    const path = join(directory, name);
    return isThere(join(path, 'HEAD'))
      ? [path, ...gitDirectoriesBelow(join(path, 'modules'), depth - 1)]
      : gitDirectoriesBelow(path, depth - 1);
  });
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
