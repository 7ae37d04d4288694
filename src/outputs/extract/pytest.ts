/** pytest's report. */
import { countIn, cutText, type FailedTest, placeIn, type TestResults } from './results.ts';

/** `3 failed, 2 passed in 0.12s`, between equals signs unless it is quiet. */
const SUMMARY = /^=* ?((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s.*$/;
const FAILED = /^(FAILED|ERROR) ([^\s:]+)(?:::(.+))?$/;

export function parsePytest(lines: readonly string[]): TestResults | undefined {
  const summary = SUMMARY.exec(lines.findLast((line) => SUMMARY.test(line)) ?? '')?.[1];
  if (summary === undefined || !/\b(?:passed|failed|errors?|skipped)\b/.test(summary)) return undefined;
  const count = (word: string): number => countIn(summary, `${word}\\b`);
  const places = findPlaces(lines);
  const failures = lines.flatMap((line) => failureOf(line, places) ?? []);
  return {
    kind: 'tests',
    tool: 'pytest',
    passed: count('passed') + count('xpassed'),
    failed: count('failed') + count('errors?'),
    skipped: count('skipped') + count('xfailed'),
    failures,
  };
}

function failureOf(line: string, places: ReadonlyMap<string, number>): FailedTest | undefined {
  // Of a line, so that a name with " - " in its parameters costs its end, and not the test.
  const dash = line.indexOf(' - ');
  const found = FAILED.exec(dash === -1 ? line : line.slice(0, dash));
  if (found === null) return undefined;
  const [, , file = '', name = file] = found;
  const message = dash === -1 ? undefined : cutText(line.slice(dash + 3));
  return { name: cutText(name), file, line: places.get(name.replaceAll('::', '.')), message };
}

/** The last place in each section, which is headed by the test's name: `____ TestThing.test_raises ____`. */
function findPlaces(lines: readonly string[]): Map<string, number> {
  const places = new Map<string, number>();
  let name: string | undefined;
  for (const line of lines) {
    const header = /^_{3,} (?:ERROR at (?:setup|teardown) of )?(\S.*) _{3,}$/.exec(line)?.[1];
    if (header !== undefined) name = header;
    else if (line.startsWith('====')) name = undefined;
    const place = /^\S+\.py:\d+: /.test(line) ? placeIn(line.slice(0, line.indexOf(': '))) : undefined;
    if (name !== undefined && place !== undefined) places.set(name, place.line);
  }
  return places;
}
