import { expect, test } from 'vitest';
import { fitWritten } from './terminal-output.ts';

const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index}`);

test.for([
  ['everything fits', 1000, { start: 5, head: [], tailFrom: 5, tail: ['a', 'b', ''] }, 'a\nb\n', false],
  [
    'the middle is left out',
    30,
    { start: 1, head: [], tailFrom: 1, tail: numbers(1, 99) },
    '1\n2\n3\n4\n5\n[… 88 lines left out: terminal_get_output with start_line 6 and line_count 88]\n94\n95\n96\n97\n98\n99',
    true,
  ],
  [
    'the middle has left memory',
    30,
    { start: 10, head: ['a', 'b'], tailFrom: 5000, tail: ['y', 'z'] },
    'a\nb\n[… 4988 lines left out: terminal_get_output with start_line 12 and line_count 4988]\ny\nz',
    true,
  ],
  [
    'the beginning is not known',
    30,
    { start: 10, head: [], tailFrom: 50_000, tail: ['y'] },
    '[… 49990 lines left out: terminal_get_output with start_line 10 and line_count 10000]\ny',
    true,
  ],
  [
    'a line is longer than an answer',
    30,
    { start: 3, head: [], tailFrom: 3, tail: ['x'.repeat(100), ''] },
    `${'x'.repeat(10)}…\n[… 1 line left out: terminal_get_output with start_line 3 and line_count 1]\n`,
    true,
  ],
  [
    'head and tail meet',
    12,
    { start: 1, head: ['a', 'b', 'c'], tailFrom: 3, tail: ['c', 'd'] },
    'a\nb\nc\nd',
    false,
  ],
] as const)('%s', ([, maxBytes, written, text, isCut]) => {
  expect(fitWritten(written, maxBytes)).toEqual({ text, isCut });
});
