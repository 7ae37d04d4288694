/** Vitest's reporters for people. */
import {
  blockFrom,
  countIn,
  cutText,
  type FailedTest,
  firstText,
  placeIn,
  type TestResults,
} from './results.ts';

const SUMMARY = /^\s*Tests {2}(.*\(\d+\))\s*$/;
const FAIL = /^\s*FAIL {2}(\S.*)$/;

export function parseVitest(lines: readonly string[]): TestResults | undefined {
  const summary = lines.findLast((line) => SUMMARY.test(line));
  const failures = findFailures(lines);
  const isVitest = lines.some((line) => /^\s*RUN {2}v\d|^\s*Test Files {2}/.test(line));
  if (!isVitest || (summary === undefined && failures.length === 0)) return undefined;
  const count = (word: string): number => countIn(summary ?? '', word);
  // A file that could not be loaded is a failure without a test.
  const failed = Math.max(count('failed'), failures.length);
  return {
    kind: 'tests',
    tool: 'vitest',
    passed: count('passed'),
    failed,
    skipped: count('skipped') + count('todo'),
    failures,
  };
}

/** Tests with one and the same error stand above it together. */
function findFailures(lines: readonly string[]): FailedTest[] {
  const failures: FailedTest[] = [];
  let together: string[] = [];
  lines.forEach((line, at) => {
    const title = FAIL.exec(line)?.[1];
    if (title === undefined) return;
    together.push(title);
    if (FAIL.test(lines[at + 1] ?? '')) return;
    const block = blockFrom(lines, at + 1, /^\s*⎯{3}|^\s*FAIL {2}/);
    const message = firstText(block);
    const place = block
      .map((one) => (/^\s*❯ /.test(one) ? placeIn(one) : undefined))
      .find((one) => one !== undefined);
    failures.push(...together.map((one) => ({ ...nameOf(one), line: place?.line, message })));
    together = [];
  });
  return failures;
}

/** `unit  src/a.test.ts > group > name`, or `src/a.test.ts [ src/a.test.ts ]` where it was not loaded. */
function nameOf(title: string): { name: string; file: string } {
  const [place = '', ...names] = title.replace(/ \[ [^[\]]* \]$/, '').split(' > ');
  const file = place.trim().split(/\s+/).at(-1) ?? '';
  return { name: cutText(names.join(' > ')) || file, file };
}
