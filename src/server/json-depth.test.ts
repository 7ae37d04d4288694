import { describe, expect, it } from 'vitest';
import { isDeeperThan } from './json-depth.ts';

describe('isDeeperThan', () => {
  it.each<[string, boolean]>([
    ['', false],
    ['5', false],
    ['[[[]]]', false],
    ['[[[[]]]]', true],
    ['{"a":{"b":{"c":1}}}', false],
    ['{"a":{"b":{"c":[]}}}', true],
    ['[[],[],[],[],[[]]]', false],
    ['"[[[[[[["', false],
    ['["\\"[[[[["]', false],
    ['["\\\\",[[[1]]]]', true],
    ['["\\\\\\"[[[[",[]]', false],
    ['"unclosed [[[[', false],
    ['["a","b",[["c",[', true],
    ['}}}}}[[[', false],
  ])('sees %s', (text, deeper) => {
    expect(isDeeperThan(text, 3)).toBe(deeper);
  });

  it('takes a moment even for the worst of large messages', () => {
    // Processor time: the machine may be busy with others.
    const before = process.cpuUsage();
    isDeeperThan(`"${'\\'.repeat(8_000_000)}"`, 64);
    isDeeperThan('""'.repeat(4_000_000), 64);
    isDeeperThan(`"${'\\"'.repeat(4_000_000)}"`, 64);
    isDeeperThan('[],'.repeat(2_000_000), 64);
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
  });
});
