/** Clocks are set while something runs: by NTP, by a person, by a machine that wakes up. No duration may notice. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createWorld } from '../../test/support/world.ts';
import { ticks } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { durationOf, spanOf } from './record.ts';

const HOUR_MS = 3_600_000;

test.each([
  ['forward', 8 * HOUR_MS],
  ['back', -8 * HOUR_MS],
])('a clock that is set %s changes no duration, limit or rate', async (_, stepMs) => {
  let offsetMs = 0;
  const clock = { now: () => Date.now() + offsetMs };
  await using world = createWorld({ clock, log: silentLog });
  const began = ticks();
  const execution = await world.start('sleep 0.5', { mode: 'background', timeoutMs: 60_000 });
  const { monitors } = world.executions;
  const { live, record } = execution;
  if (live === undefined) throw new Error('it has ended');
  const watched = { executionId: record.id, pid: live.process.pid, ...live };
  const { id } = monitors.start('local', watched, { intervalMs: 100, metrics: undefined });
  const busy = await world.start('while :; do :; done', { mode: 'background' });
  await sleep(100);
  offsetMs = stepMs;
  expect(durationOf(spanOf(record), clock.now())).toBeLessThan(ticks() - began + 1);
  const { outcome } = await world.executions
    .waitFor('local', record.id, 30_000, new AbortController().signal)
    .then(({ record: ended }) => ended);
  const summary = (await world.executions.list('local')).find((one) => one.id === record.id);
  const most = ticks() - began + 1;
  for (const durationMs of [outcome?.durationMs, durationOf(summary ?? record, clock.now())]) {
    expect(durationMs).toBeGreaterThanOrEqual(490);
    expect(durationMs).toBeLessThanOrEqual(most);
  }
  expect(outcome?.endedAtMs).toBeGreaterThanOrEqual(record.createdAtMs);
  expect(outcome).toMatchObject({ status: 'completed' });
  expect(busy.usage()?.cpuPercent).toBeGreaterThan(5);
  expect(monitors.read('local', id).summary.figures.cpuPercent?.max).toBeLessThan(1000);
  await busy.live?.end('terminated');
});

test('times of day are compared only where nobody measured, and never count backwards', () => {
  const now = ticks();
  const at = 1_000_000_000_000;
  const cases: [Parameters<typeof durationOf>[0], number][] = [
    [{ createdAtMs: at, createdTicks: now - 5000, endedAtMs: at + HOUR_MS, durationMs: 5000 }, 5000],
    [{ createdAtMs: at, endedAtMs: at + 70 }, 70],
    [{ createdAtMs: at, endedAtMs: at - HOUR_MS }, 0],
    [{ createdAtMs: at - 70 }, 70],
    [{ createdAtMs: at + HOUR_MS }, 0],
    // Of another boot.
    [{ createdAtMs: at - 70, createdTicks: now + HOUR_MS }, 70],
  ];
  for (const [span, expected] of cases) expect(durationOf(span, at)).toBe(expected);
  const running = durationOf({ createdAtMs: at - HOUR_MS, createdTicks: now - 5000 }, at);
  expect(running - 5000).toBeLessThan(1000);
});
