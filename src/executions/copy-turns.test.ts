import { expect, it } from 'vitest';
import { createTurns, TURN_BYTES, TURNS_AT_ONCE } from './copy-turns.ts';

const CHUNK = 64 * 1024;
const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** As many copies, each of which always has more. */
function flood(count: number) {
  const turns = createTurns();
  const copied = Array.from({ length: count }, () => 0);
  const copies = copied.map((_, index) => {
    const turn = turns.join(run);
    function run(): void {
      do copied[index] = (copied[index] ?? 0) + CHUNK;
      while (turn.take(CHUNK));
    }
    return { run, leave: turn.leave };
  });
  return { turns, copied, copies };
}

it('in one turn of the event loop only a few of many copy, and no more than their part', async () => {
  const { copied, copies } = flood(50);
  for (const { run } of copies) run();
  expect(copied).toEqual(copies.map(() => TURN_BYTES));
  for (let turn = 1; turn <= 25; turn++) {
    await nextTurn();
    const total = copied.reduce((sum, bytes) => sum + bytes, 0);
    expect(total).toBeLessThanOrEqual((50 + turn * TURNS_AT_ONCE) * TURN_BYTES);
  }
  // And everybody's turn has come as often as anybody else's.
  expect(Math.max(...copied) - Math.min(...copied)).toBeLessThanOrEqual(TURN_BYTES);
  for (const { leave } of copies) leave();
});

it('one alone goes on at every turn', async () => {
  const { copied, copies } = flood(1);
  copies[0]?.run();
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  expect(copied[0]).toBeGreaterThanOrEqual(5 * TURN_BYTES);
  copies[0]?.leave();
  const [before] = copied;
  for (let turn = 0; turn < 3; turn++) await nextTurn();
  expect(copied[0]).toBeLessThanOrEqual((before ?? 0) + TURN_BYTES);
});

it('what prints little never waits', async () => {
  const { turns, copies } = flood(50);
  for (const { run } of copies) run();
  const quiet = turns.join(() => {
    throw new Error('it never had to wait');
  });
  expect([100, 1000, 100_000].map((bytes) => quiet.take(bytes))).toEqual([true, true, true]);
  await nextTurn();
  for (const { leave } of copies) leave();
});
