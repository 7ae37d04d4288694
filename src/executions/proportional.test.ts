import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { lacks, needs } from '../../test/setup/needs.ts';
import { findProcess, listChildren } from './process-table.ts';
import { measureProportional } from './proportional.ts';
import { sumResident } from './usage.ts';

const MIB = 1024 * 1024;
const FORKS = `
import os, sys
held = bytearray(b'x') * (60 << 20)
for _ in range(3):
    if os.fork() == 0:
        sys.stdin.read()
        os._exit(0)
print('up', flush=True)
sys.stdin.read()
for _ in range(3): os.wait()
`;

test.skipIf(lacks(process.platform !== 'linux', 'the kernel tells it on Linux') || needs('python3'))(
  'what forked processes share is counted once, and who has ended is not counted',
  async () => {
    const parent = spawn('python3', ['-c', FORKS], { stdio: ['pipe', 'pipe', 'inherit'] });
    const closed = once(parent, 'close');
    await once(parent.stdout, 'data');
    const pid = parent.pid ?? 0;
    const entries = [pid, ...(listChildren(pid) ?? [])].flatMap((found) => findProcess(found) ?? []);
    expect(entries).toHaveLength(4);
    expect(sumResident(entries)).toBeGreaterThan(240 * MIB);
    const bytes = await measureProportional(entries);
    expect(bytes).toBeGreaterThan(60 * MIB);
    expect(bytes).toBeLessThan(120 * MIB);
    parent.stdin.end();
    await closed;
    expect(await measureProportional(entries)).toBe(0);
  },
);
