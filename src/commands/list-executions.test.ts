import { expect, test } from 'vitest';
import type { ObservedExecution } from '../executions/executions.ts';
import { chooseExecution } from './list-executions.ts';

const IDS = [
  'exec_abcdefgh23456789abcdefgh23',
  'exec_abcdzzzz23456789abcdefgh23',
  'exec_99999999999999999999999999',
];
const all = IDS.map((id) => ({ id }) as ObservedExecution);

test.each([
  ['the whole id', IDS[0] ?? '', 0],
  ['its beginning', 'exec_abcde', 0],
  ['another one', 'exec_abcdz', 1],
  ['its terminal', 'term_abcdzzzz23456789abcdefgh23', 1],
  ['an output of it', 'out_abcdefgh23456789abcdefgh23s', 0],
  ['four characters', 'exec_9999', 2],
])('an execution is found by %s', (_, asked, at) => {
  expect(chooseExecution(all, asked)).toBe(all[at]);
});

test.each([
  ['nothing of the kind', 'foo', 'There is no execution "foo"'],
  ['another id', 'exec_8888', 'There is no execution'],
  ['too little of it', 'exec_999', 'There is no execution'],
  ['no prefix', '9999', 'There is no execution'],
  ['a path', '../../etc/passwd', 'There is no execution'],
  ['the beginning of two', 'exec_abcd', 'matches 2 executions'],
  ['everything', 'exec_', 'There is no execution'],
  ['more than an id', 'exec_999999999999999999999999999999', 'There is no execution'],
])('%s is answered clearly', (_, asked, said) => {
  expect(() => chooseExecution(all, asked)).toThrow(said);
});
