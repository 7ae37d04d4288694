import { expect, test } from 'vitest';
import { createDecisionCounts } from './decision-counts.ts';

const MINUTE = 60_000;

test('decisions are counted by principal and minute, for a week', () => {
  let nowMs = 1_000_000 * MINUTE;
  const counts = createDecisionCounts({ now: () => nowMs });
  counts.note('a', 'allow');
  counts.note('a', 'deny');
  counts.note('b', 'deny');
  nowMs += 10 * MINUTE;
  counts.note('a', 'allow');
  counts.note('a', 'ask');
  expect(counts.since('a', nowMs - 5 * MINUTE)).toEqual({ allow: 1, deny: 0, ask: 1 });
  expect(counts.since('a', nowMs - 10 * MINUTE)).toEqual({ allow: 2, deny: 1, ask: 1 });
  expect(counts.since('b', 0)).toEqual({ allow: 0, deny: 1, ask: 0 });
  expect(counts.since('c', 0)).toEqual({ allow: 0, deny: 0, ask: 0 });
  for (let n = 0; n < 7 * 24 * 60; n++) {
    nowMs += MINUTE;
    counts.note('a', 'allow');
  }
  expect(counts.since('a', 0)).toEqual({ allow: 7 * 24 * 60, deny: 0, ask: 0 });
});
