import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createTurns } from './read-queue.ts';

const NEVER = new AbortController().signal;

/** Work that is done when it is told so. */
function createWork() {
  const begun: string[] = [];
  const finish = new Map<string, () => void>();
  return {
    begun,
    work: (label: string) => (): Promise<string> => {
      begun.push(label);
      return new Promise((resolve) => finish.set(label, () => resolve(label)));
    },
    async finish(label: string): Promise<void> {
      finish.get(label)?.();
      await sleep(0);
    },
  };
}

describe('turns', () => {
  it('are a few at a time for one principal, in the order they came, and hold up nobody else', async () => {
    const turns = createTurns(2);
    const { begun, work, finish } = createWork();
    const all = ['a1', 'a2', 'a3', 'a4'].map((label) => turns.take('alice', NEVER, work(label)));
    const other = turns.take('bob', NEVER, work('b1'));
    expect(begun).toEqual(['a1', 'a2', 'b1']);
    await finish('a2');
    expect(begun).toEqual(['a1', 'a2', 'b1', 'a3']);
    for (const label of ['a1', 'b1', 'a3', 'a4']) await finish(label);
    expect(await Promise.all([...all, other])).toEqual(['a1', 'a2', 'a3', 'a4', 'b1']);
  });

  it('go on after one that failed, and past one that was called off', async () => {
    const turns = createTurns(1);
    const { begun, work, finish } = createWork();
    const controller = new AbortController();
    const first = turns.take('alice', NEVER, work('first'));
    const failing = turns.take('alice', NEVER, () => Promise.reject(new Error('no luck'))).catch(String);
    const calledOff = turns.take('alice', controller.signal, work('called off'));
    const last = turns.take('alice', NEVER, work('last'));
    controller.abort(new Error('never mind'));
    await expect(calledOff).rejects.toThrow('never mind');
    await finish('first');
    expect(await failing).toBe('Error: no luck');
    await sleep(0);
    await finish('last');
    expect(await Promise.all([first, last])).toEqual(['first', 'last']);
    expect(begun).toEqual(['first', 'last']);
    await expect(turns.take('alice', controller.signal, work('late'))).rejects.toThrow('never mind');
  });
});
