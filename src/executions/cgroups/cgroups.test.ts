import { type ChildProcess, type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { lacks } from '../../../test/setup/needs.ts';
import { createCgroups, type ExecutionGroup, openGroup, type TreeLimits } from './cgroups.ts';

const MIB = 1024 * 1024;

const cgroups = createCgroups();
afterAll(() => cgroups.dispose());
const { memory, processes, cpu } = cgroups.held();
const cannot = lacks(
  memory === undefined || processes === undefined || cpu === undefined,
  'no cgroup whose limits hold can be made',
);

let groups = 0;
/** Ended and removed whatever happens. */
function createGroup(limits?: TreeLimits): ExecutionGroup & AsyncDisposable {
  const group = cgroups.create(`test-${groups++}`, limits);
  if (group === undefined) throw new Error('no group');
  return {
    ...group,
    async [Symbol.asyncDispose]() {
      for (let tries = 0; tries < 500 && (group.members() ?? []).length > 0; tries++) {
        group.kill();
        await sleep(10);
      }
      group.remove();
      expect(group.path.split('\n').filter((path) => existsSync(path))).toEqual([]);
    },
  };
}

function runIn(group: ExecutionGroup, script: string): SpawnSyncReturns<string> {
  const [file = '', ...args] = group.joining(['/bin/bash', '-c', script]);
  return spawnSync(file, args, { encoding: 'utf8', timeout: 15_000 });
}

function startIn(group: ExecutionGroup, script: string): ChildProcess {
  const [file = '', ...args] = group.joining(['/bin/bash', '-c', script]);
  return spawn(file, args, { stdio: 'ignore' });
}

/** "<server>/<name>", which is the same in each tree. */
const nameOf = (group: ExecutionGroup): string => group.path.split('/').slice(-2).join('/');
const timesIn = (text: string, part: string): number => text.split(part).length - 1;

describe.skipIf(cannot)('a group', () => {
  test('has what a command starts in each of its directories, and holds the limits it was made with', async () => {
    await using group = createGroup({ memoryBytes: 256 * MIB, processes: 64, cpuPercent: 100 });
    const { stdout } = runIn(group, 'setsid env -i cat /proc/self/cgroup');
    expect(timesIn(stdout, nameOf(group))).toBe(group.path.split('\n').length);
    expect(group.held()).toEqual(cgroups.held());
    expect(group.limitHits()).toEqual({ processes: 0 });
    const usage = group.usage();
    expect(usage?.oomKills).toBe(0);
    expect(usage?.peakMemoryBytes).toBeGreaterThan(0);
    expect(usage?.cpuSeconds).toBeGreaterThan(0);
  });

  test('without limits is one directory and holds nothing', async () => {
    await using group = createGroup();
    expect(existsSync(group.path)).toBe(true);
    const { memory: heldMemory, processes: heldProcesses, cpu: heldCpu } = group.held();
    expect([heldMemory, heldProcesses, heldCpu]).toEqual([undefined, undefined, undefined]);
    expect(timesIn(runIn(group, 'cat /proc/self/cgroup').stdout, nameOf(group))).toBe(1);
  });

  test('a memory bomb is killed, and nobody else', async () => {
    await using group = createGroup({ memoryBytes: 128 * MIB });
    await using bystander = createGroup({ memoryBytes: 128 * MIB });
    const other = startIn(bystander, 'exec sleep 60');
    await expect.poll(() => bystander.members()).toEqual([other.pid]);
    const { stdout } = runIn(group, `x=$(head -c 300M /dev/zero | tr '\\0' x); echo \${#x}`);
    expect(stdout).toBe('');
    expect(group.usage()?.oomKills).toBeGreaterThan(0);
    expect(group.usage()?.peakMemoryBytes).toBeGreaterThan(120 * MIB);
    expect(group.usage()?.peakMemoryBytes).toBeLessThanOrEqual(128 * MIB);
    expect(bystander.members()).toEqual([other.pid]);
    expect(bystander.usage()?.oomKills).toBe(0);
  });

  test('a file that is larger than the memory limit can be read: page cache gives way', async () => {
    await using group = createGroup({ memoryBytes: 64 * MIB });
    const { stdout } = runIn(group, 'f=$(mktemp) && head -c 150M /dev/zero > $f && wc -c < $f; rm -f $f');
    expect(stdout).toBe(`${150 * MIB}\n`);
    expect(group.usage()?.oomKills).toBe(0);
  });

  test('a fork bomb stays within its limit, others go on, and one call ends it', async () => {
    await using group = createGroup({ processes: 64 });
    const bomb = startIn(group, 'f() { f | f & }; for i in 1 2 3 4; do f; done 2> /dev/null; exec sleep 60');
    const ended = once(bomb, 'exit');
    await expect.poll(() => group.limitHits().processes, { timeout: 10_000 }).toBeGreaterThan(0);
    expect(group.members()?.length).toBeLessThanOrEqual(64);
    expect(group.usage()?.processes).toBeLessThanOrEqual(64);
    expect(spawnSync('echo', ['fine'], { encoding: 'utf8' }).stdout).toBe('fine\n');
    group.kill();
    const hits = group.limitHits();
    await ended;
    await expect.poll(() => group.members(), { timeout: 3000 }).toEqual([]);
    expect(group.limitHits()).toEqual(hits);
  });

  test('what forks faster than one can look is ended all the same', async () => {
    // Far from the limit, which is there for the machine's sake.
    await using group = createGroup({ processes: 300 });
    const bomb = startIn(group, 'while :; do (sleep 0.01 & exec setsid sleep 0.02) & done 2> /dev/null');
    const ended = once(bomb, 'exit');
    await expect.poll(() => group.members()?.length).toBeGreaterThan(20);
    group.kill();
    await ended;
    await expect.poll(() => group.members(), { timeout: 3000 }).toEqual([]);
  });

  test('a processor quota holds for all processes together', async () => {
    await using group = createGroup({ cpuPercent: 20 });
    const began = performance.now();
    const busy = startIn(group, 'while :; do :; done & while :; do :; done');
    const ended = once(busy, 'exit');
    await sleep(1500);
    const seconds = (performance.now() - began) / 1000;
    expect(group.usage()?.cpuSeconds).toBeLessThan(seconds * 0.35 + 0.1);
    group.kill();
    await ended;
  });

  test('is found again by its path', async () => {
    await using group = createGroup({ memoryBytes: 128 * MIB, processes: 64 });
    const process = startIn(group, 'sleep 60 & wait');
    const ended = once(process, 'exit');
    await expect.poll(() => group.members()?.length).toBe(2);
    const again = openGroup(group.path);
    expect(again.members()).toEqual(group.members());
    expect(again.held()).toEqual({ memory, processes, cpu: undefined });
    again.kill();
    await ended;
    await expect.poll(() => again.members()).toEqual([]);
    again.remove();
    expect(again.members()).toBeUndefined();
    expect(again.usage()).toBeUndefined();
  });

  test('with limits that cannot be joined runs nothing', async () => {
    await using group = createGroup({ processes: 64 });
    const [file = '', ...args] = group.joining(['echo', 'ran']);
    group.remove();
    const { status, stdout } = spawnSync(file, args, { encoding: 'utf8' });
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
  });

  test('changes nothing in the environment, and passes on what no shell could have', async () => {
    await using group = createGroup({ memoryBytes: 128 * MIB, processes: 64 });
    const environment = { PATH: process.env['PATH'] ?? '', n: '1', file: 'x', 'a.b': 'dotted' };
    const [file = '', ...args] = group.joining(['/usr/bin/env'], environment);
    const { stdout } = spawnSync(file, args, { encoding: 'utf8', env: environment });
    const shown = stdout
      .trimEnd()
      .split('\n')
      .filter((line) => !/^(PWD|OLDPWD|SHLVL|_)=/.test(line));
    expect(shown.toSorted()).toEqual(
      Object.entries(environment)
        .map(([name, value]) => `${name}=${value}`)
        .toSorted(),
    );
  });
});

test.skipIf(cannot)('two in one process do not disturb each other', () => {
  const first = createCgroups();
  const second = createCgroups();
  const group = first.create('shared-a');
  expect(second.held()).toEqual({ memory, processes, cpu });
  second.dispose();
  group?.remove();
  first.dispose();
  // Their directory is made again where it is gone.
  const late = second.create('shared-b', { processes: 8 });
  expect(late?.held().processes).toBe(processes);
  late?.remove();
  second.dispose();
});
