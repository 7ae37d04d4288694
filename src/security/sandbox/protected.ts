/** What can be written to and yet must not be: files that programs outside execute or trust. */
import { basename, dirname, join, resolve } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import type { SecuritySettings } from '../../base/settings.ts';
import type { GitLayout } from './git-layout.ts';
import { MAX_COPIED_BYTES } from './hard-links.ts';
import { isThere, kindOf, lookAt, namesIn, readLinkAt, thereOrShut } from './host-files.ts';
import { linkedFrom } from './linked.ts';
import { obeyedInHome } from './open-home.ts';
import { placesAround } from './places-around.ts';
import { pointedIn } from './pointed.ts';
import type { Mount } from './profile.ts';
import type { ProfileInput } from './profile-input.ts';
import {
  PROTECTED_IN_HOME,
  PROTECTED_IN_WORKSPACE,
  PROTECTED_NAMES,
  START_UP_DIRECTORIES,
  START_UP_FILES,
  WORK_IN_PROTECTED,
  WRITTEN_AROUND,
} from './protected-paths.ts';

interface ProtectedInput extends Pick<ProfileInput, 'homedir' | 'installation' | 'besidesDots'> {
  readonly git: Pick<GitLayout, 'obeyed' | 'closed'>;
  readonly security: Pick<SecuritySettings, 'writablePaths'>;
}

export function protectedIn(writable: readonly string[], input: ProtectedInput): Mount[] {
  const home = realPathOf(input.homedir);
  const isHomeOpen = writable.some((directory) => isInside(home, directory));
  const opened = input.security.writablePaths.map(realPathOf);
  const realOf = createRealPaths();
  const candidates = [
    ...writable.flatMap((directory) => inWorkspace(directory, opened)),
    ...obeyedByLinks(writable, input.git),
    ...writable.flatMap((directory) => namesIn(directory, PROTECTED_NAMES).slice(0, MAX_NAMES)),
    ...input.git.obeyed,
    ...[...PROTECTED_IN_HOME, ...START_UP_FILES].map((name) => join(home, name)),
    ...linkedFrom(START_UP_DIRECTORIES.map((name) => join(home, name))),
    ...(isHomeOpen ? obeyedInHome(home, input.besidesDots) : []),
    ...input.installation,
  ];
  const paths = [...new Set(candidates)]
    // It lies there, or is a link from elsewhere: a user's start-up files may be those of a repository. What is
    // named by the operator itself is not meant; a directory around it is the workspace and no such wish.
    .filter((path) => rootOf(path, writable) !== undefined || rootOf(realOf(path), writable) !== undefined)
    .filter((path) => !opened.includes(path) && !opened.includes(realOf(path)))
    // What cannot be looked into is protected as a whole: the next command could open it.
    .flatMap(thereOrShut);
  const protectedPaths = [...new Set(paths.map(realOf))]
    // A link that is left leads nowhere, and nothing can be mounted on it.
    .filter((real) => rootOf(real, writable) !== undefined && kindOf(real) !== 'link');
  const work = writable
    .flatMap((directory) => WORK_IN_PROTECTED.map((name) => join(directory, name)))
    .filter((path) => protectedPaths.includes(dirname(path)) && kindOf(path) === 'directory');
  // A directory that is read-only does for what is in it, unless something between them can be written to.
  const closed = new Set(protectedPaths);
  const open = new Set([...writable, ...work]);
  const isCovered = (path: string): boolean => {
    for (let at = path; !open.has(at) && at !== dirname(at); at = dirname(at))
      if (at !== path && closed.has(at)) return true;
    return false;
  };
  return [
    ...protectedPaths.filter((path) => !isCovered(path)).map((path): Mount => ({ kind: 'readable', path })),
    ...work.map((path): Mount => ({ kind: 'writable', path })),
  ];
}

/** Of many paths, of which most lie in few directories, behind links that a command may have put one behind the other. */
function createRealPaths(): (path: string) => string {
  const known = new Map<string, string>();
  const remembered = (path: string): string => {
    const real = known.get(path) ?? realPathOf(path);
    known.set(path, real);
    return real;
  };
  return (path) => {
    const inReal = join(remembered(dirname(path)), basename(path));
    return kindOf(inReal) === 'link' ? remembered(inReal) : inReal;
  };
}

