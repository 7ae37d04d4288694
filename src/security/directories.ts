/**
 * Working directories: resolved through symlinks, looked at, and held against the allowed ones.
 */
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { isInside, locatePath, realPathOf } from '../base/config/paths.ts';
import { ShellServerError } from '../base/errors.ts';

export interface Directories {
  /** The real path of a directory that may be worked in; throws PARAM_002 or SECURITY_002. */
  check(path: string, relativeTo: string, options: CheckOptions): string;
}

export interface CheckOptions {
  readonly principal: string;
  /** How the caller calls it. */
  readonly parameter?: string;
  /** Where it must lie besides what holds for the principal. */
  readonly within?: readonly string[] | undefined;
  /** Nobody named it: it is where commands run that name none. */
  readonly isDefault?: boolean;
}

/** `hostPathOf` says where a directory lies that only a principal's commands see, such as its own /tmp. */
export function createDirectories(
  allowedFor: (principal: string) => readonly string[] | undefined,
  hostPathOf: (path: string, principal: string) => string = (path) => path,
): Directories {
  return {
    check(path, relativeTo, { principal, parameter = 'working_directory', within, isDefault }) {
      checkLength(path, parameter);
      const boundaries = [allowedFor(principal), within].filter((boundary) => boundary !== undefined);
      const isAllowed = (real: string): boolean =>
        boundaries.every((boundary) => isInsideOne(real, boundary));
      const refuse = (typed: string, wanted: string): ShellServerError => {
        const allowed = boundaries.find((boundary) => !isInsideOne(wanted, boundary)) ?? boundaries[0] ?? [];
        return new ShellServerError(
          'SECURITY_002',
          `${isDefault === true ? 'The default working directory' : parameter} ${typed} is outside the allowed directories.`,
          {
            hint: isDefault === true ? movedBy(allowed) : `Allowed: ${allowed.join(', ')}.`,
            details: { working_directory: wanted, allowed_directories: allowed },
          },
        );
      };
      const wanted = locatePath(path, { directory: relativeTo, homedir: homedir() });
      const hostPath = hostPathOf(wanted, principal);
      if (hostPath !== wanted) {
        if (!isAllowed(wanted)) throw refuse(path, wanted);
        const tmp = hostPathOf(wanted.startsWith('/var/tmp') ? '/var/tmp' : '/tmp', principal);
        return checkPrivate({ wanted, hostPath, tmp, typed: path, parameter });
      }
      const real = findReal(wanted);
      // Nothing about paths outside is revealed, not even whether they exist.
      if (!isAllowed(real ?? nearestParent(wanted))) throw refuse(path, wanted);
      checkUsable(real, wanted, path, parameter);
      return real;
    },
  };
}

const movedBy = (allowed: readonly string[]): string =>
  `Move it with shell_set_default_workdir, or name a working_directory. Allowed: ${allowed.join(', ')}.`;

/** Resolved at every look: an allowed directory may be created, or made a link, after the start. */
function isInsideOne(real: string, directories: readonly string[]): boolean {
  return directories.some((directory) => isInside(real, realPathOf(directory)));
}

/** A directory of the principal's own, known to its commands by another path. */
function checkPrivate(at: {
  readonly wanted: string;
  readonly hostPath: string;
  readonly tmp: string;
  readonly typed: string;
  readonly parameter: string;
}): string {
  const { wanted, hostPath, tmp, typed, parameter } = at;
  // It is made with the first command.
  if (hostPath === tmp) return wanted;
  const real = findReal(hostPath);
  // A link in there means another place than it does for us.
  if (real !== undefined && !isInside(real, realPathOf(tmp))) {
    throw new ShellServerError(
      'PARAM_002',
      `${parameter} ${typed} is a link; name the directory it leads to.`,
      {
        details: { [parameter]: wanted },
      },
    );
  }
  if (real === undefined) {
    const nearest = join(
      wanted.startsWith('/var/tmp') ? '/var/tmp' : '/tmp',
      relative(tmp, nearestParent(hostPath)),
    );
    throw new ShellServerError('PARAM_002', `${parameter} ${typed} does not exist.`, {
      hint: `The nearest directory that exists is ${nearest}.`,
      details: { [parameter]: wanted, nearest_existing: nearest },
    });
  }
  if (!isDirectory(real)) {
    throw new ShellServerError('PARAM_002', `${parameter} ${typed} is a file, not a directory.`, {
      hint: `Its directory is ${dirname(wanted)}.`,
      details: { [parameter]: wanted },
    });
  }
  return wanted;
}

/** PATH_MAX; the system would refuse it, and an answer should not repeat it. */
function checkLength(path: string, parameter: string): void {
  if (Buffer.byteLength(path) <= 4096) return;
  throw new ShellServerError('PARAM_002', `${parameter} is longer than 4096 bytes.`, {
    details: { parameter },
  });
}

function findReal(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function checkUsable(
  real: string | undefined,
  wanted: string,
  typed: string,
  parameter: string,
): asserts real is string {
  const refuse = (problem: string, hint: string, details: object = {}): ShellServerError =>
    new ShellServerError('PARAM_002', `${parameter} ${typed} ${problem}.`, {
      hint,
      details: { [parameter]: wanted, ...details },
    });
  const about = real === undefined ? undefined : statSync(real, { throwIfNoEntry: false });
  if (real === undefined || about === undefined) {
    const parent = nearestParent(wanted);
    throw refuse('does not exist', `The nearest directory that exists is ${parent}.`, {
      nearest_existing: parent,
    });
  }
  if (!about.isDirectory()) throw refuse('is a file, not a directory', `Its directory is ${dirname(real)}.`);
  try {
    accessSync(real, constants.X_OK);
  } catch {
    throw refuse(
      'cannot be entered: permission denied',
      `It belongs to uid ${about.uid}; choose another directory.`,
    );
  }
}

/** Upwards one look each: a path may have two thousand parts, and none of them need exist. */
function nearestParent(path: string): string {
  for (let parent = dirname(path); ; parent = dirname(parent)) {
    if (isDirectory(parent) || parent === dirname(parent)) return findReal(parent) ?? parent;
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch {
    return false;
  }
}
