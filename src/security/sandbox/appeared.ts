/**
 * What somebody outside would execute or obey, and that was not there when a command began. A mount cannot keep a file
 * from being created, and afterwards nobody can tell who made it, so that it is named and left where it is.
 */
import { basename, dirname, join } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { isThere, readLinkAt } from './look.ts';
import { obeyedInGit } from './new-repository.ts';
import { modulesOf } from './protected.ts';
import { PROTECTED_IN_HOME, PROTECTED_IN_WORKSPACE } from './protected-paths.ts';

/** A path, and where it led: undefined where there was nothing. */
export interface WatchedPath {
  readonly path: string;
  readonly link: string | undefined;
}

const IN_GIT = ['hooks', 'config', 'commondir', 'config.worktree'];

const IN_HOME = [
  ...PROTECTED_IN_HOME,
  '.claude.json',
  '.claude/settings.json',
  '.docker/config.json',
  '.ssh',
  '.gnupg',
];

export function watchedPaths(input: {
  readonly writable: readonly string[];
  readonly repositories: readonly string[];
  readonly homedir: string;
  /** What the operator named is theirs. */
  readonly opened: readonly string[];
}): WatchedPath[] {
  const { writable, repositories, homedir } = input;
  const home = realPathOf(homedir);
  const isHomeWritable = writable.some((root) => isInside(home, root));
  const gits = [...new Set([...writable, ...repositories].map((root) => join(root, '.git')))].filter(isThere);
  const candidates = [
    ...writable.map((root) => join(root, '.git')),
    ...writable.flatMap((root) => PROTECTED_IN_WORKSPACE.map((name) => join(root, name))),
    ...gits.flatMap((git) => [
      git,
      ...[git, ...modulesOf(git)].flatMap((path) => IN_GIT.map((name) => join(path, name))),
    ]),
    ...(isHomeWritable ? IN_HOME.map((name) => join(home, name)) : []),
  ];
  // A directory on the way may be a link, and be exchanged itself.
  const parents = candidates.map((path) => dirname(path)).filter((path) => readLinkAt(path) !== undefined);
  return [...new Set([...candidates, ...parents])].flatMap((path) => {
    const link = readLinkAt(path);
    const isWatched = link !== undefined || !isThere(path);
    return isWatched && !input.opened.some((other) => isInside(path, other)) ? [{ path, link }] : [];
  });
}

/** What is there now and was not, or leads elsewhere. */
export function findAppeared(watched: readonly WatchedPath[]): string[] {
  return watched
    .filter(({ path, link }) => isThere(path) && (link === undefined || readLinkAt(path) !== link))
    .flatMap(({ path, link }) =>
      link === undefined && basename(path) === '.git' ? obeyedInGit(path) : [path],
    );
}
