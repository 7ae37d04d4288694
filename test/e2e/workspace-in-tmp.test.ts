/**
 * A workspace below /tmp, as scratch directories and CI have theirs. Commands have another /tmp, and yet the whole
 * workspace is the real one, with what is protected in it.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lacks, needs } from '../setup/needs.ts';
import { works } from './support/developer.ts';
import { createPlace, type Place, type Product } from './support/product.ts';
import { openProduct } from './support/product-here.ts';

const cannot =
  lacks(process.platform !== 'linux', 'bubblewrap is for Linux') ||
  lacks(!/^\/(?:var\/)?tmp(?:\/|$)/.test(tmpdir()), 'temporary files are not in /tmp') ||
  needs('bwrap', 'git');

const COMMIT = 'git -c user.name=me -c user.email=me@example.com commit -q --allow-empty -m';

let place: Place;
beforeEach(() => {
  place = createPlace();
});
afterEach(() => place.remove());

/** What is done with it by one server after the other. */
async function withServer(use: (product: Product) => Promise<void>): Promise<void> {
  const product = await openProduct({ place });
  try {
    await use(product);
  } finally {
    await product.close();
  }
}

/** Outside, where nothing is covered. */
const subjects = (repository: string): string[] =>
  execFileSync('git', ['-C', repository, 'log', '--format=%s'], { encoding: 'utf8' }).trim().split('\n');

describe.skipIf(cannot)('a workspace below /tmp', () => {
  test('has repositories that were there, and new ones, that git works in', async () => {
    execFileSync('git', ['init', '-q', join(place.work, 'old')]);
    await withServer(async (product) => {
      await works(product, 'git init -q new && git init -q deep/er');
      for (const name of ['old', 'new', 'deep/er']) {
        const working_directory = join(place.work, name);
        await works(product, 'echo one > file && git add file', { working_directory });
        await works(product, `${COMMIT} first`, { working_directory });
        expect((await works(product, 'git status --porcelain', { working_directory })).stdout).toBe('');
      }
    });
    await withServer(async (product) => {
      for (const name of ['old', 'new', 'deep/er']) {
        const working_directory = join(place.work, name);
        expect((await works(product, 'git status --porcelain', { working_directory })).stdout).toBe('');
        await works(product, `${COMMIT} second`, { working_directory });
        expect(subjects(working_directory)).toEqual(['second', 'first']);
        const { data } = await product.execute('git config x.y z', { working_directory });
        expect(data.exit_code, 'the configuration is protected').not.toBe(0);
      }
    });
  });

  test('that is a repository itself is one for git', async () => {
    await withServer(async (product) => {
      await works(product, 'git init -q');
      await works(product, 'git status');
      await works(product, `${COMMIT} first`);
    });
    await withServer(async (product) => {
      await works(product, 'git status');
      await works(product, `${COMMIT} second`);
    });
    expect(subjects(place.work)).toEqual(['second', 'first']);
  });

  test('has what lies beside something protected, and keeps what is put there', async () => {
    const KEPT = { '.kiro': 'settings/mcp.json', node_modules: '.bin/mcp-shell-server' };
    for (const [name, kept] of Object.entries(KEPT)) {
      mkdirSync(dirname(join(place.work, name, kept)), { recursive: true });
      writeFileSync(join(place.work, name, kept), '{}');
      writeFileSync(join(place.work, name, 'beside'), 'there before\n');
    }
    for (const round of ['first', 'second']) {
      await withServer(async (product) => {
        for (const [name, kept] of Object.entries(KEPT)) {
          const { stdout } = await works(product, `cat ${name}/beside; echo ${round} > ${name}/${round}`);
          expect(stdout).toBe('there before\n');
          const { data } = await product.execute(`echo changed > ${name}/${kept}`);
          expect(data.exit_code).not.toBe(0);
        }
      });
    }
    for (const [name, kept] of Object.entries(KEPT)) {
      for (const round of ['first', 'second'])
        expect(readFileSync(join(place.work, name, round), 'utf8')).toBe(`${round}\n`);
      expect(readFileSync(join(place.work, name, kept), 'utf8')).toBe('{}');
    }
  });

  test('has nothing around it of the host’s /tmp', async () => {
    const beside = join(place.directory, '..', `beside-${Math.random().toString(36).slice(2)}`);
    await withServer(async (product) => {
      await works(product, `mkdir ${beside} && touch ${beside}/made`);
      expect(existsSync(beside)).toBe(false);
      expect((await works(product, `ls ${beside}`)).stdout).toBe('made\n');
    });
  });
});
