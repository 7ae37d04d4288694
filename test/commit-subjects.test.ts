import { expect, test } from 'vitest';
import { problemOf } from '../scripts/commit-subjects.ts';

test.each([
  'fix(sandbox): keep .git read-only after a rename',
  'docs: shorten the README',
  'perf(executions): speed up starts',
])('accepts %s', (subject) => {
  expect(problemOf(subject)).toBeUndefined();
});

test.each([
  ['Fix a bug', 'is not of the form'],
  ['fix:no space', 'is not of the form'],
  ['wip: something', 'is not of the form'],
  ['fix(sandbox): fixed the mounts', 'imperative: fixed'],
  ['feat: adding a tool', 'imperative: adding'],
  ['docs: shorten the README.', 'full stop'],
  [`fix: ${'x'.repeat(80)}`, '85 characters'],
])('refuses %s', (subject, problem) => {
  expect(problemOf(subject)).toContain(problem);
});
