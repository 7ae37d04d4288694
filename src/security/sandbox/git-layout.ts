/**
 * Where the git directories of a workspace are, and what in them git outside would execute or obey. Work trees lead to
 * them by a directory, a link or a file, to each other by entries of an index, and any directory can be one itself. Where
 * there are more than can be protected in detail, they are protected as a whole.
 */
import { basename, dirname, join, relative, resolve } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import {
  type ConfigBudget,
  createConfigBudget,
  namedByConfig,
  type ReadConfig,
  readGitConfig,
} from './git-config.ts';
import { createInnerBudget, findInner, gitsOf, insideGit } from './git-find.ts';
import { findGitlinks, type Gitlinks, type IndexBudget, MAX_INDEX_BYTES } from './git-index.ts';
import { isShut, isThere, MAX_PATH, pathFrom, stampOf } from './host-files.ts';

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
  /** Where others would be. */
  readonly absent: readonly string[];
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
/** Submodules that are not there; each is looked for when a command ends. */
const MAX_ABSENT = 2000;
/** Submodules of all work trees; each is looked at. */
const MAX_GITLINKS = 5000;
/** Edits in place leave no trace in the directories around. */
const FRESH_MS = 2000;

interface Readers {
  readonly environment: Readonly<Record<string, string>>;
  config(file: string, budget: ConfigBudget): ReadConfig;
  gitlinks(index: string, budget: IndexBudget): Gitlinks;
}

/** Looks again only where a directory that decides about the layout has changed. */
export function createGitLayouts(
  environment: Readonly<Record<string, string>> = {},
): (places: GitPlaces) => GitLayout {
  const readers: Readers = { environment, config: createConfigs(), gitlinks: createGitlinks() };
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

const createGitlinks = (): Readers['gitlinks'] =>
  byStamp(
    (index, budget: IndexBudget) => findGitlinks(index, budget),
    (budget) => budget.bytes === MAX_INDEX_BYTES,
  );

const createConfigs = (): Readers['config'] =>
  byStamp(readGitConfig, (budget) => budget.bytes === createConfigBudget().bytes);

/** What could not be read because of others is read the next time. */
function byStamp<Value extends { readonly isWhole: boolean }, Budget>(
  read: (path: string, budget: Budget) => Value,
  isAlone: (budget: Budget) => boolean,
): (path: string, budget: Budget) => Value {
  const known = new Map<string, { readonly stamp: string; readonly value: Value }>();
  return (path, budget) => {
    const stamp = stampOf(path);
    const before = known.get(path);
    if (before?.stamp === stamp) return before.value;
    const isFirst = isAlone(budget);
    const value = read(path, budget);
    if (known.size > 4 * MAX_WORK_TREES) known.clear();
    if (value.isWhole || isFirst) known.set(path, { stamp, value });
    return value;
  };
}

/** `depends` is called with the paths that decide about the answer, before they are looked at. */
function findGitLayout(places: GitPlaces, readers: Readers, depends: (path: string) => void): GitLayout {
  const { roots, home } = places;
  const { obeyed, single, missing, add, addGit } = createObeyed(places, depends);
  const workTrees: WorkTree[] = [];
  /** Their indexes and configurations may name anything, or their git directories lie too far away. */
  const unread: string[] = [];
  const budget = { bytes: MAX_INDEX_BYTES };
  const configBudget = createConfigBudget();
  const plain: string[] = [];
  // The repository around a part of the workspace has its work tree there.
  const around = places.gitDirectories.filter((git) => basename(git) === '.git').map((git) => dirname(git));
  const queue = new Set([...roots, ...around, ...places.repositories]);
  let gitlinks = MAX_GITLINKS;
  for (const directory of queue) {
    if (isShut(directory)) {
      obeyed.add(directory);
      continue;
    }
    const { own, pointer, links, all, isFar } = gitsOf(directory, depends);
    if (isFar) unread.push(directory);
    if (pointer !== undefined) add([pointer]);
    for (const link of links) missing.add(link);
    missing.add(join(directory, '.git'));
    // It may be behind a directory that was shut.
    if (own === undefined) obeyed.add(join(directory, '.git'));
    const trees = [...new Set([directory, ...workTreesOf(own, readers, configBudget)])];
    for (const git of all) {
      addGit(git);
      for (const workTree of trees) {
        const named = namedByConfig(git, { workTree, home, ...readers, budget: configBudget });
        add(named.paths);
        for (const link of named.links) missing.add(link);
        if (!named.isWhole) unread.push(workTree);
      }
    }
    if (roots.includes(directory) && !all.includes(directory)) plain.push(directory);
    if (own === undefined) continue;
    const index = join(own, 'index');
    depends(index);
    const { names, isWhole } = readers.gitlinks(index, budget);
    for (const path of trees) {
      gitlinks -= names.length;
      const { there: submodules, absent } = submodulesOf(path, gitlinks < 0 ? [] : names);
      workTrees.push({ path, index, submodules, absent });
      for (const inner of absent.slice(0, MAX_ABSENT)) depends(join(inner, '.git'));
      if (!isWhole || gitlinks < 0 || absent.length > MAX_ABSENT) unread.push(path);
      for (const inner of submodules) {
        if (queue.has(inner) || !roots.some((root) => isInside(inner, root))) continue;
        if (queue.size < MAX_WORK_TREES) queue.add(inner);
        else obeyed.add(topOf(inner, path));
      }
    }
  }
  for (const git of places.gitDirectories) addGit(git);
  for (const directory of places.unlisted)
    for (const git of gitsOf(directory, ignore).all)
      for (const path of insideGit(git, ignore)) single.add(path);
  for (const path of unread) obeyed.add(path);
  const layout = {
    obeyed: [...obeyed],
    closed: roots.filter(
      (root) => places.overflowing.includes(root) || unread.some((path) => isInside(root, path)),
    ),
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
  const innerBudget = createInnerBudget();
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
    const { gits, overflowing } = findInner(git, depends, innerBudget);
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

/** Where `core.worktree` says that the work tree is; of a file the last one counts. */
const workTreesOf = (git: string | undefined, readers: Readers, budget: ConfigBudget): string[] =>
  git === undefined
    ? []
    : ['config', 'config.worktree'].flatMap((name) => {
        const { entries } = readers.config(realPathOf(join(git, name)), budget);
        const value = entries.findLast(({ section, key }) => section === 'core' && key === 'worktree')?.value;
        return value === undefined || value.length > MAX_PATH ? [] : [pathFrom(git, value)];
      });

/** Of the names in an index, in which a command may have written anything: those that are there, and the others. */
export function submodulesOf(
  workTree: string,
  gitlinks: readonly string[],
): { readonly there: readonly string[]; readonly absent: readonly string[] } {
  const paths = gitlinks
    .map((name) => resolve(workTree, name))
    .filter((path) => path !== workTree && isInside(path, workTree));
  const isRepository = new Map(paths.map((path) => [path, isThere(join(path, '.git'))]));
  return {
    there: paths.filter((path) => isRepository.get(path) === true),
    absent: paths.filter((path) => isRepository.get(path) !== true),
  };
}

/** The outermost directory on the way. */
function topOf(path: string, root: string): string {
  return join(root, relative(root, path).split('/')[0] ?? '');
}
