import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { findProcess, isAlive } from './process-table.ts';
import { untilEnded, untilReaped } from './until-gone.ts';

test('a zombie that its parent does not reap counts as ended', async () => {
  // The shell's child becomes one of sleep, which waits for no child.
  const parent = spawn('/bin/sh', ['-c', 'sleep 0.1 & echo $!; exec sleep 300'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    const [data] = (await once(parent.stdout, 'data')) as [Buffer];
    const zombie = findProcess(Number(String(data)));
    if (zombie === undefined) throw new Error('it is gone');
    await expect.poll(() => isAlive(zombie), { timeout: 30_000 }).toBe(false);
    expect(findProcess(zombie.pid)?.startTime).toBe(zombie.startTime);
    const ways = [untilReaped(zombie).then(() => 'reaped'), untilEnded(zombie).then(() => 'ended')];
    expect(await Promise.race(ways)).toBe('ended');
    await Promise.all(ways);
  } finally {
    parent.kill('SIGKILL');
    await once(parent, 'exit');
  }
});
