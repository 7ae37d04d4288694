/** What an execution used, as it is kept with its outcome. */
import { describe, expect, test } from 'vitest';
import { needs } from '../../test/setup/needs.ts';
import { createWorld, type World, type WorldOptions } from '../../test/support/world.ts';

/** By the processor's clock, asked rarely: the call takes longer than the loop. Perl: this Node may not be in the sandbox. */
const busy = (seconds: number): string => `perl -e 'while ((times)[0] < ${seconds}) { $n++ for 1..1e5 }'`;
const LARGE = `perl -e '$b = "x" x 150e6; select(undef, undef, undef, 0.5)'`;
const MIB = 1024 * 1024;

const unlimited = { maxMemoryBytes: undefined, maxPids: undefined } as const;

const PLACES: readonly [name: string, options: WorldOptions][] = [
  ['without limits', { settings: { security: unlimited } }],
  ['with limits', { settings: { security: { maxMemoryBytes: 1024 * MIB, maxPids: 500 } } }],
  ...(needs('bwrap')
    ? []
    : [['in a sandbox', { settings: { security: { sandbox: 'required' } } }] as [string, WorldOptions]]),
];

describe.each(PLACES)('%s', (_, options) => {
  const within = async (use: (world: World) => Promise<void>): Promise<void> => {
    await using world = createWorld(options);
    await use(world);
  };

  test('CPU time of a child counts', () =>
    within(async (world) => {
      const { outcome } = await world.run(`${busy(0.3)}; true`);
      expect(outcome.cpuSeconds).toBeGreaterThan(0.2);
      expect(outcome.cpuSeconds).toBeLessThan(20);
    }));

  test('CPU time of a child counts where both are killed', () =>
    within(async (world) => {
      // Busy for a while only, since it takes processor time from every other test.
      const { outcome } = await world.run(
        `perl -e 'while ((times)[0] < 0.3) { $n++ for 1..1e5 } sleep 300'; true`,
        {
          timeoutMs: 5000,
        },
      );
      expect(outcome).toMatchObject({ status: 'timeout' });
      expect(outcome.cpuSeconds).toBeGreaterThan(0.04);
    }));

  test('peak memory of a child counts', () =>
    within(async (world) => {
      const { outcome } = await world.run(`${LARGE}; true`);
      expect(outcome.peakMemoryBytes).toBeGreaterThan(140 * MIB);
      expect(outcome.peakMemoryBytes).toBeLessThan(1000 * MIB);
    }));

  test('a detached one tells as well', () =>
    within(async (world) => {
      const { outcome } = await world.run(`${busy(1)}; true`, { mode: 'detached' });
      expect(outcome.cpuSeconds).toBeGreaterThan(0);
    }));
});

test('the most processes at once are counted, while it runs long enough to be looked at', async () => {
  await using world = createWorld();
  const { outcome } = await world.run('for n in 1 2 3 4; do sleep 3 & done; wait');
  expect(outcome.processes).toBe(5);
});

test('one that comes near its memory limit says so', async () => {
  await using world = createWorld({ settings: { security: { maxMemoryBytes: 500 * MIB } } });
  const { outcome } = await world.run(
    `${JSON.stringify(process.execPath)} -e 'const b = Buffer.alloc(430 * ${MIB}, 1); setTimeout(() => b, 1000)'`,
  );
  expect(outcome).toMatchObject({ status: 'completed', nearLimits: ['memory'] });
});

test('a command of an instant is not looked at, and has CPU time and memory all the same', async () => {
  await using world = createWorld();
  const { outcome } = await world.run('true');
  expect(outcome.cpuSeconds).toBeGreaterThanOrEqual(0);
  expect(outcome.peakMemoryBytes).toBeGreaterThan(0);
  expect(outcome.nearLimits).toBeUndefined();
});
