import { describe, expect, test } from 'vitest';
import type { RecordedEvent } from '../wire.ts';
import { createPlayer, type PlayerState } from './player.ts';

/** Three pieces; a pause of a minute is in the second one. */
const PIECES: readonly (readonly RecordedEvent[])[] = [
  [
    [0, 'o', 'a'],
    [1000, 'o', 'b'],
  ],
  [
    [2000, 'r', '100x30'],
    [62_000, 'o', 'c'],
  ],
  [[63_000, 'o', 'd']],
];
const DURATION_MS = 63_000;

function open({ fails = false } = {}) {
  let drawn = '';
  let loads = 0;
  let nowMs = 0;
  let waiting: ((ms: number) => void) | undefined;
  const states: PlayerState[] = [];
  const errors: unknown[] = [];
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const player = createPlayer({
    durationMs: DURATION_MS,
    async load(offset) {
      loads++;
      if (fails) throw new Error('gone');
      return {
        events: PIECES[offset] ?? [],
        ...(offset + 1 < PIECES.length && { nextOffset: offset + 1 }),
      };
    },
    async draw([, kind, text]) {
      drawn += kind === 'o' ? text : `(${text})`;
    },
    clear() {
      drawn = '';
    },
    onState: (state) => states.push(state),
    onError: (error) => errors.push(error),
    nextFrame: () =>
      new Promise((resolve) => {
        waiting = resolve;
      }),
  });
  return {
    player,
    drawn: () => drawn,
    loads: () => loads,
    state: () => states.at(-1),
    errors,
    settle,
    /** So much time passes, in frames of so long. */
    async frames(ms: number, eachMs = 100): Promise<void> {
      await settle();
      for (let passed = 0; passed < ms; passed += eachMs) {
        nowMs += eachMs;
        waiting?.(nowMs);
        await settle();
      }
    },
  };
}

describe('a recording', () => {
  test('is drawn as time passes, and stands still while it is paused', async () => {
    const { player, drawn, frames, state } = open();
    player.play();
    await frames(600);
    expect(drawn()).toBe('a');
    await frames(700);
    expect(drawn()).toBe('ab');
    player.pause();
    await frames(5000);
    expect([drawn(), state()?.isPlaying]).toEqual(['ab', false]);
    player.play();
    await frames(1200);
    expect(drawn()).toBe('ab(100x30)');
  });

  test('shortens long pauses, and stops at its end', async () => {
    const { player, drawn, frames, state } = open();
    player.play();
    await frames(2500);
    expect(drawn()).toBe('ab(100x30)');
    await frames(4000);
    expect([drawn(), state()]).toEqual([
      'ab(100x30)cd',
      { positionMs: DURATION_MS, isPlaying: false, isSeeking: false },
    ]);
    player.play();
    await frames(500);
    expect(drawn()).toBe('a');
  });

  test('keeps pauses where they are wanted, at another speed', async () => {
    const { player, drawn, frames } = open();
    player.setSkipping(false);
    player.setSpeed(10);
    player.play();
    await frames(6000);
    expect(drawn()).toBe('ab(100x30)');
    await frames(500);
    expect(drawn()).toBe('ab(100x30)cd');
  });

  test.each([
    [0, 'a', 0],
    [999, 'a', 999],
    [1000, 'ab', 1000],
    [61_999, 'ab(100x30)', 61_999],
    [62_000, 'ab(100x30)c', 62_000],
    [DURATION_MS, 'ab(100x30)cd', DURATION_MS],
    [DURATION_MS * 2, 'ab(100x30)cd', DURATION_MS],
    [-1, 'a', 0],
  ])('shows at %i what was there then, from either side', async (at, shown, positionMs) => {
    const { player, drawn, settle, state } = open();
    for (const from of [0, DURATION_MS]) {
      player.seek(from);
      await settle();
      player.seek(at);
      await settle();
      expect([drawn(), state()]).toEqual([shown, { positionMs, isPlaying: false, isSeeking: false }]);
    }
  });

  test('shows the last of many jumps, and goes on from there', async () => {
    const { player, drawn, frames, settle, state, loads } = open();
    player.play();
    for (let at = 0; at <= 60_000; at += 1000) player.seek(at);
    player.seek(500);
    await settle();
    expect([drawn(), state()]).toMatchObject(['a', { positionMs: 500, isPlaying: true }]);
    expect(loads()).toBeLessThan(10);
    await frames(800);
    expect(drawn()).toBe('ab');
  });

  test('does not run ahead of a page that was hidden', async () => {
    const { player, drawn, frames } = open();
    player.setSkipping(false);
    player.play();
    await frames(3_600_000, 3_600_000);
    await frames(3_600_000, 3_600_000);
    expect(drawn()).toBe('ab');
  });

  test('that cannot be loaded stops, and says why', async () => {
    const { player, settle, state, errors } = open({ fails: true });
    player.seek(1000);
    await settle();
    expect([state()?.isSeeking, errors]).toEqual([false, [new Error('gone')]]);
  });
});
