import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createPace } from './http-pace.ts';

it('begins a few requests of each principal in a turn, in their order, and all of them in the end', async () => {
  const pace = createPace(2);
  const begun: string[] = [];
  const ask = (principal: string, label: string): void => {
    pace(principal).then(
      () => begun.push(label),
      () => undefined,
    );
  };
  for (let n = 1; n <= 7; n++) ask('alice', `a${n}`);
  await Promise.resolve();
  expect(begun).toEqual(['a1', 'a2']);
  ask('bob', 'b1');
  await Promise.resolve();
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  await turn();
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'a4']);
  ask('alice', 'a8');
  for (let n = 0; n < 5; n++) await turn();
  expect(begun.filter((label) => label.startsWith('a'))).toEqual(
    Array.from({ length: 8 }, (_, n) => `a${n + 1}`),
  );
  ask('alice', 'a9');
  await Promise.resolve();
  expect(begun.at(-1)).toBe('a9');
});
