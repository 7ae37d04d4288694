import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { lacks, needs } from '../../test/setup/needs.ts';
import { findProcess, listChildren, listDescendants } from './process-table.ts';
import { createCount, createLowerBound, measureProportional } from './proportional.ts';
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
    const { bytes } = await measureProportional(entries);
    expect(bytes).toBeGreaterThan(60 * MIB);
    expect(bytes).toBeLessThan(120 * MIB);
    parent.stdin.end();
    await closed;
    expect(await measureProportional(entries)).toMatchObject({ bytes: 0 });
  },
);

/** Two of what was forked and shares 60 MiB write 20 MiB of their own; another is a program of its own with 30. */
const GROWS = `
import os, subprocess, sys
held = bytearray(b'x') * (60 << 20)
def wait():
    os.write(1, b'step')
    sys.stdin.readline()
children = []
for _ in range(2):
    r, w = os.pipe()
    back_r, back_w = os.pipe()
    if os.fork() == 0:
        os.read(r, 1)
        own = bytearray(b'y') * (20 << 20)
        os.write(back_w, b'x')
        os.read(r, 1)
        os._exit(0)
    children.append((w, back_r))
wait()
for w, back in children: os.write(w, b'x'); os.read(back, 1)
other = subprocess.Popen([sys.executable, '-c', 'import sys; own = bytearray(b"z") * (30 << 20); print(flush=True); sys.stdin.read()'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
other.stdout.readline()
wait()
other.stdin.close()
other.wait()
for w, back in children: os.write(w, b'x')
for _ in children: os.wait()
`;

test.skipIf(lacks(process.platform !== 'linux', 'the kernel tells it on Linux') || needs('python3'))(
  'what is certain without the kernel’s count: what one has, what copies have grown by, and other programs',
  async () => {
    const parent = spawn('python3', ['-c', GROWS], { stdio: ['pipe', 'pipe', 'inherit'] });
    const closed = once(parent, 'close');
    const look = () => {
      const entry = findProcess(parent.pid ?? 0);
      return (entry && listDescendants([entry])) ?? [];
    };
    const measure = createLowerBound();
    await once(parent.stdout, 'data');
    const before = measure(look(), true);
    expect(before).toBeGreaterThan(60 * MIB);
    expect(before).toBeLessThan(90 * MIB);
    parent.stdin.write('\n');
    await once(parent.stdout, 'data');
    const entries = look();
    expect(entries).toHaveLength(4);
    const after = measure(entries, true);
    expect(after - before).toBeGreaterThan((40 + 30 - 15) * MIB);
    expect(after).toBeLessThan((await measureProportional(entries)).bytes);
    parent.stdin.end('\n');
    await closed;
    expect(measure(look(), true)).toBe(0);
  },
);

/** Four that were forked grow from the moment on in which they are first seen, each to 80 MiB. */
const TOGETHER = `
import os
for _ in range(3):
    if os.fork() == 0: break
held = bytearray(b'x') * (40 << 20)
os.write(1, b'a')
os.read(0, 1)
more = bytearray(b'y') * (40 << 20)
os.write(1, b'b')
os.read(0, 1)
`;

test.skipIf(lacks(process.platform !== 'linux', 'the kernel tells it on Linux') || needs('python3'))(
  'what was counted once is known at each later look, with what they have grown by, until one has ended',
  async () => {
    const parent = spawn('python3', ['-u', '-c', TOGETHER], { stdio: ['pipe', 'pipe', 'inherit'] });
    const closed = once(parent, 'close');
    let said = '';
    parent.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    const look = () => {
      const entry = findProcess(parent.pid ?? 0);
      return (entry && listDescendants([entry])) ?? [];
    };
    const count = createCount();
    await expect.poll(() => said, { timeout: 30_000 }).toBe('aaaa');
    await expect.poll(() => count(look())).toBeGreaterThan(160 * MIB);
    expect(count(look())).toBeLessThan(240 * MIB);
    // A count that goes on meanwhile would leave out what they grow by.
    await sleep(300);
    parent.stdin.write('\n\n\n\n');
    await expect.poll(() => said, { timeout: 30_000 }).toBe('aaaabbbb');
    // At once, without another count.
    expect(count(look())).toBeGreaterThan(310 * MIB);
    const [, child] = look();
    if (child !== undefined) process.kill(child.pid, 'SIGKILL');
    await expect.poll(() => look().filter(({ isZombie }) => !isZombie)).toHaveLength(3);
    const left = look().filter(({ isZombie }) => !isZombie);
    expect(count(left)).toBe(0);
    await expect.poll(() => count(left)).toBeGreaterThan(230 * MIB);
    parent.stdin.end();
    await closed;
  },
);
