/**
 * Tests that need something this machine may lack: `test.skipIf(needs('zsh'))('…', …)`. The reason is printed. CI, which
 * installs everything, runs them as root, where there is no skipping, and once more as an ordinary user, who lacks what
 * only root has.
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type packagePrograms from '../../scripts/package-programs.json';
import type programs from '../../scripts/programs.json';

/** What scripts/programs.mjs installs. */
type Program = keyof typeof programs | keyof typeof packagePrograms;

/** True where a program is missing and the test has to be skipped. */
export function needs(...names: Program[]): boolean {
  return names.filter((name) => lacks(!isOnPath(name), `${name} is not installed`)).length > 0;
}

/** The same for anything else: `test.skipIf(lacks(!canNest, 'no user namespaces here'))`. */
export function lacks(isMissing: boolean, reason: string): boolean {
  if (!isMissing) return false;
  if (isCi() && process.getuid?.() === 0) throw new Error(`${reason}; in CI nothing is skipped for root`);
  process.stderr.write(`Skipping tests: ${reason}.\n`);
  return true;
}

function isCi(): boolean {
  return ![undefined, '', '0', 'false'].includes(process.env.CI);
}

function isOnPath(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
