/** Where the project is, found by its package.json: bundled programs lie elsewhere than their sources. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = findRoot(dirname(fileURLToPath(import.meta.url)));

function findRoot(directory: string): string {
  if (existsSync(join(directory, 'package.json'))) return directory;
  if (dirname(directory) === directory) throw new Error('There is no package.json above this file.');
  return findRoot(dirname(directory));
}

/** The forker's program, as the build leaves it for this machine. */
export const FORKER = join(ROOT, `dist/forker-${process.platform}-${process.arch}`);
