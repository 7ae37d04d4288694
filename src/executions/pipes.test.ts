import { closeSync, mkdtempSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createPipes } from './pipes.ts';
import { createSpawner } from './spawner.ts';

test('are made anew where their directory was removed', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'pipes-'));
  const pipes = createPipes(join(parent, 'pipes'), createSpawner(), 8);
  onTestFinished(() => {
    pipes.dispose();
    rmSync(parent, { recursive: true, force: true });
  });
  const first = await pipes.takeHandoff();
  rmSync(join(parent, 'pipes'), { recursive: true });
  const second = await pipes.takeHandoff();
  for (const { fd } of [first, second]) {
    writeSync(fd, 'through');
    const buffer = Buffer.alloc(16);
    expect(buffer.toString('utf8', 0, readSync(fd, buffer))).toBe('through');
    closeSync(fd);
  }
});
