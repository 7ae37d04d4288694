/** Jest's reporter. */
import { cutText, type FailedTest, firstText, placeIn, type TestResults } from './results.ts';

const SUMMARY = /^Tests: +.*\b\d+ total$/;
const TITLE = /^ {2}● (.+)$/;
const NOT_A_TEST = /^(?:Console|Deprecation Warning|Validation Warning)/;

export function parseJest(lines: readonly string[]): TestResults | undefined {
  const summary = lines.findLast((line) => SUMMARY.test(line));
  if (summary === undefined) return undefined;
  const count = (word: string): number => Number(new RegExp(`(\\d+) ${word}`).exec(summary)?.[1] ?? 0);
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
    const end = endOfBlock(lines, at + 1);
    const place = lines
      .slice(at + 1, end)
      .filter((one) => /^\s+at /.test(one) && !one.includes('node_modules'))
      .map(placeIn)
      .find((one) => one !== undefined);
    const failure = { name: cutText(title), file, line: place?.line, message: firstText(lines, at + 1, end) };
    const key = `${file}\0${title}`;
    if (!found.has(key)) found.set(key, failure);
  });
  return [...found.values()];
}

function endOfBlock(lines: readonly string[], from: number): number {
  for (let at = from; at < lines.length; at++) if (/^\S|^ {2}● /.test(lines[at] ?? '')) return at;
  return lines.length;
}

/** `FAIL src/a.test.js (5.1 s)`, perhaps with the name of a project before it. */
function fileOf(line: string): string | undefined {
  if (!/^(?:FAIL|PASS) /.test(line)) return undefined;
  return line
    .replace(/ \([\d.]+ m?s\)$/, '')
    .split(' ')
    .at(-1);
}
