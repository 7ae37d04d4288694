import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { lacks, needs } from '../../test/setup/needs.ts';
import { FORKER } from '../../test/support/root.ts';
import type { Sink } from '../outputs/types.ts';
import { createCapture } from './capture.ts';
import { createCgroups, type ExecutionGroup } from './cgroups/cgroups.ts';
import { createEnding, judge } from './ending.ts';
import { createForker } from './forker.ts';
import { createPipes } from './pipes.ts';
import { findProcess } from './process-table.ts';
import type { Outcome } from './record.ts';
import { createTree } from './tree.ts';

const cgroups = createCgroups();
/** It adopts orphans: those of other tests go elsewhere, and are nobody's suspects here. */
const spawner = createForker(FORKER);
afterAll(async () => {
  cgroups.dispose();
  await spawner.dispose();
});

interface Started {
  readonly finished: Promise<Outcome>;
  readonly printed: () => string;
}

interface Limits {
  readonly memoryLimitBytes?: number | undefined;
  readonly cpuLimitSeconds?: number;
  readonly group?: ExecutionGroup | undefined;
}

async function start(script: string, limits: Limits = {}): Promise<Started> {
  const directory = mkdtempSync(join(realpathSync(tmpdir()), 'ending-'));
  const pipes = createPipes(directory, spawner, 4);
  const chunks: Buffer[] = [];
  const sink: Sink = {
    totalBytes: () => 0,
    problem: () => undefined,
    write: (chunk) => void chunks.push(Buffer.from(chunk)),
    close: () => undefined,
  };
  const argv = ['/bin/bash', '-c', script];
  const environment = { PATH: process.env['PATH'] ?? '', MCP_SHELL_EXECUTION: 'ending-test' };
  const { group, memoryLimitBytes, cpuLimitSeconds } = limits;
  const pipe = await pipes.take();
  const capture = createCapture({ stdout: pipe, stderr: undefined, state: undefined }, pipes.turns);
  capture.copyTo(new Map([['stdout', sink]]));
  const { identity, exited, reaper } = await spawner.start({
    argv,
    environment,
    directory,
    descriptors: [undefined, pipe.end],
    groups: group?.joinFiles ?? [],
    mustJoin: group?.mustJoin ?? false,
    limits: {},
  });
  const marker = 'MCP_SHELL_EXECUTION=ending-test';
  const tree = createTree({ leader: identity, marker, group, reaper });
  const options = { memoryLimitBytes, cpuLimitSeconds, group, now: Date.now };
  const finished = createEnding({ ...capture, exited }, tree, options).finished.finally(() => {
    pipes.dispose();
    rmSync(directory, { recursive: true, force: true });
  });
  return { finished, printed: () => Buffer.concat(chunks).toString() };
}

test.for(['', '> /dev/null 2>&1'])(
  'without a cgroup, one that cleared its environment and left is named, not ended: sleep %s',
  async (redirection) => {
    const { finished, printed } = await start(
      `(env -i setsid sleep 300 ${redirection} &); sleep 0.3; echo bye; exit 2`,
    );
    const outcome = await finished;
    expect(outcome).toMatchObject({
      status: 'failed',
      exitCode: 2,
      endedLeftovers: [],
      survivors: [{ name: 'sleep' }],
    });
    expect(printed()).toBe('bye\n');
    const [survivor] = outcome.survivors;
    expect(findProcess(survivor?.pid ?? 0)?.isZombie).toBe(false);
    process.kill(survivor?.pid ?? 0, 'SIGKILL');
  },
);

const MIB = 1024 * 1024;
const BOMB = `x=$(head -c 300M /dev/zero | tr '\\0' x); echo \${#x}`;

