/**
 * Where the git directories of a workspace are, and what in them git outside would execute or obey. Work trees lead to
 * them by a directory, a link or a file, to each other by entries of an index, and any directory can be one itself. Where
 * there are more than can be protected in detail, they are protected as a whole.
 */
import { basename, dirname, join, relative, resolve } from 'node:path';
import { isInside } from '../../base/config/paths.ts';
import { type ConfigEntry, namedByConfig, readGitConfig } from './git-config.ts';
import { findInner, gitsOf, insideGit } from './git-find.ts';
import { findGitlinks } from './git-index.ts';
import { isShut, isThere, stampOf } from './host-files.ts';

export interface GitLayout {
  /** Read-only where they are there. */
  readonly obeyed: readonly string[];
  /** Roots of the workspace with repositories all over. */
  readonly closed: readonly string[];
  /** A second name of one of these files, or of files in these directories, would be a way to write to it. */
  readonly single: readonly string[];
  /** Executed or obeyed where they appear. */
  readonly missing: readonly string[];
  readonly workTrees: readonly WorkTree[];
  /** Roots of the workspace that are no git directory themselves, and would be searched for one. */
  readonly plain: readonly string[];
  /** The same as long as the layout is. */
  readonly key: string;
}

export const NO_GIT: GitLayout = {
  obeyed: [],
  closed: [],
  single: [],
  missing: [],
  workTrees: [],
  plain: [],
  key: '',
};

export interface WorkTree {
  readonly path: string;
  readonly index: string;
  /** Repositories inside that its index names. */
  readonly submodules: readonly string[];
}

export interface GitPlaces {
  /** Directories that commands can write to. */
  readonly roots: readonly string[];
  /** Work trees and git directories inside, the oldest first. */
  readonly repositories: readonly string[];
  /** Git directories elsewhere that are written to. */
  readonly gitDirectories: readonly string[];
  /** Directories with so many repositories that not each of them is listed. */
  readonly overflowing: readonly string[];
  /** Those repositories. */
  readonly unlisted: readonly string[];
  readonly home: string;
}

/** Each is a few mounts; of further ones the git directory is read-only as a whole, which is one. */
const MAX_DETAILED = 64;
/** Work trees that are looked at. */
const MAX_WORK_TREES = 500;
/** Edits in place leave no trace in the directories around. */
const FRESH_MS = 2000;

interface Readers {
  config(file: string): readonly ConfigEntry[];
  gitlinks(index: string): readonly string[];
}

/** Looks again only where a directory that decides about the layout has changed. */
export function createGitLayouts(): (places: GitPlaces) => GitLayout {
  const readers: Readers = { config: byStamp(readGitConfig), gitlinks: byStamp(findGitlinks) };
  let last:
    | { places: string; stamps: ReadonlyMap<string, string>; layout: GitLayout; atMs: number }
    | undefined;
  return (places) => {
    const asked = JSON.stringify(places);
    const isKnown =
      last?.places === asked &&
      performance.now() - last.atMs < FRESH_MS &&
      [...last.stamps].every(([path, stamp]) => stampOf(path) === stamp);
    if (last === undefined || !isKnown) {
      const stamps = new Map<string, string>();
      const layout = findGitLayout(places, readers, (path) => stamps.set(path, stampOf(path)));
      last = { places: asked, stamps, layout, atMs: performance.now() };
    }
    return last.layout;
  };
}

function byStamp<Value>(read: (path: string) => Value): (path: string) => Value {
  const known = new Map<string, { readonly stamp: string; readonly value: Value }>();
  return (path) => {
    const stamp = stampOf(path);
    const before = known.get(path);
    if (before?.stamp === stamp) return before.value;
    const value = read(path);
    if (known.size > 4 * MAX_WORK_TREES) known.clear();
    known.set(path, { stamp, value });
    return value;
  };
}

/** `depends` is called with the paths that decide about the answer, before they are looked at. */
function findGitLayout(places: GitPlaces, readers: Readers, depends: (path: string) => void): GitLayout {
  const { roots, home } = places;
  const { obeyed, single, missing, add, addGit } = createObeyed(places, depends);
  const workTrees: WorkTree[] = [];
  const plain: string[] = [];
  // The repository around a part of the workspace has its work tree there.
  const around = places.gitDirectories.filter((git) => basename(git) === '.git').map((git) => dirname(git));
  const queue = [...new Set([...roots, ...around, ...places.repositories])];
  for (const directory of queue) {
    if (isShut(directory)) {
      obeyed.add(directory);
      continue;
    }
    const { own, pointer, links, all } = gitsOf(directory, depends);
    if (pointer !== undefined) add([pointer]);
    for (const link of links) missing.add(link);
    missing.add(join(directory, '.git'));
    // It may be behind a directory that was shut.
    if (own === undefined) obeyed.add(join(directory, '.git'));
    for (const git of all) {
      addGit(git);
      add(namedByConfig(git, { workTree: directory, home, read: readers.config }));
    }
    if (roots.includes(directory) && !all.includes(directory)) plain.push(directory);
    if (own === undefined) continue;
    const index = join(own, 'index');
    const submodules = submodulesOf(directory, readers.gitlinks(index));
    workTrees.push({ path: directory, index, submodules });
    for (const path of submodules) {
      if (queue.includes(path) || !roots.some((root) => isInside(path, root))) continue;
      if (queue.length < MAX_WORK_TREES) queue.push(path);
      else obeyed.add(topOf(path, directory));
    }
  }
  for (const git of places.gitDirectories) addGit(git);
  for (const directory of places.unlisted)
    for (const git of gitsOf(directory, ignore).all)
      for (const path of insideGit(git, ignore)) single.add(path);
  const layout = {
    obeyed: [...obeyed],
    closed: places.overflowing.filter((path) => roots.includes(path)),
    single: [...single],
    missing: [...missing],
    workTrees,
    plain,
  };
  return { ...layout, key: JSON.stringify(layout) };
}

const ignore = (): void => undefined;

/** What git outside would execute or obey, gathered. */
function createObeyed({ roots, overflowing: full }: GitPlaces, depends: (path: string) => void) {
  const obeyed = new Set<string>(full);
  const single = new Set<string>();
  const missing = new Set<string>();
  const done = new Set<string>();
  let detailed = 0;

  function add(paths: readonly string[]): void {
    for (const path of paths) {
      obeyed.add(path);
      missing.add(path);
      single.add(path);
    }
  }

  /** Of one git directory, its submodules and work trees. */
  function addGit(git: string): void {
    if (done.has(git)) return;
    depends(git);
    if (isShut(git)) return void obeyed.add(git);
    const { gits, overflowing } = findInner(git, depends);
    // Index and refs cannot be written to then either; a person can still commit.
    if (++detailed > MAX_DETAILED && !roots.includes(git)) obeyed.add(git);
    for (const path of overflowing) obeyed.add(path);
    for (const path of [git, ...gits]) {
      done.add(path);
      if (isShut(path)) obeyed.add(path);
      else add(insideGit(path, depends));
    }
  }

  return { obeyed, single, missing, add, addGit };
}

/** Those that are there, of the names in an index: a command may have written anything there. */
export const submodulesOf = (workTree: string, gitlinks: readonly string[]): string[] =>
  gitlinks
    .map((name) => resolve(workTree, name))
    .filter((path) => path !== workTree && isInside(path, workTree) && isThere(join(path, '.git')));

/** The outermost directory on the way. */
function topOf(path: string, root: string): string {
  return join(root, relative(root, path).split('/')[0] ?? '');
}
