import { closeSync, mkdtempSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createPipes } from './pipes.ts';

test('are made anew where their directory was removed', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'pipes-'));
  const pipes = createPipes(join(parent, 'pipes'), 8);
  onTestFinished(() => {
    pipes.dispose();
    rmSync(parent, { recursive: true, force: true });
  });
  const first = await pipes.takeInput();
  rmSync(join(parent, 'pipes'), { recursive: true });
  const second = await pipes.takeInput();
  for (const { readFd, writeFd } of [first, second]) {
    writeSync(writeFd, 'through');
    const buffer = Buffer.alloc(16);
    expect(buffer.toString('utf8', 0, readSync(readFd, buffer))).toBe('through');
    closeSync(readFd);
    closeSync(writeFd);
  }
});