describe.skipIf(lacks(cgroups.held().memory === undefined, 'no cgroup that holds a memory limit'))(
  'where the kernel holds the memory limit',
  () => {
    test.for([
      { name: 'the shell itself', script: `${BOMB}; echo later`, printed: '' },
      { name: 'another, with the shell waiting', script: `(${BOMB}); sleep 300; echo later`, printed: '' },
      { name: 'another, just before the end', script: `(${BOMB}) & wait $!; exit 0`, printed: '' },
    ])('an end by it is one, at whatever moment: $name', async ({ script, printed }) => {
      const memoryLimitBytes = 128 * MIB;
      const group = cgroups.create('memory', { memoryBytes: memoryLimitBytes });
      const run = await start(script, { group, memoryLimitBytes });
      const outcome = await run.finished;
      expect(outcome).toMatchObject({
        status: 'failed',
        reason: 'memory_limit',
        errorCode: 'EXECUTION_003',
        survivors: [],
      });
      expect(outcome.peakMemoryBytes).toBeGreaterThan(120 * MIB);
      expect(outcome.peakMemoryBytes).toBeLessThanOrEqual(memoryLimitBytes);
      expect(run.printed()).toBe(printed);
      expect(group?.members()).toBeUndefined();
    });

    test('one that used too much processor time while nobody looked, and ended by itself, was not ended', async () => {
      const group = cgroups.create('late', { memoryBytes: 128 * MIB });
      const busy = 'for ((n = 0; n < 200000; n++)); do :; done; exit 3';
      const { finished } = await start(busy, { group, cpuLimitSeconds: 0.05 });
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000);
      const outcome = await finished;
      expect(outcome).toMatchObject({ status: 'failed', reason: 'exit', exitCode: 3 });
      expect(outcome.cpuSeconds).toBeGreaterThan(0.05);
    });

    test('what stays below it ends as it ends, with its peak', async () => {
      const memoryLimitBytes = 128 * MIB;
      const group = cgroups.create('modest', { memoryBytes: memoryLimitBytes });
      const { finished } = await start('exit 3', { group, memoryLimitBytes });
      const outcome = await finished;
      expect(outcome).toMatchObject({ status: 'failed', reason: 'exit', exitCode: 3 });
      expect(outcome.peakMemoryBytes).toBeGreaterThan(0);
    });
  },
);

test('where it does not, the tree is measured', async () => {
  // Whatever else ends the programs in it must not leave the shell small and asleep; nor may it become its last program.
  const script = `until [ \${#x} -ge 100000000 ]; do x=$(head -c 100M /dev/zero | tr '\\0' x); done; sleep 60; true`;
  const { finished } = await start(script, { memoryLimitBytes: 60 * MIB });
  const outcome = await finished;
  expect(outcome).toMatchObject({ reason: 'memory_limit', errorCode: 'EXECUTION_003', survivors: [] });
  expect(outcome.peakMemoryBytes).toBeGreaterThan(60 * MIB);
});

