/** `go test`, with or without -v. */
import { cutText, type FailedTest, type TestResults } from './results.ts';

const RESULT = /^\s*--- (FAIL|PASS|SKIP): (\S+) \([\d.]+s\)$/;
const PACKAGE = /^(?:FAIL|ok) {0,2}\t(\S+)(?:\t| \[)/;

export function parseGoTest(lines: readonly string[]): TestResults | undefined {
  const results = lines.flatMap((line) => {
    const [, how, name] = RESULT.exec(line) ?? [];
    return how === undefined || name === undefined ? [] : [{ how, name }];
  });
  const unbuilt = lines.flatMap((line) => /^FAIL\t(\S+) \[(?:build|setup) failed\]$/.exec(line)?.[1] ?? []);
  if (!lines.some((line) => PACKAGE.test(line)) || (results.length === 0 && unbuilt.length === 0))
    return undefined;
  // A test with subtests fails with them: it is no failure of its own.
  const parents = new Set(results.flatMap(({ name }) => parentsOf(name)));
  const of = (wanted: string) => results.filter(({ how, name }) => how === wanted && !parents.has(name));
  const details = findDetails(lines);
  const passed = of('PASS').length;
  const failures: FailedTest[] = [
    ...of('FAIL').map(({ name }) => ({ name: cutText(name), ...details.get(name) })),
    ...unbuilt.map((name) => ({ name, message: 'it could not be built' })),
  ];
  return {
    kind: 'tests',
    tool: 'go test',
    passed: passed === 0 ? undefined : passed,
    failed: failures.length,
    skipped: of('SKIP').length,
    failures,
  };
}

function parentsOf(name: string): string[] {
  const parts = name.split('/');
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join('/'));
}

/** The first `add_test.go:9: got 2` of each: below its result, or with -v below the line that says that it runs. */
function findDetails(lines: readonly string[]): Map<string, Omit<FailedTest, 'name'>> {
  const details = new Map<string, Omit<FailedTest, 'name'>>();
  let name: string | undefined;
  for (const line of lines) {
    name = RESULT.exec(line)?.[2] ?? /^=== (?:RUN|NAME|CONT) +(\S+)$/.exec(line)?.[1] ?? name;
    const [, file, number, message = ''] = /^\s+(\S+\.go):(\d+): (.*)$/.exec(line) ?? [];
    if (name === undefined || file === undefined || details.has(name)) continue;
    details.set(name, { file, line: Number(number), message: cutText(message) });
  }
  return details;
}
