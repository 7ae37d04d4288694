import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makePrivateDirectory, removeTree, writeFileWhole } from './files.ts';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(realpathSync(tmpdir()), 'files-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test('a directory is made with its parents, for its owner only, and may be there already', () => {
  const path = join(directory, 'a/b/c');
  makePrivateDirectory(path);
  makePrivateDirectory(path);
  expect([join(directory, 'a'), path].map((each) => statSync(each).mode & 0o777)).toEqual([0o700, 0o700]);
  symlinkSync('a', join(directory, 'link'));
  makePrivateDirectory(join(directory, 'link/b/d'));
  expect(readdirSync(join(directory, 'a/b')).toSorted()).toEqual(['c', 'd']);
});

test('a place where none can be made is an error, and not a wait for ever', () => {
  writeFileSync(join(directory, 'file'), '');
  expect(() => makePrivateDirectory(join(directory, 'file/below'))).toThrow(/ENOTDIR|EEXIST/);
});

test.runIf(process.platform === 'linux')('below /proc, where Node itself would try for ever', () => {
  expect(() => makePrivateDirectory('/proc/no/such')).toThrow(/ENOENT|EACCES/);
});

test('a file is written whole, and what fails leaves nothing behind', () => {
  const path = join(directory, 'file');
  writeFileWhole(path, 'one');
  writeFileWhole(path, 'two');
  expect(readFileSync(path, 'utf8')).toBe('two');
  expect(() => writeFileWhole(join(directory, 'no/file'), 'x')).toThrow(/ENOENT/);
  expect(readdirSync(directory)).toEqual(['file']);
});

test('a directory is removed while files are created there', async () => {
  const path = join(directory, 'busy');
  mkdirSync(path);
  const busy = spawn(
    '/bin/sh',
    ['-c', 'i=0; while echo x > "$0/$i" && [ $i -lt 3000 ]; do i=$((i+1)); done', path],
    {
      stdio: ['ignore', 'ignore', 'ignore'],
    },
  );
  await expect.poll(() => existsSync(join(path, '10'))).toBe(true);
  removeTree(path);
  expect(existsSync(path)).toBe(false);
  if (busy.exitCode === null) await once(busy, 'exit');
});
