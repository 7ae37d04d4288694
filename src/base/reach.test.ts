import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { lacks } from '../../test/setup/needs.ts';
import { canEnter } from './reach.ts';

const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;

function createDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'reach-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  mkdirSync(join(directory, 'a/b'), { recursive: true });
  return directory;
}

test('is what the bits of every directory on the way say', () => {
  const directory = createDirectory();
  expect(canEnter(join(directory, 'a/b'))).toBe(true);
  chmodSync(join(directory, 'a'), 0o600);
  onTestFinished(() => chmodSync(join(directory, 'a'), 0o700));
  expect(canEnter(join(directory, 'a/b'))).toBe(false);
  expect(canEnter(directory)).toBe(true);
});

test('is not where nothing is', () => {
  expect(canEnter(join(createDirectory(), 'gone'))).toBe(false);
});

test
  .skipIf(lacks(!isRoot, 'only root can give a directory away'))
  .for<[mode: number, gid: number, expected: boolean]>([
    [0o700, NOBODY, false],
    [0o711, NOBODY, true],
    [0o710, NOBODY, false],
    [0o710, 0, true],
    [0o701, 0, false],
  ])('of another user’s with %o and group %i: %j', ([mode, gid, expected]) => {
  const inner = join(createDirectory(), 'a');
  chmodSync(inner, mode);
  chownSync(inner, NOBODY, gid);
  expect(canEnter(join(inner, 'b'))).toBe(expected);
});
