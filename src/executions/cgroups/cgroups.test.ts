import { type ChildProcess, type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { lacks } from '../../../test/setup/needs.ts';
import { createCgroups, type ExecutionGroup, openGroup, type TreeLimits } from './cgroups.ts';
import { joining } from './group.ts';

const MIB = 1024 * 1024;

const cgroups = createCgroups();
const made = new Set<string>();
afterAll(() => {
  cgroups.dispose();
  const left = [...made].filter((path) => existsSync(path));
  if (left.length > 0) throw new Error(`left behind: ${left.join(', ')}`);
});
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
  for (const path of group.path.split('\n')) made.add(path);
  return {
    ...group,
    async [Symbol.asyncDispose]() {
      for (let tries = 0; tries < 500 && (group.members() ?? []).length > 0; tries++) {
        group.kill();
        await sleep(10);
      }
      expect(openGroup(group.path).members() ?? []).toEqual([]);
      group.remove();
      expect([group.members(), group.usage()]).toEqual([undefined, undefined]);
    },
  };
}

function runIn(group: ExecutionGroup, script: string): SpawnSyncReturns<string> {
  const [file = '', ...args] = joining(group, ['/bin/bash', '-c', script]);
  return spawnSync(file, args, { encoding: 'utf8', timeout: 15_000 });
}

