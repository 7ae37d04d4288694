import { expect, test } from 'vitest';
import { ATTEMPTS, describeEscapes } from './escapes/describe.ts';
import { HOME_WORKSPACE } from './escapes/workspace.ts';

test('the table is long, and no two attempts have one name', () => {
  const names = [...ATTEMPTS, ...HOME_WORKSPACE].map(({ name }) => name);
  expect(names.length).toBeGreaterThan(200);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

describeEscapes('ordinary user');
