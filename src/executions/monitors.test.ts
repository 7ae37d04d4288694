import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lacks, needs } from '../../test/setup/needs.ts';
import { createWorld, outcomeOf, untilPrinted, type World } from '../../test/support/world.ts';
import { systemClock } from '../base/clock.ts';
import { LIMITS } from '../base/limits.ts';
import type { Execution, MonitorReading } from './executions.ts';
import { createMonitors, type Monitors, type Watched } from './monitors.ts';
import { createLooks } from './process-scan.ts';
import { type Figure, METRICS } from './sampler.ts';

let world: World;
let monitors: Monitors;
let looks: number;
beforeEach(() => {
  world = createWorld();
  looks = 0;
  const look = createLooks();
  monitors = createMonitors({
    clock: systemClock,
    look: () => {
      looks++;
      return look();
    },
  });
});
afterEach(async () => {
  monitors.dispose();
  await world[Symbol.asyncDispose]();
});

async function start(command: string): Promise<Execution> {
  return world.start(command, { mode: 'background', timeoutMs: undefined });
}

function watchedOf({ record, live }: Execution): Watched {
  if (live === undefined) throw new Error('it has ended');
  return { executionId: record.id, pid: live.process.pid, tree: live.tree, finished: live.finished };
}

const ALL = { intervalMs: 100, metrics: METRICS };

/** Reads until the most that was seen of a figure is enough: a busy machine takes its time. */
async function untilSeen(id: string, figure: Figure, enough: number): Promise<MonitorReading> {
  for (let tries = 0; tries < 300; tries++) {
    const reading = monitors.read('local', id);
    if ((reading.summary.figures[figure]?.max ?? 0) >= enough) return reading;
    await sleep(100);
  }
  throw new Error(`${figure} was never ${enough}: ${JSON.stringify(monitors.read('local', id))}`);
}

const MIB = 1024 * 1024;

describe('of the whole tree is measured', () => {
  test.each<[string, string, Figure, number]>([
    ['processor time of a child', '(while :; do :; done) & wait', 'cpuPercent', 1],
    [
      'processor time of children that ended',
      'while :; do seq 20000 | sort -R | md5sum; done',
      'cpuPercent',
      1,
    ],
    ['memory', '(x=$(head -c 44000000 /dev/zero | tr "\\0" x); sleep 300) & wait', 'memoryBytes', 40 * MIB],
    ['how many they are', 'sleep 300 & sleep 300 & wait', 'processes', 3],
    ['what leaves the process group', 'setsid sleep 300 & (setsid setsid sleep 300 &); wait', 'processes', 3],
    [
      'what is written',
      'while :; do head -c 1000000 /dev/zero > file; done',
      'writtenBytesPerSecond',
      100_000,
    ],
    [
      'what is read',
      'head -c 1000000 /dev/zero > file; while :; do cat file > /dev/null; done',
      'readBytesPerSecond',
      100_000,
    ],
  ])('%s', async (_, command, figure, enough) => {
    const execution = await start(command);
    const { id } = monitors.start('local', watchedOf(execution), ALL);
    const { summary } = await untilSeen(id, figure, enough);
    const { min = 0, mean = 0, max = 0 } = summary.figures[figure] ?? {};
    expect(min).toBeLessThanOrEqual(mean);
    expect(mean).toBeLessThanOrEqual(max);
  });
});

test('a reading has the samples since the last one, and a summary of all', async () => {
  const { id, status } = monitors.start('local', watchedOf(await start('sleep 300')), ALL);
  expect(status).toBe('active');
  await expect.poll(() => looks, { timeout: 30_000 }).toBeGreaterThan(3);
  const first = monitors.read('local', id);
  expect(first.samples.length).toBe(first.summary.samples);
  expect(monitors.read('local', id).samples).toEqual([]);
  await expect.poll(() => looks, { timeout: 30_000 }).toBeGreaterThan(6);
  const second = monitors.stop('local', id);
  expect(second.status).toBe('stopped');
  expect(second.summary.samples).toBe(first.samples.length + second.samples.length);
  expect(() => monitors.read('local', id)).toThrow(expect.objectContaining({ code: 'RESOURCE_001' }));
  const then = looks;
  await sleep(300);
  expect(looks).toBe(then);
});

test('only what was asked for is measured', async () => {
  const { id } = monitors.start('local', watchedOf(await start('sleep 300')), {
    ...ALL,
    metrics: ['memory'],
  });
  const { summary, unavailable } = await untilSeen(id, 'memoryBytes', 1);
  expect(Object.keys(summary.figures).toSorted()).toEqual(['memoryBytes', 'processes']);
  expect(unavailable).toEqual([]);
});

test('without a network of its own there is no figure for it, which is said where it was asked for', async () => {
  const { id } = monitors.start('local', watchedOf(await start('sleep 300')), ALL);
  const { unavailable, summary } = await untilSeen(id, 'memoryBytes', 1);
  expect(unavailable).toEqual(['network']);
  expect(summary.figures.receivedBytesPerSecond).toBeUndefined();
});

