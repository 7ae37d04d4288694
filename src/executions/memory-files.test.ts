import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { createFileLook, readUnmappedBytes } from './memory-files.ts';
import { findProcess, type ProcessEntry } from './process-table.ts';

const MIB = 1024 ** 2;
const HOLDER = `
import mmap, os, sys
fd = os.memfd_create("held")
os.ftruncate(fd, 20 << 20)
m = mmap.mmap(fd, 20 << 20)
for i in range(0, len(m), 4096): m[i] = 1
print("held", flush=True)
sys.stdin.read()`;

const entryOf = (pid = 0): ProcessEntry => findProcess(pid) as ProcessEntry;

test('a file in memory counts until the last process that had it open has ended', async () => {
  const holder = spawn('python3', ['-c', HOLDER], { stdio: ['pipe', 'pipe', 'ignore'] });
  await once(holder.stdout, 'data');
  const seen = entryOf(holder.pid);
  const other = entryOf(process.pid);
  const look = createFileLook();
  const { bytes } = look([seen, other]);
  expect(bytes).toBe(20 * MIB);
  expect(readUnmappedBytes([seen, other], bytes)).toBe(0);
  const closed = once(holder, 'close');
  holder.kill('SIGKILL');
  await closed;
  // It had mapped the file, and counts with what it had when it was seen.
  expect(readUnmappedBytes([seen, other], bytes)).toBe(0);
  // Not looked at again yet.
  expect(look([other]).bytes).toBe(0);
});
