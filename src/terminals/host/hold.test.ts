import { expect, test } from 'vitest';
import { createHold } from './hold.ts';

const NEVER = new AbortController().signal;
const LONG_MS = 60_000;

test('a terminal that nobody holds is free at once', async () => {
  expect(await createHold().untilFree(0, NEVER)).toBe(true);
});

test('it is free when the last of those who hold it gives it back', async () => {
  const hold = createHold();
  const [first, second] = [hold.take(), hold.take()];
  let isFree: boolean | undefined;
  const waiting = hold.untilFree(LONG_MS, NEVER).then((free) => (isFree = free));
  first();
  first();
  await Promise.resolve();
  expect([hold.isHeld(), isFree]).toEqual([true, undefined]);
  second();
  expect([await waiting, hold.isHeld()]).toEqual([true, false]);
});

test('it is not free when the time is over, or nobody waits any more', async () => {
  const hold = createHold();
  const giveBack = hold.take();
  expect(await hold.untilFree(1, NEVER)).toBe(false);
  const leaving = new AbortController();
  const waiting = hold.untilFree(LONG_MS, leaving.signal);
  leaving.abort();
  expect(await waiting).toBe(false);
  giveBack();
  expect(await hold.untilFree(1, NEVER)).toBe(true);
});
