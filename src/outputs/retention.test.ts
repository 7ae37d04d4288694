import { describe, expect, it } from 'vitest';
import { type Candidate, decideExpired } from './retention.ts';

const HOUR = 3_600_000;
const now = 1000 * HOUR;
const candidate = (
  id: string,
  hoursAgo: number,
  bytes = 10,
  isRunning = false,
  owner = 'alice',
): Candidate => ({
  id,
  owner,
  lastActiveMs: now - hoursAgo * HOUR,
  bytes,
  isRunning,
});
const wide = { maxAgeHours: 100, maxTotalBytes: 1_000_000, maxCount: 1000 };

describe('decideExpired', () => {
  it.each([
    ['nothing of nothing', [], wide, []],
    ['nothing within bounds', [candidate('a', 100), candidate('b', 0)], wide, []],
    [
      'what is too old',
      [candidate('new', 1), candidate('old', 101), candidate('older', 200)],
      wide,
      ['older', 'old'],
    ],
    [
      'the oldest above the count',
      [candidate('b', 2), candidate('a', 3), candidate('c', 1)],
      { ...wide, maxCount: 2 },
      ['a'],
    ],
    [
      'the oldest until the size fits',
      [candidate('a', 3, 500), candidate('b', 2, 400), candidate('c', 1, 300)],
      { ...wide, maxTotalBytes: 500 },
      ['a', 'b'],
    ],
    [
      'nothing that runs, though it counts',
      [candidate('running', 500, 900, true), candidate('b', 2, 50), candidate('c', 1, 50)],
      { ...wide, maxTotalBytes: 960 },
      ['b'],
    ],
    [
      'all that ended, where what runs is too much alone',
      [candidate('r', 1, 900, true), candidate('b', 2)],
      { ...wide, maxTotalBytes: 1 },
      ['b'],
    ],
    [
      'everything at a count of 0',
      [candidate('a', 2), candidate('b', 1)],
      { ...wide, maxCount: 0 },
      ['a', 'b'],
    ],
    [
      'nothing of those who have little, though it is older',
      [
        candidate('of bob', 50, 100, false, 'bob'),
        ...[5, 4, 3, 2, 1].map((hours) => candidate(`flood ${hours}`, hours, 400)),
      ],
      { ...wide, maxTotalBytes: 1000 },
      ['flood 5', 'flood 4', 'flood 3'],
    ],
    [
      'of those who have little once they have the most that ended',
      [candidate('r', 1, 900, true), candidate('a', 2, 10), candidate('b', 3, 20, false, 'bob')],
      { ...wide, maxTotalBytes: 900 },
      ['a', 'b'],
    ],
  ])('chooses %s', (_name, candidates, retention, expired) => {
    expect(decideExpired(candidates, retention, now)).toEqual(expired);
  });
});
