import { expect, test } from 'vitest';
import { createQuota } from './quota.ts';

test('each principal has its own limit, and all have one together', () => {
  const quota = createQuota({ each: 2, all: 3 });
  expect(quota.full('a')).toBeUndefined();
  quota.take('a');
  expect(quota.full('a')).toBeUndefined();
  quota.take('a');
  expect(quota.full('a')).toEqual({ limit: 2, isOwn: true });
  expect(quota.full('b')).toBeUndefined();
  quota.take('b');
  expect(quota.full('b')).toEqual({ limit: 3, isOwn: false });
  expect(quota.full('a')).toEqual({ limit: 2, isOwn: true });
  quota.giveBack('a');
  expect(quota.full('b')).toBeUndefined();
  expect(['a', 'b', 'c'].map(quota.count)).toEqual([1, 1, 0]);
});

test('an amount fits up to the limit', () => {
  const quota = createQuota({ each: 10 });
  quota.take('a', 4);
  expect(quota.full('a', 6)).toBeUndefined();
  expect(quota.full('a', 7)).toEqual({ limit: 10, isOwn: true });
  quota.giveBack('a', 4);
  expect(quota.holders()).toEqual([]);
});

test('knows who holds the most, and of equals the first', () => {
  const quota = createQuota({ each: 9 }, ['a', 'b', 'b', 'c']);
  expect(quota.holders()).toEqual(['b', 'a', 'c']);
});
