/**
 * Paths as they are typed into settings, and the directories that stand in where nothing was typed.
 */
import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, posix, relative, resolve, sep, win32 } from 'node:path';
import { attempt } from '../attempt.ts';
import { errnoOf } from '../errors.ts';

/** Where a path was typed: relative ones count from `directory`. */
export interface PathBase {
  readonly directory: string;
  readonly homedir: string;
}

/** Absolute and normalised, with a leading `~` expanded. */
export function locatePath(typed: string, base: PathBase): string {
  const expanded = /^~(?:[/\\]|$)/.test(typed) ? join(base.homedir, typed.slice(1)) : typed;
  return resolve(base.directory, expanded);
}

/** Both must be absolute; a directory is inside itself. */
export function isInside(path: string, directory: string): boolean {
  // Asked thousands of times for a profile, nearly always about plain paths.
  if (isPlain(path) && isPlain(directory)) {
    return path.startsWith(directory) && (path.length === directory.length || path[directory.length] === '/');
  }
  const rest = relative(directory, path);
  return rest === '' || (rest !== '..' && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
}

/** Absolute, and as short as it can be. */
const isPlain = (path: string): boolean =>
  sep === '/' && path.startsWith('/') && !/\/(?:\.{0,2}(?:\/|$))/.test(path);

/**
 * The path with its symbolic links followed. What does not exist has no links yet, so the nearest parent that does
 * exist is followed and the rest is kept as it is.
 */
export function realPathOf(path: string): string {
  const real = attempt(() => realpathSync.native(path));
  if (real !== undefined) return real;
  const parents = [path];
  for (let at = path; at !== dirname(at); ) parents.push((at = dirname(at)));
  let found = parents.at(-1) ?? path;
  let next = parents.length - 1;
  // Nothing is there behind what is not: a path with thousands of parts that are missing takes a dozen looks.
  for (let from = 1, to = next; from <= to; ) {
    // Nearly always all but the end is there.
    const middle = from === 1 && to === parents.length - 1 ? 1 : (from + to) >> 1;
    const parent = attempt(() => realpathSync.native(parents[middle] ?? ''));
    if (parent === undefined) from = middle + 1;
    else {
      found = parent;
      next = middle;
      to = middle - 1;
    }
  }
  return join(
    found,
    ...parents
      .slice(0, next)
      .map((each) => basename(each))
      .toReversed(),
  );
}

/** What is wrong with a path that should be a directory; undefined where it is one. */
export function directoryProblem(path: string): string | undefined {
  try {
    return statSync(path).isDirectory() ? undefined : 'is not a directory';
  } catch (error) {
    const errno = errnoOf(error);
    return errno === 'ENOENT' || errno === 'ENOTDIR' ? 'does not exist' : `cannot be read (${errno})`;
  }
}

/** Enough of the surroundings to say where this platform keeps a program's files. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string>>;
  readonly homedir: string;
  readonly platform: NodeJS.Platform;
}

const PROGRAM = 'mcp-shell-server';

export function defaultStateDirectory({ environment, homedir, platform }: Surroundings): string {
  const path = platform === 'win32' ? win32 : posix;
  const own = absoluteOnly(environment['XDG_STATE_HOME'], path);
  if (own !== undefined) return path.join(own, PROGRAM);
  if (platform === 'darwin') return path.join(homedir, 'Library', 'Application Support', PROGRAM);
  if (platform !== 'win32') return path.join(homedir, '.local', 'state', PROGRAM);
  const local = absoluteOnly(environment['LOCALAPPDATA'], path);
  return path.join(local ?? path.join(homedir, 'AppData', 'Local'), PROGRAM);
}

export function userConfigDirectory(surroundings: Omit<Surroundings, 'platform'>): string {
  const own = absoluteOnly(surroundings.environment['XDG_CONFIG_HOME'], { isAbsolute });
  return join(own ?? join(surroundings.homedir, '.config'), PROGRAM);
}

/**
 * The directory to work in when nobody named one. Desktop clients start their servers in `/` or in their own
 * installation, where nobody has work to do; the home directory is what such a user means.
 */
export function startDirectory(cwd: string, homedir: string, platform: NodeJS.Platform): string {
  return isSystemDirectory(cwd, homedir, platform) ? homedir : cwd;
}

const POSIX_SYSTEM =
  /^\/(?:$|(?:usr|etc|bin|sbin|lib(?:32|64|x32)?|boot|dev|proc|sys|Applications|System|Library)(?:\/|$))/;
/** Sources are kept here on purpose: /usr/src/app is the usual working directory of a container. */
const POSIX_SOURCES = /^\/usr\/(?:local\/)?src\/./;
const WINDOWS_SYSTEM = /^[a-z]:[\\/]?(?:$|(?:windows|program files(?: \(x86\))?|programdata)(?:[\\/]|$))/i;

function isSystemDirectory(path: string, homedir: string, platform: NodeJS.Platform): boolean {
  if (platform === 'win32') return WINDOWS_SYSTEM.test(path);
  if (homedir !== '/' && isInside(path, homedir)) return false;
  return POSIX_SYSTEM.test(path) && !POSIX_SOURCES.test(path);
}

/** The XDG specification has a relative path ignored: it would mean another place in each start directory. */
function absoluteOnly(
  typed: string | undefined,
  path: { isAbsolute(path: string): boolean },
): string | undefined {
  return typed !== undefined && path.isAbsolute(typed) ? typed : undefined;
}
