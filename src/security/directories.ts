/**
 * Working directories: resolved through symlinks, looked at, and held against the allowed ones.
 */
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, resolve, sep } from 'node:path';
import { ShellServerError } from '../base/errors.ts';

export interface Directories {
  readonly allowed: readonly string[] | undefined;
  /** The real path of a directory that may be worked in; throws PARAM_002 or SECURITY_002. */
  check(path: string, relativeTo: string, parameter?: string): string;
}

export function createDirectories(allowed: readonly string[] | undefined): Directories {
  // Resolved at every check: an allowed directory may be created, or made a link, after the start.
  const isAllowed = (real: string): boolean =>
    allowed === undefined || allowed.some((directory) => isWithin(real, realOrSame(directory)));

  return {
    allowed,
    check(path, relativeTo, parameter = 'working_directory') {
      const wanted = resolve(relativeTo, expandHome(path));
      const real = realDirectory(wanted, path, parameter, isAllowed);
      if (!isAllowed(real)) {
        throw new ShellServerError(
          'SECURITY_002',
          `${parameter} ${path} is outside the allowed directories.`,
          {
            hint: `Allowed: ${(allowed ?? []).join(', ')}.`,
            details: { working_directory: wanted, allowed_directories: allowed },
          },
        );
      }
      return real;
    },
  };
}

/** True where `path` is `directory` or lies below it; both absolute. */
export function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}

function realDirectory(
  wanted: string,
  typed: string,
  parameter: string,
  isAllowed: (real: string) => boolean,
): string {
  let real: string;
  try {
    real = realpathSync(wanted);
  } catch {
    const parent = nearestParent(wanted);
    // What lies outside the allowed directories is not told, not even whether it is there.
    const hint = isAllowed(parent)
      ? `The nearest directory that exists is ${parent}.`
      : 'Choose a directory that exists.';
    throw new ShellServerError('PARAM_002', `${parameter} ${typed} does not exist.`, {
      hint,
      details: { [parameter]: wanted, ...(isAllowed(parent) && { nearest_existing: parent }) },
    });
  }
  if (!isAllowed(real)) return real;
  if (!statSync(real).isDirectory()) {
    throw new ShellServerError('PARAM_002', `${parameter} ${typed} is a file, not a directory.`, {
      hint: `Its directory is ${dirname(real)}.`,
      details: { [parameter]: wanted },
    });
  }
  try {
    accessSync(real, constants.X_OK);
  } catch {
    throw new ShellServerError('PARAM_002', `${parameter} ${typed} cannot be entered: permission denied.`, {
      hint: `It belongs to uid ${statSync(real).uid}; choose another directory.`,
      details: { [parameter]: wanted },
    });
  }
  return real;
}

function nearestParent(path: string): string {
  for (let parent = dirname(path); ; parent = dirname(parent)) {
    const real = realOrSame(parent);
    try {
      if (statSync(real).isDirectory()) return real;
    } catch {
      // Not there either: one further up.
    }
    if (parent === dirname(parent)) return parent;
  }
}

function realOrSame(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function expandHome(path: string): string {
  if (path === '~') return homedir();
  return path.startsWith('~/') && !isAbsolute(path) ? resolve(homedir(), path.slice(2)) : path;
}
