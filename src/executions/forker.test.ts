import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FORKER } from '../../test/support/root.ts';
import { createForker } from './forker.ts';

/** What C libraries do each in its own way. */
test.each([
  ['by its path', 'exit 3', (path: string) => path, { code: 3 }],
  ['found on the PATH of its own environment', '#!/bin/sh\nexit 4', () => 'prog', { code: 4 }],
  ['with its words', 'exit "$1"', (path: string) => path, { code: 5 }],
  [
    'that is found nowhere',
    'exit 6',
    () => 'no-such-program',
    { message: expect.stringContaining('there is no program') },
  ],
])('starts a program %s', async (_, text, nameOf, expected) => {
  const directory = mkdtempSync(join(tmpdir(), 'forker-'));
  const forker = createForker(FORKER);
  onTestFinished(async () => {
    await forker.dispose();
    rmSync(directory, { recursive: true, force: true });
  });
  const path = join(directory, 'prog');
  writeFileSync(path, `${text}\n`);
  chmodSync(path, 0o755);
  const started = forker.start({
    argv: [nameOf(path), '5'],
    environment: { PATH: `/nowhere:${directory}` },
    directory: '/',
    descriptors: [],
    groups: [],
    mustJoin: false,
    limits: {},
  });
  const ended = started.then(({ exited }) => exited).catch((error: Error) => error);
  expect(await ended).toMatchObject(expected);
});
