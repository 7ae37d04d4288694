/**
 * Which settings files there are. The one that the operator names replaces those that are searched for.
 */
import { lstatSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { attempt, succeeds } from '../attempt.ts';
import type { SettingFlags } from './kinds.ts';
import { type Mistakes, mistake } from './layers.ts';
import { locatePath, realPathOf, userConfigDirectory } from './paths.ts';
import type { SettingsFile } from './toml-file.ts';

export const SETTINGS_FILE_NAME = 'mcp-shell-server.toml';

export function findSettingsFiles(options: {
  flags: SettingFlags;
  environment: Readonly<Record<string, string>>;
  cwd: string;
  homedir: string;
  mistakes: Mistakes;
}): SettingsFile[] {
  const { flags, environment, cwd, homedir, mistakes } = options;
  const named = flags.config ?? environment['MCP_SHELL_CONFIG'];
  if (named !== undefined) {
    const typed = named.trim();
    if (typed !== '') return [{ path: locatePath(typed, { directory: cwd, homedir }), source: 'file' }];
    const where = flags.config === undefined ? 'MCP_SHELL_CONFIG' : '--config';
    mistakes.push(mistake('config', 'must not be empty; leave it out instead', where));
    return [];
  }
  const files: SettingsFile[] = [];
  const user = join(userConfigDirectory({ environment, homedir }), SETTINGS_FILE_NAME);
  const project = findInProject(cwd, homedir);
  // A server that starts inside the configuration directory finds the user's own file twice.
  if (project !== undefined && realPathOf(project) !== realPathOf(user)) {
    files.push({ path: project, source: 'project' });
  }
  if (isSeen(user)) files.push({ path: user, source: 'user' });
  return files;
}

/**
 * In the start directory or a parent; the repository's root and the home directory are the last to be looked at. A
 * parent in which anybody may write, such as /tmp, belongs to no project: what lies there may be another user's trap
 * (git had that as CVE-2022-24765).
 */
function findInProject(cwd: string, homedir: string): string | undefined {
  const home = realPathOf(homedir);
  for (let directory = cwd; ; directory = dirname(directory)) {
    if (directory !== cwd && isWritableByAll(directory)) return undefined;
    const path = join(directory, SETTINGS_FILE_NAME);
    if (isSeen(path)) return path;
    const isLast =
      isSeen(join(directory, '.git')) || realPathOf(directory) === home || dirname(directory) === directory;
    if (isLast) return undefined;
  }
}

/**
 * What is there and cannot be read is a mistake, since it may hold restrictions; a broken link is there. What cannot
 * even be seen is not there: under another user, $HOME is often a directory that the server may not enter.
 */
const isSeen = (path: string): boolean => succeeds(() => lstatSync(path));

function isWritableByAll(directory: string): boolean {
  // Windows has no such bit, and Node sets it for every directory there.
  if (process.platform === 'win32') return false;
  return attempt(() => (statSync(directory).mode & 0o002) !== 0) ?? true;
}
