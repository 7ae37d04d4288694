/** For what may be gone or refused at any moment, where it does not matter why. */
import { readFileSync } from 'node:fs';

/** What it returns; undefined where it throws. */
export function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}

export function succeeds(run: () => unknown): boolean {
  try {
    run();
    return true;
  } catch {
    return false;
  }
}

/** The value of a JSON file; undefined where there is none that can be read. */
export const readJson = (path: string): unknown =>
  attempt(() => JSON.parse(readFileSync(path, 'utf8')) as unknown);
