import { describe, expect, test } from 'vitest';
import type { FrontProcess } from './foreground.ts';
import { passesGuard, readGuard } from './guard.ts';

const SHELL = 100;
const run = (about: Partial<FrontProcess>): FrontProcess => ({
  pid: 200,
  name: 'cat',
  path: '/nowhere/cat',
  calledAs: 'cat',
  ...about,
});
const front = (...processes: FrontProcess[]): FrontProcess[] => processes;
const passes = (guard: string, now: readonly FrontProcess[]): boolean | undefined => {
  const target = readGuard(guard);
  return target === undefined ? undefined : passesGuard(target, now, SHELL);
};

const bash = run({ pid: SHELL, name: 'bash', path: '/nowhere/bash', calledAs: 'bash' });
const long = run({ name: 'a-program-with-a', calledAs: 'a-program-with-a-long-name' });

describe('a guard', () => {
  test.for([
    ['cat', front(run({})), true],
    [' cat ', front(run({})), true],
    ['Cat', front(run({})), false],
    ['ca', front(run({})), false],
    ['catt', front(run({})), false],
    ['/nowhere/cat', front(run({})), true],
    ['/nowhere/../nowhere/cat', front(run({})), false],
    ['/elsewhere/cat', front(run({})), false],
    ['pid:200', front(run({})), true],
    ['pid:20', front(run({})), false],
    ['sessionleader:', front(bash), true],
    ['loginshell:', front(bash), true],
    ['sessionleader:', front(run({})), false],
    // A login shell is called -bash, an interpreter has a name of its own.
    ['python3', front(run({ name: 'python3.11', calledAs: 'python3' })), true],
    // The kernel keeps 15 characters of a name.
    ['a-program-with-a-long-name', front(run({ name: 'a-program-with-', calledAs: undefined })), true],
    ['a-program-with-', front(long), false],
    ['another-program-with-a', front(run({ name: 'a-program-with-', calledAs: undefined })), false],
    // Anybody of a pipeline.
    ['cat', front(run({ name: 'yes', calledAs: 'yes' }), run({})), true],
    ['bash', front(run({ name: 'yes', calledAs: 'yes' }), run({})), false],
    ['*', front(), true],
    ['cat', front(), false],
    ['sessionleader:', front(), false],
  ] as const)('%s', ([guard, now, expected]) => {
    expect(passes(guard, now)).toBe(expected);
  });

  test.each([
    '',
    '  ',
    'pid:',
    'pid:x',
    'pid:-1',
    'pid:12345678901',
    'user:root',
    'sessionleader:bash',
    'sessionLeader:',
  ])('%j is none', (text) => {
    expect(readGuard(text)).toBeUndefined();
  });
});
