import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findInstallation } from './installation.ts';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(realpathSync(tmpdir()), 'installation-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function put(path: string): string {
  const file = join(directory, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '');
  return file;
}

const find = (cli: string): string[] => findInstallation(pathToFileURL(put(cli)).href, '/bin/node');

test('of an installed package all of it, so that nothing can be put where Node looks first', () => {
  put('project/node_modules/@lydell/node-pty/index.js');
  expect(find('project/node_modules/mcp-shell-server/dist/cli.js')).toEqual([
    join(directory, 'project/node_modules/mcp-shell-server'),
    '/bin/node',
    join(directory, 'project/node_modules/@lydell'),
  ]);
});

test('of a checkout the bundle alone, and the native module beside its sources', () => {
  put('checkout/node_modules/@lydell/node-pty/index.js');
  expect(find('checkout/dist/cli.js')).toEqual([
    join(directory, 'checkout/dist'),
    '/bin/node',
    join(directory, 'checkout/node_modules/@lydell'),
  ]);
});

test('without the native module there is nothing of it to keep', () => {
  expect(find('app/dist/cli.js')).toEqual([join(directory, 'app/dist'), '/bin/node']);
});
