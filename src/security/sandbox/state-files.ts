/** Directories and files that the sandbox needs on the host, and where the server's own are. */
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { makePrivateDirectory, writeFileWhole } from '../../base/files.ts';
import type { Settings } from '../../base/settings.ts';
import { list } from '../list.ts';
import { kindOf } from './host-files.ts';
import { PRIVATE_IN_SYSTEM } from './private-paths.ts';
import { CACHES_TO_MAKE, OWN_CACHE, PRIVATE_CACHES } from './protected-paths.ts';
import type { SandboxOptions } from './sandbox-options.ts';
import type { SurveyOptions } from './survey.ts';

export function surveyOf({ settings }: SandboxOptions, home: string): SurveyOptions {
  const { security } = settings;
  const workspace = [...security.workspace, ...security.writablePaths].map(realPathOf);
  const hidden = list('/proc /sys /dev /run /tmp /var/tmp /usr /nix /gnu /snap /lib /bin');
  return {
    roots: security.root === 'host' ? [home, '/', ...ancestors(workspace)] : [],
    workspace,
    home,
    skip: [
      ...hidden,
      ...PRIVATE_IN_SYSTEM.filter((path) => !isInside(home, path)),
      settings.stateDir,
      ...workspace,
    ],
  };
}

/** What lies beside the workspace is the nearest to it. */
function ancestors(workspace: readonly string[]): string[] {
  return [...new Set(workspace.map((path) => join(path, '..')))].filter((path) => path !== '/tmp');
}

export function ownPathsOf(settings: Settings, stateDirectory: string): string[] {
  return [...settings.files.map(realPathOf), stateDirectory];
}

export function tmpDirectoryOf(stateDirectory: string, principal: string): string {
  return join(stateDirectory, 'tmp', hash('sha256', principal).slice(0, 16));
}

export function makeTmp(directory: string): string {
  makePrivateDirectory(directory);
  const caches = PRIVATE_CACHES.map((cache) => cache.replaceAll('/', '-'));
  for (const name of ['tmp', 'var-tmp', OWN_CACHE, ...caches])
    if (!existsSync(join(directory, name)))
      mkdirSync(join(directory, name), { recursive: true, mode: 0o700 });
  return directory;
}

/** A directory in what is another inside; made there, and no link, whatever a command put in its place. */
export function makePlain(directory: string): string {
  if (kindOf(directory) !== 'directory') {
    rmSync(directory, { force: true });
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  }
  return directory;
}

export function makeEmptyFile(stateDirectory: string): string {
  const path = join(stateDirectory, 'empty');
  if (kindOf(path) !== 'file') {
    makePrivateDirectory(stateDirectory);
    writeFileWhole(path, '');
  }
  return path;
}

/** As npm and others would on their first use; inside they could not. */
export function makeCaches({ settings, log }: SandboxOptions, home: string): void {
  if (!settings.security.hasToolCaches || kindOf(home) !== 'directory') return;
  for (const [there, name] of CACHES_TO_MAKE) {
    try {
      const isWanted = kindOf(join(home, there)) === 'directory' && kindOf(join(home, name)) === undefined;
      if (isWanted) mkdirSync(join(home, name), { recursive: true });
    } catch {
      log.debug('a cache directory could not be made', { name });
    }
  }
}