describe.skipIf(needs('python3'))('of a tree that is measured', () => {
  /** `exit`, of the first thread alone: the kernel calls the process a zombie then, and shows no memory of it. */
  const leaving = (work: string): string => `exec python3 -c '
import ctypes, platform, threading, time
def work():
    kept = []
    ends = time.time() + 20
    while time.time() < ends:
        ${work}
threading.Thread(target=work).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)'`;

  test.each([
    ['memory', 'kept.append(b"x" * 4000000); time.sleep(0.01)', { memoryLimitBytes: 60 * MIB }],
    ['processor time', 'pass', { cpuLimitSeconds: 0.5 }],
  ])('one whose first thread has ended is held to its limit of %s', async (_, work, limits) => {
    const { finished } = await start(leaving(work), limits);
    expect(await finished).toMatchObject({
      reason: 'cpuLimitSeconds' in limits ? 'cpu_limit' : 'memory_limit',
      survivors: [],
    });
  });

  test('what forked processes share counts once, until they write to it', async () => {
    const script = `
import os, time
x = bytearray(b"x") * (80 << 20)
for _ in range(3):
    if os.fork() == 0:
        time.sleep(1.5)
        print("writing", flush=True)
        for i in range(0, len(x), 4096): x[i] = 1
        time.sleep(60)
time.sleep(60)`;
    const run = await start(`python3 -c '${script}'`, { memoryLimitBytes: 200 * MIB });
    const outcome = await run.finished;
    expect(outcome).toMatchObject({ reason: 'memory_limit', survivors: [] });
    expect(run.printed()).toContain('writing');
    expect(outcome.peakMemoryBytes).toBeGreaterThan(200 * MIB);
  });

  test.for([
    { name: 'two programs', script: 'hog & hog; wait' },
    { name: 'a process in a session of its own', script: 'setsid bash -c "hog & hog; wait" & wait' },
    { name: 'an orphan', script: '(setsid bash -c "hog & hog; wait" &); sleep 60' },
  ])('all of it counts: $name', async ({ script }) => {
    const hog = `hog() { python3 -c 'x = bytearray(b"x") * (80 << 20); import time; time.sleep(60)'; }; export -f hog`;
    const { finished } = await start(`${hog}; ${script}`, { memoryLimitBytes: 120 * MIB });
    const outcome = await finished;
    expect(outcome).toMatchObject({ reason: 'memory_limit', survivors: [] });
    expect(outcome.peakMemoryBytes).toBeGreaterThan(120 * MIB);
  });

  const FORKS_WHILE_GROWING = `
import os, time
kept = []
for n in range(12):
    kept.append(bytearray(b"x") * (10 << 20))
    if os.fork(): os.wait(); os._exit(0)
time.sleep(5)`;
  // The kernel's count takes a tenth of the time at most: on a busy machine the next one comes after seconds.
  const COPIES = `
import os, time
x = bytearray(b"x") * (60 << 20)
for _ in range(6):
    if os.fork() == 0:
        for i in range(0, 20 << 20, 4096): x[i] = 1
        time.sleep(10)
        os._exit(0)
for _ in range(6): os.wait()`;
  const peaks = [
    { name: 'one that forks as it grows', program: FORKS_WHILE_GROWING, least: 115, most: 190 },
    { name: 'copies that write to a part', program: COPIES, least: 170, most: 240 },
  ].flatMap((row) => [
    { ...row, limit: 'without a limit', memoryLimitBytes: undefined },
    { ...row, limit: 'with one that is kept', memoryLimitBytes: 400 * MIB },
  ]);

  test.for(peaks)('the peak is told with what is shared counted once: $name, $limit', async (row) => {
    const { memoryLimitBytes } = row;
    const run = await start(`python3 -c '${row.program}'; exit 0`, { memoryLimitBytes });
    const { reason, nearLimits, peakMemoryBytes = 0 } = await run.finished;
    expect({ reason, nearLimits }).toEqual({ reason: 'exit', nearLimits: undefined });
    expect(peakMemoryBytes).toBeGreaterThan(row.least * MIB);
    expect(peakMemoryBytes).toBeLessThan(row.most * MIB);
  });

  const inMemory = (mib: number, then: string): string => `
import mmap, os, time
fd = os.memfd_create("held")
for _ in range(${mib}): os.write(fd, b"x" * (1 << 20))
${then}
time.sleep(3)`;
  const MAPPED = 'm = mmap.mmap(fd, 0)\nfor i in range(0, len(m), 4096): m[i]';

  test.for([
    { name: 'what is only written', program: inMemory(150, ''), reason: 'memory_limit', least: 120 },
    {
      name: 'what a copy of the process has open too',
      program: inMemory(90, 'os.fork()'),
      reason: 'exit',
      least: 90,
    },
    { name: 'what is mapped as well', program: inMemory(90, MAPPED), reason: 'exit', least: 90 },
    { name: 'what is closed again', program: inMemory(90, 'os.close(fd)'), reason: 'exit', least: 0 },
  ])('files in memory count once: $name', async ({ program, reason, least }) => {
    const run = await start(`python3 -c '${program}'; exit 0`, { memoryLimitBytes: 120 * MIB });
    const { peakMemoryBytes = 0, ...outcome } = await run.finished;
    expect(outcome).toMatchObject({ reason, survivors: [] });
    expect(peakMemoryBytes).toBeGreaterThan(least * MIB);
    expect(peakMemoryBytes > 120 * MIB).toBe(reason === 'memory_limit');
  });
});

test.for(['with a group', 'without one'])('processor time of the whole tree is limited, %s', async (how) => {
  const group = how === 'with a group' ? cgroups.create('processor', { cpuSeconds: 1 }) : undefined;
  // Processes that end before they have used much, and the shell waits.
  const script =
    'while :; do timeout 0.4 sh -c "while :; do :; done" & timeout 0.4 sh -c "while :; do :; done"; done';
  const { finished } = await start(script, { group, cpuLimitSeconds: 1 });
  expect(await finished).toMatchObject({
    status: 'timeout',
    reason: 'cpu_limit',
    errorCode: 'EXECUTION_002',
    survivors: [],
  });
});

test('exits, signals and causes are told apart', () => {
  expect(judge({ code: 0, signal: null }, undefined)).toEqual({
    status: 'completed',
    reason: 'exit',
    exitCode: 0,
  });
  expect(judge({ code: null, signal: 'SIGSEGV' }, undefined)).toEqual({
    status: 'failed',
    reason: 'signal',
    exitCode: 139,
    signal: 'SIGSEGV',
  });
  expect(judge({ code: 0, signal: null }, 'terminated')).toEqual({
    status: 'failed',
    reason: 'terminated',
    exitCode: 0,
  });
  expect(judge({ code: null, signal: 'SIGKILL' }, 'timeout')).toMatchObject({
    status: 'timeout',
    errorCode: 'EXECUTION_002',
  });
  expect(judge({ code: 143, signal: null }, 'cpu_limit')).toEqual({
    status: 'timeout',
    reason: 'cpu_limit',
    errorCode: 'EXECUTION_002',
    exitCode: 143,
  });
  expect(judge(undefined, 'memory_limit')).toMatchObject({
    reason: 'memory_limit',
    errorCode: 'EXECUTION_003',
  });
  expect(judge(undefined, 'server_shutdown')).toEqual({ status: 'failed', reason: 'server_shutdown' });
});
