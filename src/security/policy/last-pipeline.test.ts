import { describe, expect, test } from 'vitest';
import { findLastPipeline } from './last-pipeline.ts';

describe('the pipeline a command ends with', () => {
  test.each<[string, string[]]>([
    ['pytest -q | tail -5', ['pytest -q', 'tail -5']],
    ['a | b | c', ['a', 'b', 'c']],
    ['a |& b', ['a', 'b']],
    ['cd x && make 2>&1 | tee log | tail', ['make 2>&1', 'tee log', 'tail']],
    ['set -e; a | b', ['a', 'b']],
    ['set -euo pipefail\na | b\n', ['a', 'b']],
    ['a | b; c | d', ['c', 'd']],
    ['(exit 3) | cat', ['(exit 3)', 'cat']],
    ['{ a; b; } 2>&1 | c', ['{ a; b; } 2>&1', 'c']],
    ['for i in 1 2; do echo $i; done | grep 1', ['for i in 1 2; do echo $i; done', 'grep 1']],
    ['f() { return 1; }; f | cat', ['f', 'cat']],
    ['X=1 a "|" | b \'x | y\'', ['X=1 a "|"', "b 'x | y'"]],
    ['cd x || exit 1; a | b', ['a', 'b']],
    ['a || b | c', ['b', 'c']],
    ['a | b | c || d | e', ['d', 'e']],
    ['source venv/bin/activate && pytest | tail', ['pytest', 'tail']],
    ['. ./env; a | b', ['a', 'b']],
    ['exec 2>&1; a | b', ['a', 'b']],
    ['#!/bin/bash\n# comment | x\na | b # c | d', ['a', 'b']],
    ['grep -v x f | wc -l', ['grep -v x f', 'wc -l']],
    ['cat <<E | b\nx | y\nE', ['cat <<E', 'b']],
  ])('%j', (command, stages) => {
    expect(findLastPipeline(command)).toEqual(stages);
  });

  test.each([
    'echo hi',
    'echo "a | b"',
    'a || b',
    'a | b; c',
    'a | b &',
    'a | b && c',
    '! a | b',
    'time a | b',
    'if true; then a | b; fi',
    'a=$(b | c)',
    'a | b || c | d',
    'a | b; exit; c | d',
    'f() { a | b; exit; }; f; c | d',
    'eval "$x"; a | b; c | d',
    "trap 'echo bye' EXIT; a | b",
    'a | trap -p',
    'TRAPEXIT() { :; }; a | b',
    'a | b; echo ${PIPESTATUS[@]} | cat',
    'echo $pipestatus | cat',
    'echo $BASH_EXECUTION_STRING | cat',
    'echo $_ | cat',
    'echo ${_} | cat',
    'ls /proc/self/fd | wc -l',
    'lsof -p $$ | wc -l',
    'set -v; a | b',
    'set -ev; a | b',
    'set -o verbose; a | b',
    'set -r; a | b',
    'set $options; a | b',
    'a | | b',
    'a |',
    '(a | b',
    `a | ${'b'.repeat(20_000)}`,
    '',
  ])('is not reported for %j', (command) => {
    expect(findLastPipeline(command)).toBeUndefined();
  });
});