function startIn(group: ExecutionGroup, script: string): ChildProcess {
  const [file = '', ...args] = joining(group, ['/bin/bash', '-c', script]);
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
    expect(usage?.oomKills()).toBe(0);
    expect(usage?.peakMemoryBytes()).toBeGreaterThan(0);
    expect(usage?.cpuSeconds()).toBeGreaterThan(0);
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
    expect(group.usage()?.oomKills()).toBeGreaterThan(0);
    expect(group.usage()?.peakMemoryBytes()).toBeGreaterThan(120 * MIB);
    expect(group.usage()?.peakMemoryBytes()).toBeLessThanOrEqual(128 * MIB);
    expect(bystander.members()).toEqual([other.pid]);
    expect(bystander.usage()?.oomKills()).toBe(0);
  });

  test('a file that is larger than the memory limit can be read: page cache gives way', async () => {
    await using group = createGroup({ memoryBytes: 64 * MIB });
    const { stdout } = runIn(group, 'f=$(mktemp) && head -c 150M /dev/zero > $f && wc -c < $f; rm -f $f');
    expect(stdout).toBe(`${150 * MIB}\n`);
    expect(group.usage()?.oomKills()).toBe(0);
  });

  test('a fork bomb stays within its limit, others go on, and one call ends it', async () => {
    await using group = createGroup({ processes: 64 });
    const bomb = startIn(group, 'f() { f | f & }; for i in 1 2 3 4; do f; done 2> /dev/null; exec sleep 60');
    const ended = once(bomb, 'exit');
    await expect.poll(() => group.limitHits().processes).toBeGreaterThan(0);
    expect(group.members()?.length).toBeLessThanOrEqual(64);
    expect(group.usage()?.processes()).toBeLessThanOrEqual(64);
    expect(spawnSync('echo', ['fine'], { encoding: 'utf8' }).stdout).toBe('fine\n');
    group.kill();
    const hits = group.limitHits();
    await ended;
    await expect.poll(() => group.members()).toEqual([]);
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
    await expect.poll(() => group.members()).toEqual([]);
  });

  test('a processor quota holds for all processes together', async () => {
    await using group = createGroup({ cpuPercent: 20 });
    const began = performance.now();
    const busy = startIn(group, 'while :; do :; done & while :; do :; done');
    const ended = once(busy, 'exit');
    await sleep(1500);
    const seconds = (performance.now() - began) / 1000;
    expect(group.usage()?.cpuSeconds()).toBeLessThan(seconds * 0.35 + 0.1);
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
    const [file = '', ...args] = joining(group, ['echo', 'ran']);
    expect(group.mustJoin).toBe(true);
    openGroup(group.path).remove();
    const { status, stdout } = spawnSync(file, args, { encoding: 'utf8' });
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
  });

  test('changes nothing in the environment, and passes on what no shell could have', async () => {
    await using group = createGroup({ memoryBytes: 128 * MIB, processes: 64 });
    const environment = { PATH: process.env['PATH'] ?? '', n: '1', file: 'x', 'a.b': 'dotted' };
    const [file = '', ...args] = joining(group, ['/usr/bin/env'], environment);
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

describe.skipIf(cannot || memory !== 'cgroup v1')('a group that is used again', () => {
  /** A limit that no other test has: what they left is not found. */
  const LIMITS = { memoryBytes: 96 * MIB, processes: 48, cpuSeconds: 60 };
  const BOMB = `x=$(head -c 300M /dev/zero | tr '\\0' x); echo \${#x}`;
  const FORKS = `perl -e 'for (1..60) { my $p = fork; sleep 60 if defined $p && !$p; push @p, $p } kill 9, grep defined, @p; 1 while wait > 0'`;

  test('tells nothing of the one before', async () => {
    // So that its files are in memory already, and not charged to the group.
    spawnSync('perl', ['-e', '1']);
    const first = cgroups.create('again-a', LIMITS);
    if (first === undefined) throw new Error('no group');
    runIn(first, `(${BOMB}) 2> /dev/null; ${FORKS}; while ((SECONDS < 1)); do :; done`);
    expect(first.usage()?.oomKills()).toBeGreaterThan(0);
    expect(first.limitHits().processes).toBeGreaterThan(0);
    const before = first.usage()?.cpuSeconds() ?? 0;
    expect(before).toBeGreaterThan(0.1);
    // The kernel frees what processes had of it a moment after their end.
    await expect.poll(() => first.usage()?.memoryBytes()).toBeLessThan(MIB);
    first.remove();
    const second = cgroups.create('again-b', LIMITS);
    if (second === undefined) throw new Error('no group');
    expect(second.path).toBe(first.path);
    runIn(second, 'true');
    expect(second.usage()?.oomKills()).toBe(0);
    expect(second.limitHits()).toEqual({ processes: 0 });
    expect(second.usage()?.peakMemoryBytes()).toBeLessThan(16 * MIB);
    expect(second.usage()?.cpuSeconds()).toBeLessThan(before);
    second.remove();
  });

  test('has the limits that it was asked for, whatever a command made of them', () => {
    const first = cgroups.create('changed-a', LIMITS);
    if (first === undefined) throw new Error('no group');
    const [main = '', memoryPath = ''] = first.path.split('\n');
    runIn(first, `echo max > ${main}/pids.max; echo -1 > ${memoryPath}/memory.limit_in_bytes`);
    first.remove();
    const second = cgroups.create('changed-b', LIMITS);
    expect(second?.path).toBe(first.path);
    expect(readFileSync(`${main}/pids.max`, 'utf8')).toBe('48\n');
    expect(readFileSync(`${memoryPath}/memory.limit_in_bytes`, 'utf8')).toBe(`${96 * MIB}\n`);
    second?.remove();
  });

  test('is out of reach for its previous user', async () => {
    const first = cgroups.create('stale-a', LIMITS);
    first?.remove();
    await using second = createGroup(LIMITS);
    expect(second.path).toBe(first?.path);
    const { pid } = startIn(second, 'exec sleep 60');
    await expect.poll(() => second.members()).toEqual([pid]);
    first?.kill();
    first?.remove();
    expect([first?.members(), first?.usage()]).toEqual([undefined, undefined]);
    await using third = createGroup(LIMITS);
    expect(third.path).not.toBe(second.path);
    await sleep(50);
    expect(second.members()).toEqual([pid]);
  });

  const cached = join(tmpdir(), `cached-${process.pid}`);
  afterAll(() => rmSync(cached, { force: true }));

  test.for([
    { name: 'was ended', use: (group: ExecutionGroup) => group.kill() },
    {
      name: 'has groups inside',
      use: (group: ExecutionGroup) => void runIn(group, `mkdir ${group.path.split('\n')[0]}/inner`),
    },
    {
      name: 'has page cache that is charged to it',
      use: (group: ExecutionGroup) => void runIn(group, `head -c 8M /dev/zero > ${cached}`),
    },
  ])('is not one that $name', async ({ use }) => {
    const limits = { ...LIMITS, processes: 47 };
    const first = cgroups.create('odd-a', limits);
    if (first === undefined) throw new Error('no group');
    use(first);
    await expect.poll(() => first.members()).toEqual([]);
    first.remove();
    const second = cgroups.create('odd-b', limits);
    expect(second?.path).toContain('odd-b');
    second?.kill();
    second?.remove();
    expect(existsSync(first.path.split('\n')[0] ?? '')).toBe(false);
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
