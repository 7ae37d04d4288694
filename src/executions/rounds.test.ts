import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createRounds } from './rounds.ts';

test('each is looked at when it asked for it, one look at a time, until it is stopped', async () => {
  const rounds = createRounds();
  let quick = 0;
  let slow = 0;
  let running = 0;
  const stopQuick = rounds.add(async () => {
    quick++;
    return 1;
  }, 1);
  const stopSlow = rounds.add(async () => {
    expect(++running).toBe(1);
    slow++;
    await sleep(20);
    running--;
    return 1;
  }, 1);
  const stopNever = rounds.add(() => Promise.reject(new Error('looked at')), 60_000);
  await expect.poll(() => quick, { interval: 5 }).toBeGreaterThan(20);
  await expect.poll(() => slow, { interval: 5 }).toBeGreaterThan(2);
  stopQuick();
  stopSlow();
  stopNever();
  const before = { quick, slow };
  await sleep(50);
  expect({ quick, slow }).toEqual(before);
});

test('who is nearly due is looked at with who is', async () => {
  const rounds = createRounds();
  const seen: string[] = [];
  const stops = [
    rounds.add(async () => (seen.push('first'), 60_000), 100),
    rounds.add(async () => (seen.push('second'), 60_000), 110),
    rounds.add(async () => (seen.push('late'), 60_000), 60_000),
  ];
  await expect.poll(() => seen.length, { interval: 1 }).toBeGreaterThan(0);
  expect(seen).toEqual(['first', 'second']);
  for (const stop of stops) stop();
});