/** What start-up files that are links lead to where nothing is yet. */
export const missingStartUps = (home: string): string[] =>
  START_UP_FILES.flatMap((name) => {
    const link = readLinkAt(join(home, name));
    const target = link === undefined ? home : resolve(home, link);
    return isThere(target) ? [] : [target];
  });

/**
 * What is obeyed because a link in one of those directories leads there. Of too many, the directories that they lie in, or a
 * root of the workspace.
 */
export function obeyedByLinks(
  writable: readonly string[],
  { obeyed }: Pick<GitLayout, 'obeyed'>,
): readonly string[] {
  const budget = { entries: MAX_LINK_ENTRIES };
  const from = [...writable.flatMap((directory) => inWorkspace(directory, [])), ...obeyed];
  const targets = linkedFrom(from, undefined, budget);
  return [...placesAround(targets, MAX_LINKED, writable), ...(budget.entries <= 0 ? writable : [])];
}

/** Each is a mount. */
const MAX_LINKED = 256;
/** Of directories of hooks and settings, which of four hundred repositories have half as many. */
const MAX_LINK_ENTRIES = 12_000;

/** Directories with more to protect than can be, one by one: nothing of them can be written to. */
export function closedIn(roots: readonly string[], { git }: Pick<ProtectedInput, 'git'>): string[] {
  const closed = new Set([...git.closed, ...obeyedByLinks(roots, git)]);
  return roots.filter((root) => closed.has(root) || namesIn(root, PROTECTED_NAMES).length > MAX_NAMES);
}

/**
 * A file in a directory of settings is protected with the directory: a mount on the file alone is gone as soon as a program
 * outside replaces it.
 */
function inWorkspace(directory: string, opened: readonly string[]): string[] {
  const named = PROTECTED_IN_WORKSPACE.flatMap((name) => {
    const path = join(directory, name);
    const around = dirname(path);
    const isWhole = name.includes('/') && !WRITTEN_AROUND.test(name);
    // The file itself may be a link.
    return isWhole && kindOf(around) === 'directory' && !opened.includes(around) ? [around, path] : [path];
  });
  return [...named, ...pointedIn(directory)];
}

/**
 * What may have a second name: files, and directories of settings. Of a home directory files, and those at the top of its
 * directories: in those programs, caches and logs are kept as well.
 */
export function settingsIn(
  writable: readonly string[],
  home: string,
  besidesDots: readonly string[],
): string[] {
  const isHomeWritable = writable.some((directory) => isInside(home, directory));
  const inHome = [
    ...inWorkspace(home, []),
    ...PROTECTED_IN_HOME.map((name) => join(home, name)),
    ...obeyedInHome(home, besidesDots),
  ].filter((path) => path !== home);
  return [
    ...writable.flatMap((directory) => (directory === home ? [] : inWorkspace(directory, []))),
    ...writable.flatMap((directory) => namesIn(directory, PROTECTED_NAMES).slice(0, MAX_NAMES)),
    ...(isHomeWritable ? [...new Set(inHome)].flatMap(filesAt) : []),
  ];
}

/** A file, or those at the top of a directory but for large programs, which version managers link and nobody copies. */
function filesAt(path: string): string[] {
  const real = realPathOf(path);
  if (kindOf(real) !== 'directory') return [path];
  return namesIn(real, /^/)
    .slice(0, MAX_TOP_FILES)
    .filter((each) => {
      const about = lookAt(each);
      return about?.isFile() === true && about.size <= MAX_COPIED_BYTES;
    });
}

/** Each is looked at before every command. */
const MAX_TOP_FILES = 200;

/** Where something else is kept in a directory of settings: work, and what the operator opened. */
export const apartIn = (writable: readonly string[], opened: readonly string[]): string[] => [
  ...opened,
  ...writable.flatMap((directory) => WORK_IN_PROTECTED.map((name) => join(directory, name))),
];

/** Of files with such names in one directory; each is a mount. Nobody has more. */
const MAX_NAMES = 50;

export function rootOf(path: string, writable: readonly string[]): string | undefined {
  return writable.find((directory) => path !== directory && isInside(path, directory));
}
