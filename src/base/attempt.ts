/** For what may be gone or refused at any moment, where it does not matter why. */
import { readFileSync } from 'node:fs';

/** What it returns; undefined where it throws. */
export const attempt = <T>(run: () => T): T | undefined => attemptOr(run, () => undefined);

export const succeeds = (run: () => unknown): boolean =>
  attemptOr(
    () => {
      run();
      return true;
    },
    () => false,
  );

/** What it returns, or what is made of the error, which has no stack: nobody reads it, and it is most of the work. */
export function attemptOr<T, U>(run: () => T, failed: (error: unknown) => U): T | U {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return run();
  } catch (error) {
    return failed(error);
  } finally {
    Error.stackTraceLimit = limit;
  }
}

/** The value of a JSON file; undefined where there is none that can be read. */
export const readJson = (path: string): unknown =>
  attempt(() => JSON.parse(readFileSync(path, 'utf8')) as unknown);
