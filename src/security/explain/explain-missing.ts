/**
 * What to try next when a command was not found or was denied: the nearest commands on PATH, the directory that should
 * be on it, or whose the file is.
 */
import { readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { isInside } from '../../base/config/paths.ts';
import { nearestFew } from '../../base/nearest.ts';
import { currentUser } from '../../base/user.ts';
import { list } from '../list.ts';
import { canExecute } from '../sandbox/host-files.ts';
import { NOT_FOUND, SAYS } from './patterns.ts';

/** Where a program is looked for. */
export interface Place {
  readonly directory: string;
  readonly path: string;
  /** What is outside is then none of the command's business. */
  readonly isSandboxed: boolean;
}

export interface FailedCommand extends Place {
  readonly exitCode?: number | undefined;
  /** The last part of what it printed on stderr. */
  readonly text: string;
}

export function hintFor(failed: FailedCommand): string | undefined {
  const missing = failed.exitCode === 127 ? findMissing(failed.text) : undefined;
  if (missing !== undefined) return hintForMissing(missing, failed);
  const denied = deniedPath(failed);
  return denied === undefined ? undefined : hintForDenied(denied, failed);
}

/** The program that was not found. */
export function findMissing(text: string): string | undefined {
  return NOT_FOUND.map((pattern) => pattern.exec(text)?.[1]).find(
    (name) => name !== undefined && name.length < 100,
  );
}

function deniedPath({ exitCode, text }: FailedCommand): string | undefined {
  if (exitCode === 0 || exitCode === undefined) return undefined;
  const path = SAYS.deniedPath.exec(text)?.[1];
  return path === undefined || path.length > 500 ? undefined : path;
}

export function hintForMissing(name: string, { directory, path, isSandboxed }: Place): string {
  if (name.includes('/')) return `${resolve(directory, name)} does not exist.`;
  const place = likelyPlaces(directory).find((candidate) => isExecutable(join(candidate, name)));
  if (place !== undefined) {
    return `${name} is not on PATH, but ${join(place, name)} exists: call it by that path, or set PATH in environment_variables.`;
  }
  const hidden = path
    .split(':')
    .map((entry) => join(entry, name))
    .find(isExecutable);
  if (isSandboxed && hidden !== undefined)
    return `${hidden} exists, but the sandbox does not show it. The operator can show it with security.readable_paths.`;
  const near = nearestFew(name, commandsOn(path), 3);
  const suggestion = near.length === 0 ? '' : ` The nearest on PATH: ${near.join(', ')}.`;
  return `${name} is not installed, or not on PATH.${suggestion}`;
}

const SYSTEM_PLACES = list(
  '/usr/local/bin /usr/local/go/bin /opt/homebrew/bin /snap/bin /usr/local/sbin /usr/sbin /sbin',
);

/** Directories that a login shell often has and a server's PATH has not. */
function likelyPlaces(directory: string): string[] {
  const here = list('node_modules/.bin .venv/bin venv/bin .').map((name) => join(directory, name));
  const home = list('.local/bin bin .cargo/bin go/bin .deno/bin .bun/bin').map((name) =>
    join(homedir(), name),
  );
  return [...here, ...home, ...SYSTEM_PLACES];
}

function commandsOn(path: string): Set<string> {
  const directories = path.split(':').filter(isAbsolute);
  // A directory on PATH that is not there is no news.
  return new Set(directories.flatMap((directory) => attempt(() => readdirSync(directory)) ?? []));
}

function hintForDenied(
  typed: string,
  { directory, exitCode, isSandboxed }: FailedCommand,
): string | undefined {
  const path = resolve(directory, typed.trim());
  if (isSandboxed && !isInside(path, directory)) return undefined;
  const user = currentUser();
  const about = attempt(() => statSync(path));
  if (about === undefined)
    // A word before the reason is more often the program's name than a file.
    return typed.includes('/')
      ? `Permission denied: ${path}; the server runs as ${user.username}.`
      : undefined;
  const mode = (about.mode & 0o7777).toString(8).padStart(4, '0');
  const whose = `${path} belongs to uid ${about.uid}, gid ${about.gid} (mode ${mode}); the command ran as ${user.username} (uid ${user.uid}).`;
  if (exitCode === 126 && about.isFile() && !isExecutable(path)) {
    return `${whose} It is not executable: run it through its interpreter (sh ${typed}), or chmod +x it.`;
  }
  if (exitCode === 126 && about.isDirectory()) return `${path} is a directory, not a program.`;
  return `${whose} Use a path that this user can access.`;
}

export const isExecutable = (path: string): boolean =>
  canExecute(path) && attempt(() => statSync(path).isFile()) === true;
