/**
 * What programs outside would execute or trust, and that did not exist when a command began. A mount cannot keep a file
 * from being created, and afterwards nobody can tell who made it, so that it is named and left where it is.
 */
import { statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { isGitDirectory, targetOf } from './git-find.ts';
import { findGitlinks, type IndexBudget, MAX_INDEX_BYTES } from './git-index.ts';
import { type GitLayout, submodulesOf } from './git-layout.ts';
import { isThere, kindOf, namesIn, readLinkAt, stampOf } from './host-files.ts';
import { obeyedInGit } from './new-repository.ts';
import { obeyedInHome } from './open-home.ts';
import { ownStoresIn, pointedIn } from './pointed.ts';
import type { Around, WatchedPath } from './profile.ts';
import { missingStartUps, obeyedByLinks } from './protected.ts';
import {
  CONFIGURATION_IN_CACHES,
  PROTECTED_IN_HOME,
  PROTECTED_IN_WORKSPACE,
  PROTECTED_NAMES,
} from './protected-paths.ts';

/** A directory that was changed a moment ago can be changed again without another time being noted. */
const SETTLED_MS = 50;

/** In a home directory whatever begins with a dot may be, but for caches and histories. */
const OBEYED_IN_HOME = String.raw`^\.(?!cache$|npm$|pnpm-store$|node-gyp$|ccache$|electron-gyp$|lesshst|viminfo|wget-hsts|\w*_history)`;

export function watchedPaths(input: {
  readonly writable: readonly string[];
  readonly git: GitLayout;
  readonly homedir: string;
  readonly besidesDots?: readonly string[];
  /** What the operator named is theirs. */
  readonly opened: readonly string[];
}): WatchedPath[] {
  const { writable, git, homedir } = input;
  const home = realPathOf(homedir);
  const isHomeWritable = writable.some((root) => isInside(home, root));
  const candidates = [
    ...git.missing.filter((path) => writable.some((root) => isInside(path, root))),
    ...writable.flatMap((root) => PROTECTED_IN_WORKSPACE.map((name) => join(root, name))),
    ...writable.flatMap(pointedIn).filter((path) => writable.some((root) => isInside(path, root))),
    ...CONFIGURATION_IN_CACHES.map((name) => join(home, name)).filter((path) => isThere(dirname(path))),
    ...missingStartUps(home).filter((path) => writable.some((root) => isInside(path, root))),
    ...(isHomeWritable
      ? [...PROTECTED_IN_HOME.map((name) => join(home, name)), ...obeyedInHome(home, input.besidesDots ?? [])]
      : []),
  ];
  // A directory on the way may be a link, and be exchanged itself.
  const parents = candidates.map((path) => dirname(path)).filter((path) => readLinkAt(path) !== undefined);
  const aroundOf = createArounds();
  const named = (path: string, pattern: string): WatchedPath => {
    const known = namesIn(path, new RegExp(pattern)).map((each) => basename(each));
    return { path, link: undefined, among: { pattern, known }, around: aroundOf(path) };
  };
  const isOpened = (path: string): boolean => input.opened.some((other) => isInside(path, other));
  const gone = [...new Set([...candidates, ...parents])].flatMap((path): WatchedPath[] => {
    const link = readLinkAt(path);
    const isWatched = link !== undefined || !isThere(path);
    if (!isWatched || isOpened(path)) return [];
    return [{ path, link, around: aroundOf(dirname(path)) }];
  });
  const linked = [...obeyedByLinks(writable, git), ...writable.flatMap(ownStoresIn)]
    .filter((path) => writable.some((root) => isInside(path, root)) && !isOpened(path))
    .map((path): WatchedPath => {
      const around = aroundOf(dirname(path));
      return { path, link: readLinkAt(path), identity: identityOf(path), around };
    });
  const plain = git.plain.map(
    (path): WatchedPath => ({ path, link: undefined, around: aroundOf(path), repository: 'itself' }),
  );
  const workTrees = git.workTrees.flatMap(({ path, index, submodules, absent }): WatchedPath[] => [
    { path, link: undefined, around: { path: index, stamp: stampOf(index) }, repository: submodules },
    ...absent.map(
      (inner): WatchedPath => ({
        path: inner,
        link: undefined,
        around: aroundOf(inner),
        repository: 'named',
      }),
    ),
  ]);
  return [
    ...gone,
    ...linked,
    ...writable.map((root) => named(root, PROTECTED_NAMES.source)),
    ...(isHomeWritable ? [named(home, OBEYED_IN_HOME)] : []),
    ...[...plain, ...workTrees].filter(({ path }) => !isOpened(path)),
  ];
}

/** Undefined where nothing is there. */
function identityOf(path: string): string | undefined {
  const about = attempt(() => statSync(path, { throwIfNoEntry: false, bigint: true }));
  // The number of what was removed may be given to what is made next.
  return about === undefined ? undefined : `${about.dev}:${about.ino}:${about.isDirectory()}`;
}

function createArounds(): (directory: string) => Around | undefined {
  const known = new Map<string, Around | undefined>();
  const find = (path: string): Around | undefined => {
    const about = statSync(path, { throwIfNoEntry: false });
    if (about === undefined) return path === dirname(path) ? undefined : aroundOf(dirname(path));
    const isSettled = Date.now() - Math.max(about.mtimeMs, about.ctimeMs) > SETTLED_MS;
    return about.isDirectory() && isSettled ? { path, stamp: stampOf(path) } : undefined;
  };
  const aroundOf = (path: string): Around | undefined => {
    if (!known.has(path)) {
      const around = attempt(() => find(path));
      known.set(path, around);
    }
    return known.get(path);
  };
  return aroundOf;
}

/** What is there now and was not, or leads elsewhere. */
export function findAppeared(watched: readonly WatchedPath[]): string[] {
  const stamps = new Map<string, string>();
  const isUnchanged = ({ path, stamp }: Around): boolean => {
    const now = stamps.get(path) ?? stampOf(path);
    stamps.set(path, now);
    return now === stamp;
  };
  const budget = { bytes: MAX_INDEX_BYTES };
  const found = watched
    .filter(({ around }) => around === undefined || !isUnchanged(around))
    .filter(({ path, link }) => isThere(path) && (link === undefined || readLinkAt(path) !== link))
    .filter(({ path, identity }) => identity === undefined || identityOf(path) !== identity)
    .flatMap(({ path, link, around, among, repository }) => {
      if (repository === 'itself') return isGitDirectory(path) ? obeyedInGit(path) : [];
      if (repository === 'named') return isThere(join(path, '.git')) ? obeyedInNew(path, budget) : [];
      if (repository !== undefined) return newSubmodules(path, around?.path ?? '', repository, budget);
      if (among !== undefined)
        return namesIn(path, new RegExp(among.pattern)).filter(
          (each) => !among.known.includes(basename(each)),
        );
      if (link !== undefined || basename(path) !== '.git') return [path];
      // Of a new file all is new that it names.
      return [...(kindOf(path) === 'file' ? [path] : []), ...obeyedInNew(dirname(path), budget)];
    });
  return [...new Set(found)].filter(isThere);
}

/** What is obeyed in the repository of a new work tree. */
function obeyedInNew(workTree: string, budget: IndexBudget): string[] {
  const named = join(workTree, '.git');
  const git = (kindOf(named) === 'file' ? targetOf(named) : undefined) ?? named;
  return [...obeyedInGit(git, workTree), ...newSubmodules(workTree, join(git, 'index'), [], budget)];
}

/** The same in repositories that an index has come to name, and in theirs: git goes into them by itself. */
function newSubmodules(
  workTree: string,
  index: string,
  known: readonly string[],
  budget: IndexBudget,
): string[] {
  const { names, isWhole } = findGitlinks(index, budget);
  const { there } = submodulesOf(workTree, names);
  const inner = there.filter((path) => !known.includes(path));
  // It may name anything.
  return [...(isWhole ? [] : [index]), ...inner.flatMap((path) => obeyedInNew(path, budget))];
}
