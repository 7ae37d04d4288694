/** Jest's reporter. */
import {
  blockFrom,
  countIn,
  cutText,
  type FailedTest,
  firstText,
  placeIn,
  type TestResults,
} from './results.ts';

const SUMMARY = /^Tests: +.*\b\d+ total$/;
const TITLE = /^ {2}● (.+)$/;
const NOT_A_TEST = /^(?:Console|Deprecation Warning|Validation Warning)/;

export function parseJest(lines: readonly string[]): TestResults | undefined {
  const summary = lines.findLast((line) => SUMMARY.test(line));
  if (summary === undefined) return undefined;
  const count = (word: string): number => countIn(summary, word);
  const failures = findFailures(lines);
  return {
    kind: 'tests',
    tool: 'jest',
    passed: count('passed'),
    failed: Math.max(count('failed'), failures.length),
    skipped: count('skipped') + count('todo'),
    failures,
  };
}

/** Where many fail, all of them are printed once more at the end. */
function findFailures(lines: readonly string[]): FailedTest[] {
  const found = new Map<string, FailedTest>();
  let file: string | undefined;
  lines.forEach((line, at) => {
    file = fileOf(line) ?? file;
    const title = TITLE.exec(line)?.[1];
    if (title === undefined || NOT_A_TEST.test(title)) return;
    const block = blockFrom(lines, at + 1, /^\S|^ {2}● /);
    const place = block
      .filter((one) => /^\s+at /.test(one) && !one.includes('node_modules'))
      .map(placeIn)
      .find((one) => one !== undefined);
    const failure = { name: cutText(title), file, line: place?.line, message: firstText(block) };
    const key = `${file}\0${title}`;
    if (!found.has(key)) found.set(key, failure);
  });
  return [...found.values()];
}

/** `FAIL src/a.test.js (5.1 s)`, perhaps with the name of a project before it. */
function fileOf(line: string): string | undefined {
  if (!/^(?:FAIL|PASS) /.test(line)) return undefined;
  return line
    .replace(/ \([\d.]+ m?s\)$/, '')
    .split(' ')
    .at(-1);
}
