/**
 * Where the operator's page is served for a state directory: a file for each program that serves one, whose time says that
 * it still does. The address has no secret in it: a page without a session shows nothing.
 */
import { readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { makePrivateDirectory, writeFileWhole } from '../../base/files.ts';
import { randomText } from '../../base/ids.ts';
import { questionDirectory } from './question-store.ts';

const ALIVE_MS = 10_000;
const NAME = /^page-\w+$/;
/** Nothing but a page on this machine is announced. */
const ADDRESS = /^http:\/\/127\.0\.0\.1:\d{1,5}\/$/;

/** Until it is closed. */
export function announcePage(stateDir: string, address: string): { close(): void } {
  const directory = questionDirectory(stateDir);
  const file = join(directory, `page-${randomText()}`);
  const announce = (): void => {
    try {
      utimesSync(file, new Date(), new Date());
    } catch {
      makePrivateDirectory(directory);
      writeFileWhole(file, address);
    }
  };
  announce();
  const timer = setInterval(announce, ALIVE_MS / 5).unref();
  return {
    close() {
      clearInterval(timer);
      rmSync(file, { force: true });
    },
  };
}

/** The newest that is still served; undefined where there is none. */
export function findPage(directory: string, nowMs: number): string | undefined {
  try {
    const found = readdirSync(directory)
      .filter((name) => NAME.test(name))
      .map((name) => join(directory, name))
      .map((path) => ({ path, atMs: statSync(path).mtimeMs }))
      .filter(({ atMs }) => Math.abs(nowMs - atMs) < ALIVE_MS)
      .toSorted((one, other) => other.atMs - one.atMs);
    const address = found[0] === undefined ? '' : readFileSync(found[0].path, 'utf8');
    return ADDRESS.test(address) ? address : undefined;
  } catch {
    // No directory, or one that has just stopped.
    return undefined;
  }
}
