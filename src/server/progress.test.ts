import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../base/limits.ts';
import { createProgress } from './progress.ts';

function setUp(options: { intervalMs?: number; delayMs?: number } = {}) {
  const sent: { progress: number; message: string; atMs: number }[] = [];
  const controller = new AbortController();
  const progress = createProgress({
    signal: controller.signal,
    intervalMs: options.intervalMs ?? 50,
    send: async (count, message) => {
      await sleep(options.delayMs ?? 0);
      sent.push({ progress: count, message, atMs: performance.now() });
    },
  });
  return { sent, progress, controller };
}

describe('progress', () => {
  it('sends the first message at once and the last before the answer', async () => {
    const { sent, progress } = setUp();
    progress.report('a');
    progress.report('b');
    progress.report('c');
    await progress.finish();
    expect(sent.map(({ message }) => message)).toEqual(['a', 'b\nc']);
  });

  it('keeps its distance and counts upwards', async () => {
    const { sent, progress } = setUp();
    const began = performance.now();
    for (let index = 0; index < 40; index++) {
      progress.report(`${index}\n`);
      await sleep(5);
    }
    await progress.finish();
    expect(sent.length).toBeGreaterThan(3);
    expect(sent.length).toBeLessThan((performance.now() - began) / 50 + 3);
    expect(sent.map(({ progress: count }) => count)).toEqual(sent.map((_, index) => index + 1));
    expect(sent.map(({ message }) => message).join('')).toBe(
      `${Array.from({ length: 40 }, (_, i) => i).join('\n')}\n`,
    );
  });

  it('says nothing after the answer or an abort', async () => {
    const { sent, progress } = setUp();
    await progress.finish();
    progress.report('late');
    const other = setUp();
    other.progress.report('a');
    other.controller.abort();
    other.progress.report('b');
    await other.progress.finish();
    await sleep(100);
    expect(sent).toEqual([]);
    expect(other.sent.map(({ message }) => message)).toEqual(['a']);
  });

  it('has one notification under way at a time, for a client that reads slowly', async () => {
    const { sent, progress } = setUp({ intervalMs: 1, delayMs: 60 });
    for (let index = 0; index < 10; index++) {
      progress.report('x');
      await sleep(10);
    }
    await progress.finish();
    expect(sent.length).toBeLessThanOrEqual(4);
    expect(sent.map(({ message }) => message).join('')).toMatch(/^(x\n?){10}$/);
  });

  it('cuts a long message to its end, on a character', async () => {
    const { sent, progress } = setUp();
    progress.report(`${'€'.repeat(5000)}!`);
    await progress.finish();
    const message = sent[0]?.message ?? '';
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(LIMITS.progressMessageBytes);
    expect(Buffer.byteLength(message)).toBeGreaterThan(LIMITS.progressMessageBytes - 3);
    expect(message).toMatch(/^€+!$/);
  });

  it('does not fail the call when a notification cannot be sent', async () => {
    const progress = createProgress({
      signal: new AbortController().signal,
      send: () => Promise.reject(new Error('closed')),
    });
    progress.report('a');
    await expect(progress.finish()).resolves.toBeUndefined();
  });
});
