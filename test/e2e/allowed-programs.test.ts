/** Where only the allowed programs exist (`production`, `minimal`), those do their work. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lacks, needs } from '../setup/needs.ts';
import { createDeveloper, type Developer, works } from './support/developer.ts';
import type { Product } from './support/product.ts';

const isInSystem = (name: string): boolean =>
  ['/usr/local/bin', '/usr/bin'].some((place) => existsSync(join(place, name)));
const cannot = lacks(process.platform !== 'linux', 'bubblewrap is for Linux') || needs('bwrap');

describe.skipIf(cannot).each(['production', 'minimal'])('%s', (preset) => {
  let developer: Developer;
  let product: Product;
  beforeAll(async () => {
    developer = createDeveloper();
    product = await developer.open(
      `preset = "${preset}"
allowed_commands = ["npm", "npx", "corepack", "node", "python3", "awk", "man"]`,
    );
  });
  afterAll(() => developer?.remove());

  // Elsewhere (nvm) no program is there inside.
  const noNode = lacks(!isInSystem('npm') || !isInSystem('node'), 'no npm in the directories of the system');

  test.skipIf(noNode)('npm runs the tests of a project', async () => {
    const project = { name: 'tiny', version: '1.0.0', scripts: { test: 'node check.js' } };
    writeFileSync(join(developer.work, 'package.json'), JSON.stringify(project));
    writeFileSync(join(developer.work, 'check.js'), "require('fs').writeFileSync('checked', 'by node\\n')");
    await works(product, 'npm test');
    expect(readFileSync(join(developer.work, 'checked'), 'utf8')).toBe('by node\n');
  });

  test.skipIf(noNode)('npm and npx say which they are', async () => {
    for (const name of ['npm', 'npx'])
      expect((await works(product, `${name} --version`)).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test.skipIf(needs('python3'))('a program that is a link to another name finds its library', async () => {
    const { stdout } = await works(product, "python3 -c 'import json, sys; print(json.dumps([1]))'");
    expect(stdout).toBe('[1]\n');
    expect((await works(product, "awk 'BEGIN { print 6 * 7 }'")).stdout).toBe('42\n');
  });

  // Not every Node has it.
  test.skipIf(!isInSystem('corepack') || noNode)('corepack finds the rest of itself', async () => {
    expect((await works(product, 'corepack --version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test.skipIf(!isInSystem('man'))('man finds its own libraries', async () => {
    expect((await works(product, 'man --version')).stdout).toMatch(/^man /);
  });
});
