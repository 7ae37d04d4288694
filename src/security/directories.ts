/**
 * Working directories: resolved through symlinks, looked at, and held against the allowed ones.
 */
import { realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { attempt } from '../base/attempt.ts';
import { isInside, locatePath, realPathOf } from '../base/config/paths.ts';
import { ShellServerError } from '../base/errors.ts';
import { canExecute } from './sandbox/host-files.ts';

export type Directories = ReturnType<typeof createDirectories>;

interface CheckOptions {
  readonly principal: string;
  /** How the caller calls it. */
  readonly parameter?: string;
  /** Where it must lie besides what holds for the principal. */
  readonly within?: readonly string[] | undefined;
  /** Nobody named it: it is where commands run that name none. */
  readonly isDefault?: boolean;
  /** The session that has brought it; the caller named none. */
  readonly session?: string | undefined;
}

/** `hostPathOf` says where a directory lies that only a principal's commands see, such as its own /tmp. */
export function createDirectories(
  allowedFor: (principal: string) => readonly string[] | undefined,
  hostPathOf: (path: string, principal: string) => string = (path) => path,
) {
  return {
    /** The real path of a directory that may be worked in; throws PARAM_002 or SECURITY_002. */
    check(path: string, relativeTo: string, options: CheckOptions): string {
      const { principal, parameter = 'working_directory', within } = options;
      checkLength(path, parameter);
      const wanted = locatePath(path, { directory: relativeTo, homedir: homedir() });
      const boundaries = [allowedFor(principal), within].filter((boundary) => boundary !== undefined);
      const isAllowed = (real: string): boolean =>
        boundaries.every((boundary) => isInsideOne(real, boundary));
      const refused = (): ShellServerError => {
        const allowed = boundaries.find((boundary) => !isInsideOne(wanted, boundary)) ?? boundaries[0] ?? [];
        return new ShellServerError(
          'SECURITY_002',
          `${nameOf(path, options)} is outside the allowed directories.`,
          {
            hint: `${wayOut(options)}Allowed: ${allowed.join(', ')}.`,
            details: { working_directory: wanted, allowed_directories: allowed },
          },
        );
      };
      const refuse = unusable(nameOf(path, options), wanted, parameter);
      const hostPath = hostPathOf(wanted, principal);
      if (hostPath !== wanted) {
        if (!isAllowed(wanted)) throw refused();
        const top = topOf(wanted, (each) => hostPathOf(each, principal) !== each);
        const place = { wanted, hostPath, top, hostTop: hostPathOf(top, principal) };
        return checkPrivate(place, refuse);
      }
      const real = findReal(wanted);
      // Nothing about paths outside is revealed, not even whether they exist.
      if (!isAllowed(real ?? nearestParent(wanted))) throw refused();
      return checkUsable(real, wanted, refuse);
    },
  };
}

function nameOf(path: string, { parameter = 'working_directory', isDefault, session }: CheckOptions): string {
  if (session !== undefined) return `The directory of session ${session}, ${path},`;
  return `${isDefault === true ? 'The default working directory' : parameter} ${path}`;
}

function wayOut({ isDefault, session }: CheckOptions): string {
  if (session !== undefined)
    return 'Name a working_directory, use another session_id, or move the sessions with shell_set_default_workdir and apply_to_existing_sessions. ';
  return isDefault === true ? 'Move it with shell_set_default_workdir, or name a working_directory. ' : '';
}

/** Resolved at every look: an allowed directory may be created, or made a link, after the start. */
function isInsideOne(real: string, directories: readonly string[]): boolean {
  return directories.some((directory) => isInside(real, realPathOf(directory)));
}

type Refuse = (problem: string, hint?: string, details?: object) => ShellServerError;

function unusable(name: string, wanted: string, parameter: string): Refuse {
  return (problem, hint, details = {}) =>
    new ShellServerError('PARAM_002', `${name} ${problem}.`, {
      ...(hint !== undefined && { hint }),
      details: { [parameter]: wanted, ...details },
    });
}

const notThere = (nearest: string, refuse: Refuse): ShellServerError =>
  refuse('does not exist', `The nearest directory that exists is ${nearest}.`, { nearest_existing: nearest });

const noDirectory = (path: string, refuse: Refuse): ShellServerError =>
  refuse('is a file, not a directory', `Its directory is ${dirname(path)}.`);

/** The outermost directory around it of which the same is true. */
function topOf(path: string, isPrivate: (path: string) => boolean): string {
  const parent = dirname(path);
  return parent !== path && isPrivate(parent) ? topOf(parent, isPrivate) : path;
}

interface PrivatePlace {
  readonly wanted: string;
  readonly hostPath: string;
  /** Of all that is the principal's own there, such as /tmp. */
  readonly top: string;
  readonly hostTop: string;
}

/** A directory of the principal's own, known to its commands by another path. */
function checkPrivate({ wanted, hostPath, top, hostTop }: PrivatePlace, refuse: Refuse): string {
  // It is made with the first command.
  if (wanted === top) return wanted;
  const real = findReal(hostPath);
  // A link in there means another place than it does for us.
  if (real !== undefined && !isInside(real, realPathOf(hostTop)))
    throw refuse('is a link; name the directory it leads to');
  if (real === undefined) throw notThere(join(top, relative(hostTop, nearestParent(hostPath))), refuse);
  if (!isDirectory(real)) throw noDirectory(wanted, refuse);
  return wanted;
}

/** PATH_MAX; the system would refuse it, and an answer should not repeat it. */
function checkLength(path: string, parameter: string): void {
  if (Buffer.byteLength(path) <= 4096) return;
  throw new ShellServerError('PARAM_002', `${parameter} is longer than 4096 bytes.`, {
    details: { parameter },
  });
}

const findReal = (path: string): string | undefined => attempt(() => realpathSync.native(path));

function checkUsable(real: string | undefined, wanted: string, refuse: Refuse): string {
  const about = real === undefined ? undefined : statSync(real, { throwIfNoEntry: false });
  if (real === undefined || about === undefined) throw notThere(nearestParent(wanted), refuse);
  if (!about.isDirectory()) throw noDirectory(real, refuse);
  if (canExecute(real)) return real;
  throw refuse(
    'cannot be entered: permission denied',
    `It belongs to uid ${about.uid}; choose another directory.`,
  );
}

/** Upwards one look each: a path may have two thousand parts, and none of them need exist. */
function nearestParent(path: string): string {
  for (let parent = dirname(path); ; parent = dirname(parent)) {
    if (isDirectory(parent) || parent === dirname(parent)) return findReal(parent) ?? parent;
  }
}

const isDirectory = (path: string): boolean =>
  attempt(() => statSync(path, { throwIfNoEntry: false })?.isDirectory()) ?? false;
