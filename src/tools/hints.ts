/**
 * What to try next when a command was not found or was denied: the nearest commands on PATH, the directory that should
 * be on it, or whose the file is.
 */
import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { isInside } from '../base/config/paths.ts';
import { nearestFew } from '../base/nearest.ts';
import { currentUser } from '../base/user.ts';

export interface FailedCommand {
  readonly exitCode: number | undefined;
  /** The last part of what it printed on stderr. */
  readonly stderr: string;
  readonly directory: string;
  readonly path: string;
  /** What is outside is then none of the command's business. */
  readonly isSandboxed: boolean;
}

export function hintFor(failed: FailedCommand): string | undefined {
  const missing = missingCommand(failed);
  if (missing !== undefined) return hintForMissing(missing, failed);
  const denied = deniedPath(failed);
  return denied === undefined ? undefined : hintForDenied(denied, failed);
}

/** True where a command leaves something running with "&" and does not wait for it. */
export function leavesRunning(command: string): boolean {
  const unquoted = command
    .replaceAll(/<<-?\s*['"]?(\w+)['"]?[\s\S]*?\n\s*\1\b/g, '')
    .replaceAll(/'[^']*'|"(?:[^"\\]|\\.)*"|\\./g, '')
    .replaceAll(/\(\([\s\S]*?\)\)|(?:^|\s)#.*$/gm, '');
  return /(?:^|[^&>|<;])&(?![&>|])/.test(unquoted) && !/\bwait\b/.test(unquoted);
}

/** bash, dash, zsh, fish and busybox each say it in their own order; `env` and `xargs` in a fourth. */
const NOT_FOUND: readonly RegExp[] = [
  /command not found: (\S+)\s*$/m,
  /(?:^|: |line \d+: )([^\s:]+): (?:command )?not found\s*$/m,
  /Unknown command:? ['"‘“]?([^\s'"’”]+)/m,
  /(?:env|xargs|nohup|timeout|nice): ['"‘“]?([^\s'"’”:]+)['"’”]?: No such file or directory/m,
];

function missingCommand({ exitCode, stderr }: FailedCommand): string | undefined {
  if (exitCode !== 127) return undefined;
  for (const pattern of NOT_FOUND) {
    const name = pattern.exec(stderr)?.[1];
    if (name !== undefined && name.length < 100) return name;
  }
  return undefined;
}

function deniedPath({ exitCode, stderr }: FailedCommand): string | undefined {
  if (exitCode === 0 || exitCode === undefined) return undefined;
  const path = /(?:^|: |['"‘])([^:\n'"’]+?)['"’]?: Permission denied/im.exec(stderr)?.[1];
  return path === undefined || path.length > 500 ? undefined : path;
}

function hintForMissing(name: string, { directory, path, isSandboxed }: FailedCommand): string {
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

/** Directories that a login shell often has and a server's PATH has not. */
function likelyPlaces(directory: string): string[] {
  const home = homedir();
  return [
    join(directory, 'node_modules/.bin'),
    join(directory, '.venv/bin'),
    join(directory, 'venv/bin'),
    directory,
    join(home, '.local/bin'),
    join(home, 'bin'),
    join(home, '.cargo/bin'),
    join(home, 'go/bin'),
    join(home, '.deno/bin'),
    join(home, '.bun/bin'),
    '/usr/local/bin',
    '/usr/local/go/bin',
    '/opt/homebrew/bin',
    '/snap/bin',
    '/usr/local/sbin',
    '/usr/sbin',
    '/sbin',
  ];
}

function commandsOn(path: string): Set<string> {
  const names = new Set<string>();
  for (const directory of path.split(':')) {
    if (!isAbsolute(directory)) continue;
    try {
      for (const name of readdirSync(directory)) names.add(name);
    } catch {
      // A directory on PATH that is not there is no news.
    }
  }
  return names;
}

function hintForDenied(
  typed: string,
  { directory, exitCode, isSandboxed }: FailedCommand,
): string | undefined {
  const path = resolve(directory, typed.trim());
  if (isSandboxed && !isInside(path, directory)) return undefined;
  const user = currentUser();
  let about: ReturnType<typeof statSync>;
  try {
    about = statSync(path);
  } catch {
    // A word before the reason is more often the program's name than a file.
    return typed.includes('/')
      ? `Permission denied: ${path}; the server runs as ${user.username}.`
      : undefined;
  }
  const mode = (about.mode & 0o7777).toString(8).padStart(4, '0');
  const whose = `${path} belongs to uid ${about.uid}, gid ${about.gid} (mode ${mode}); the command ran as ${user.username} (uid ${user.uid}).`;
  if (exitCode === 126 && about.isFile() && !isExecutable(path)) {
    return `${whose} It is not executable: run it through its interpreter (sh ${typed}), or chmod +x it.`;
  }
  if (exitCode === 126 && about.isDirectory()) return `${path} is a directory, not a program.`;
  return `${whose} Use a path that this user can access.`;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
