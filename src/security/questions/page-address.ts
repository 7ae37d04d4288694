/**
 * Where the operator's page is served for a state directory: a file for each program that serves one, whose time says that
 * it still does. The address has no secret in it: a page without a session shows nothing.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { randomText } from '../../base/ids.ts';
import { keepFresh, questionDirectory } from './question-store.ts';

const ALIVE_MS = 10_000;
const NAME = /^page-\w+$/;
/** Nothing but a page on this machine is announced. */
const ADDRESS = /^http:\/\/127\.0\.0\.1:\d{1,5}\/$/;

/** Until it is closed. */
export function announcePage(stateDir: string, address: string): { close(): void } {
  return keepFresh(join(questionDirectory(stateDir), `page-${randomText()}`), address, ALIVE_MS);
}

/** The newest that is still served; undefined where there is none. */
export function findPage(directory: string, nowMs: number): string | undefined {
  // Fails without a directory, or with one that has just stopped.
  const address = attempt(() => {
    const [newest] = readdirSync(directory)
      .filter((name) => NAME.test(name))
      .map((name) => join(directory, name))
      .map((path) => ({ path, atMs: statSync(path).mtimeMs }))
      .filter(({ atMs }) => Math.abs(nowMs - atMs) < ALIVE_MS)
      .toSorted((one, other) => other.atMs - one.atMs);
    return newest && readFileSync(newest.path, 'utf8');
  });
  return ADDRESS.test(address ?? '') ? address : undefined;
}
