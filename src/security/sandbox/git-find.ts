/** Finds git directories as git does: by a directory, a link or a file, in any directory that looks like one, and inside. */
import { readdirSync } from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { realPathOf } from '../../base/config/paths.ts';
import { isShut, isThere, kindOf, pathFrom, readLinkAt, readPlainFile } from './host-files.ts';

/** Of one repository, submodules and work trees. */
const MAX_INNER = 50;
const MAX_INNER_DEPTH = 8;
const MAX_INNER_DIRECTORIES = 2000;
/** As the kernel. */
const MAX_LINKS = 40;
/** Directories and links on the way to a git directory. */
const MAX_STEPS = 1000;
/** A file that names a directory. */
const MAX_POINTER_BYTES = 64 * 1024;
/** Of such a path. Nobody's is longer, and each part of one that is not there would be looked for again and again. */
const MAX_POINTED = 1024;
/** In a git directory, where no other one is. */
const CONTENT = new Set(['objects', 'refs', 'logs', 'hooks', 'info', 'lfs', 'rr-cache', 'branches']);
const OBEYED = ['hooks', 'config', 'config.worktree', 'commondir'];

/** The git directories that git finds in a directory, in this order: by `.git` there, or itself. */
export function gitsOf(directory: string, depends: (path: string) => void) {
  const git = join(directory, '.git');
  const real = kindOf(git) === 'link' ? realPathOf(git) : git;
  depends(git);
  const kind = kindOf(real);
  const own = kind === 'directory' ? real : kind === 'file' ? targetOf(real) : undefined;
  const all = [
    ...(own === undefined ? [] : [own]),
    ...(isGitDirectory(directory, depends) ? [directory] : []),
  ];
  return {
    /** The one of its work tree. */
    own,
    /** The file that names it. */
    pointer: kind === 'file' ? real : undefined,
    /** On the way from one to the other: exchanged, they would lead to another. */
    links: kind === 'file' ? linksTo(namedBy(real)) : [],
    all: [...new Set(all.flatMap((path) => [path, commonOf(path)]))],
    /** One of them leads further than is followed. */
    isFar: [...(kind === 'file' ? [nameIn(real)] : []), ...all.map(commonIn)].some(isFar),
  };
}

/** As git tells one: what it points to may have the rest. */
export function isGitDirectory(
  directory: string,
  depends: (path: string) => void = () => undefined,
): boolean {
  depends(join(directory, 'HEAD'));
  if (!isThere(join(directory, 'HEAD'))) return false;
  const common = commonOf(directory);
  for (const name of ['commondir', 'objects', 'refs']) depends(join(directory, name));
  return ['objects', 'refs'].every((name) => kindOf(realPathOf(join(common, name))) === 'directory');
}

function commonOf(git: string): string {
  const named = commonIn(git);
  return named === '' || isFar(named) ? git : pathFrom(realPathOf(git), named);
}

function commonIn(git: string): string {
  const pointer = join(git, 'commondir');
  return isThere(pointer) ? readPointer(pointer).trim() : '';
}

const isFar = (named: string): boolean => named.length > MAX_POINTED;

/** Of a file in place of a git directory. */
export function targetOf(file: string): string | undefined {
  const named = namedBy(file);
  return named === undefined ? undefined : realPathOf(named);
}

function namedBy(file: string): string | undefined {
  const target = nameIn(file);
  return target === '' || isFar(target) ? undefined : pathFrom(dirname(file), target);
}

const nameIn = (file: string): string => /^gitdir:\s*(.+)$/m.exec(readPointer(file))?.[1]?.trim() ?? '';

/** What may still be looked at: the server does nothing else meanwhile, and a command may have written anything. */
export interface LookBudget {
  steps: number;
  /** Where links lead that were looked at; nothing, where something else is. */
  readonly links: Map<string, string | undefined>;
}

/** The symbolic links that a path goes through, each by where it lies. */
export function linksTo(path = '/', budget: LookBudget = { steps: MAX_STEPS, links: new Map() }): string[] {
  const found: string[] = [];
  const partsOf = (text: string): string[] =>
    text
      .split('/')
      .filter((name) => name !== '')
      .toReversed();
  const rest = partsOf(path);
  for (let at = '/'; rest.length > 0; ) {
    const step = join(at, rest.pop() ?? '');
    if (!budget.links.has(step)) {
      if (--budget.steps < 0) break;
      const kind = kindOf(step);
      // Behind what is not there is nothing.
      if (kind === undefined) break;
      budget.links.set(step, kind === 'link' ? readLinkAt(step) : undefined);
    }
    const to = budget.links.get(step);
    if (to === undefined) {
      at = step;
      continue;
    }
    found.push(step);
    if (found.length > MAX_LINKS) break;
    rest.push(...partsOf(to));
    if (isAbsolute(to)) at = '/';
  }
  return found;
}

const readPointer = (file: string): string =>
  attempt(() => readPlainFile(realPathOf(file), MAX_POINTER_BYTES)) ?? '';

export function insideGit(git: string, depends: (path: string) => void): string[] {
  const info = join(git, 'info');
  depends(info);
  // A directory stays protected while files in it are replaced.
  const attributes = isThere(join(info, 'attributes')) ? info : join(info, 'attributes');
  return [...OBEYED.map((name) => join(git, name)), attributes];
}

/** What may still be found inside of git directories, and looked at for it. */
export interface InnerBudget {
  gits: number;
  directories: number;
}

/** Of all repositories together: each one found is a few mounts. */
export const createInnerBudget = (): InnerBudget => ({ gits: 500, directories: 6000 });

/** The git directories of submodules, theirs, and work trees; or the directories where there are too many. */
export function findInner(
  git: string,
  depends: (path: string) => void,
  budget: InnerBudget,
): { readonly gits: readonly string[]; readonly overflowing: readonly string[] } {
  const gits: string[] = [];
  const overflowing: string[] = [];
  for (const name of ['modules', 'worktrees']) {
    const top = join(git, name);
    const found = gitsBelow(top, depends, budget);
    if (found === undefined || gits.length + found.length > Math.min(MAX_INNER, budget.gits))
      overflowing.push(top);
    else gits.push(...found);
  }
  budget.gits -= gits.length;
  return { gits, overflowing };
}

function gitsBelow(top: string, depends: (path: string) => void, budget: InnerBudget): string[] | undefined {
  const gits: string[] = [];
  const directories = kindOf(top) === 'directory' ? [top] : [];
  const most = Math.min(MAX_INNER_DIRECTORIES, budget.directories);
  for (const directory of directories) {
    budget.directories--;
    depends(directory);
    const isGit = directory !== top && isThere(join(directory, 'HEAD'));
    if (isGit || isShut(directory)) gits.push(directory);
    for (const name of directoriesIn(directory)) {
      if (!isGit || !CONTENT.has(name)) directories.push(join(directory, name));
    }
    const isDeep = relative(top, directories.at(-1) ?? top).split('/').length > MAX_INNER_DEPTH;
    if (isDeep || directories.length > most || gits.length > MAX_INNER) return undefined;
  }
  return gits;
}

function directoriesIn(path: string): string[] {
  return (attempt(() => readdirSync(path, { withFileTypes: true })) ?? [])
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}
