/**
 * What this server runs from: a command that could change it would run outside the sandbox at the next start. The bundle is
 * not all of it: node-pty is found by Node's own search, which looks in every `node_modules` from the bundle upwards.
 */
import { createRequire } from 'node:module';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { attempt } from './attempt.ts';

const NATIVE = '@lydell/node-pty';

/** Directories and files, for the program that lies at `cliUrl`. */
export function findInstallation(cliUrl: string, nodePath: string): string[] {
  const bundle = dirname(fileURLToPath(cliUrl));
  const directory = dirname(bundle);
  // A checkout may be a workspace; an installed package is not.
  const isInstalled = basename(dirname(directory)) === 'node_modules';
  // Installed without it, there are no terminals.
  const native = attempt(() => createRequire(cliUrl).resolve(NATIVE));
  // The directory of its scope, in which the part for this platform lies as well.
  const scope = native === undefined ? [] : [dirname(dirname(native))];
  return [isInstalled ? directory : bundle, nodePath, ...scope];
}
