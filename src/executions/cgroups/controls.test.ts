import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { GroupDirectory } from './control-files.ts';
import { readEnforcement, readForkRefusals, readUsage, writeLimits } from './controls.ts';

// What the kernel's files look like; that it heeds them is tried in cgroups.test.ts, with what this machine has.
const root = mkdtempSync(join(realpathSync(tmpdir()), 'controls-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function directoryWith(
  name: string,
  version: 1 | 2,
  files: Readonly<Record<string, string>>,
): GroupDirectory {
  const path = join(root, name);
  mkdirSync(path);
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text);
  return { path, version };
}

const contents = ({ path }: GroupDirectory): Record<string, string> =>
  Object.fromEntries(readdirSync(path).map((file) => [file, readFileSync(join(path, file), 'utf8')]));

const figuresOf = (directories: Parameters<typeof readUsage>[0]) =>
  Object.fromEntries(Object.entries(readUsage(directories)).map(([name, read]) => [name, read()]));

test('version 2: limits, and what is used', () => {
  const directory = directoryWith('v2', 2, {
    'memory.max': 'max\n',
    'memory.swap.max': 'max\n',
    'memory.oom.group': '0\n',
    'memory.current': '4096\n',
    'memory.peak': '8192\n',
    'memory.events': 'low 0\nhigh 0\nmax 7\noom 2\noom_kill 3\noom_group_kill 1\n',
    'pids.max': 'max\n',
    'pids.current': '5\n',
    'pids.events': 'max 11\n',
    'cpu.max': 'max 100000\n',
    'cpu.stat': 'usage_usec 1500000\nuser_usec 1000000\nsystem_usec 500000\n',
  });
  expect(readEnforcement([directory])).toEqual({ memory: undefined, processes: undefined, cpu: undefined });
  writeLimits(directory, { memoryBytes: 1 << 20, processes: 32, cpuPercent: 150 });
  expect(contents(directory)).toMatchObject({
    'memory.max': '1048576',
    'memory.swap.max': '0',
    'memory.oom.group': '1',
    'pids.max': '32',
    'cpu.max': '150000 100000',
  });
  expect(readEnforcement([directory])).toEqual({
    memory: 'cgroup v2',
    processes: 'cgroup v2',
    cpu: 'cgroup v2',
  });
  expect(figuresOf([directory])).toEqual({
    memoryBytes: 4096,
    peakMemoryBytes: 8192,
    oomKills: 3,
    cpuSeconds: 1.5,
    processes: 5,
  });
  expect(readForkRefusals([directory])).toBe(11);
});

test('version 1: each controller has a directory of its own', () => {
  const memory = directoryWith('memory', 1, {
    'memory.limit_in_bytes': '9223372036854771712\n',
    'memory.swappiness': '60\n',
    'memory.usage_in_bytes': '4096\n',
    'memory.max_usage_in_bytes': '8192\n',
    'memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 3\n',
  });
  const cpu = directoryWith('cpu', 1, {
    'cpu.cfs_quota_us': '-1\n',
    'cpu.cfs_period_us': '50000\n',
    'cpu.stat': 'nr_periods 0\nnr_throttled 0\nthrottled_time 0\n',
  });
  const cpuTime = directoryWith('cpuacct', 1, { 'cpuacct.usage': '1500000000\n' });
  const all = [memory, cpu, cpuTime];
  expect(readEnforcement(all)).toEqual({ memory: undefined, processes: undefined, cpu: undefined });
  for (const directory of all)
    writeLimits(directory, { memoryBytes: 1 << 20, processes: 32, cpuPercent: 0.1 });
  expect(contents(memory)).toMatchObject({ 'memory.limit_in_bytes': '1048576', 'memory.swappiness': '0' });
  expect(contents(cpu)).toMatchObject({ 'cpu.cfs_period_us': '100000', 'cpu.cfs_quota_us': '1000' });
  expect(readEnforcement(all)).toEqual({ memory: 'cgroup v1', processes: undefined, cpu: 'cgroup v1' });
  expect(figuresOf(all)).toEqual({
    memoryBytes: 4096,
    peakMemoryBytes: 8192,
    oomKills: 3,
    cpuSeconds: 1.5,
    processes: undefined,
  });
});
