import { expect, test } from 'vitest';
import { createId, isId } from './ids.ts';

test('an id has 26 of 24 letters, none of which is easily confused with another or with a digit', () => {
  const ids = Array.from({ length: 500 }, () => createId('exec'));
  for (const id of ids) expect(id).toMatch(/^exec_[a-km-np-z]{26}$/);
  expect(new Set(ids.map((id) => id.slice(5)).join('')).size).toBe(24);
});

test.each([
  ['exec_abcdefghijkmnpqrstuvwxyzab', true],
  ['exec_23456789abcdefghijkmnpqrst', true],
  ['exec_23456789abcdefghijkmnpqrs', false],
  ['exec_abcdefghijklmnopqrstuvwxyz', false],
  ['term_abcdefghijkmnpqrstuvwxyzab', false],
  ['exec_../../../../../../etc/pas', false],
])('%s is an id of an execution, also one of an earlier version: %s', (id, expected) => {
  expect(isId('exec', id)).toBe(expected);
});