test('one that would measure nothing is refused, and takes no place', async () => {
  const watched = watchedOf(await start('sleep 300'));
  for (let n = 0; n <= LIMITS.monitors; n++)
    expect(() => monitors.start('local', watched, { ...ALL, metrics: ['network'] })).toThrow(
      expect.objectContaining({ code: 'PARAM_002' }),
    );
});

test('where nothing is asked for in particular, only what can be measured is', async () => {
  const { metrics, unavailable } = monitors.start('local', watchedOf(await start('sleep 300')), {
    intervalMs: 100,
    metrics: undefined,
  });
  expect({ metrics, unavailable }).toEqual({ metrics: ['cpu', 'memory', 'io'], unavailable: [] });
});

test('it ends with the process, and what was measured can still be read', async () => {
  const execution = await start('read -t 1 < <(sleep 300); exit 0');
  const { id } = monitors.start('local', watchedOf(execution), ALL);
  await untilSeen(id, 'memoryBytes', 1);
  await execution.live?.end('terminated');
  await outcomeOf(execution);
  const { status, endedAtMs, summary } = monitors.read('local', id);
  expect({ status, endedAtMs: typeof endedAtMs }).toEqual({ status: 'ended', endedAtMs: 'number' });
  expect(summary.samples).toBeGreaterThan(0);
  const then = looks;
  await sleep(300);
  expect(looks).toBe(then);
});

test('one look serves all that are due', async () => {
  const watched = watchedOf(await start('sleep 300'));
  const ids = Array.from({ length: LIMITS.monitors }, () => monitors.start('local', watched, ALL).id);
  const before = looks;
  const first = ids[0] ?? '';
  await expect
    .poll(() => monitors.read('local', first).summary.samples, { timeout: 30_000 })
    .toBeGreaterThan(9);
  const samples = ids.reduce((sum, id) => sum + monitors.read('local', id).summary.samples, 0);
  expect(samples).toBeGreaterThan(9 * ids.length);
  // They were started one after another, so that at first they fall apart.
  expect(looks - before).toBeLessThan(samples / 4);
});

test('they are bounded: how many, and how much waits to be read', async () => {
  const watched = watchedOf(await start('sleep 300'));
  const often = { ...ALL, intervalMs: 5 };
  const ids = Array.from({ length: LIMITS.monitors }, () => monitors.start('local', watched, often).id);
  expect(() => monitors.start('local', watched, ALL)).toThrow(
    expect.objectContaining({ code: 'RESOURCE_005' }),
  );
  expect(monitors.start('other', watched, ALL).status).toBe('active');
  monitors.stop('local', ids[3] ?? '');
  expect(monitors.start('local', watched, ALL).status).toBe('active');
  await expect
    .poll(() => looks, { timeout: 60_000 })
    .toBeGreaterThan(LIMITS.monitors + LIMITS.monitorSamples + 10);
  const { samples, dropped, summary } = monitors.read('local', ids[0] ?? '');
  expect(samples.length).toBeLessThanOrEqual(LIMITS.monitorSamples);
  expect(samples.length + dropped).toBe(summary.samples);
});

test('one that ended makes room for another', async () => {
  const execution = await start('sleep 300');
  const ids = Array.from(
    { length: LIMITS.monitors },
    () => monitors.start('local', watchedOf(execution), ALL).id,
  );
  await execution.live?.end('terminated');
  await outcomeOf(execution);
  await start('sleep 300').then((other) => monitors.start('local', watchedOf(other), ALL));
  expect(() => monitors.read('local', ids[0] ?? '')).toThrow(/no monitor/);
  expect(monitors.read('local', ids[1] ?? '').status).toBe('ended');
});

test('another principal’s is not there', async () => {
  const { id } = monitors.start('local', watchedOf(await start('sleep 300')), ALL);
  for (const attempt of [() => monitors.read('other', id), () => monitors.stop('other', id)]) {
    expect(attempt).toThrow(expect.objectContaining({ code: 'RESOURCE_001' }));
  }
  expect(monitors.read('local', id).status).toBe('active');
});

const lacksBubblewrap = lacks(process.platform !== 'linux', 'bubblewrap is for Linux') || needs('bwrap');

test.skipIf(lacksBubblewrap)('in a sandbox too, with the network that is its own', async () => {
  await using sandboxed = createWorld({ settings: { security: { sandbox: 'required', network: false } } });
  const execution = await sandboxed.start(
    'echo on; while :; do (exec 3<>/dev/tcp/127.0.0.1/9) 2>/dev/null; head -c 100000 /dev/zero > file; done',
    { mode: 'background', timeoutMs: undefined },
  );
  await untilPrinted(execution, 'on');
  const { id } = monitors.start('local', watchedOf(execution), ALL);
  for (const figure of [
    'receivedBytesPerSecond',
    'writtenBytesPerSecond',
    'cpuPercent',
    'memoryBytes',
  ] as const) {
    await untilSeen(id, figure, 1);
  }
  expect(monitors.stop('local', id).unavailable).toEqual([]);
});
