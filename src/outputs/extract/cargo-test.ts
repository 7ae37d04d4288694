/** `cargo test`. */
import { cutText, type FailedTest, firstText, type TestResults } from './results.ts';

const RESULT = /^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;/;

export function parseCargoTest(lines: readonly string[]): TestResults | undefined {
  // One for each program: unit tests, integration tests, examples in documentation.
  const results = lines.flatMap((line) => {
    const found = RESULT.exec(line);
    return found === null ? [] : [found.slice(1).map(Number)];
  });
  if (results.length === 0) return undefined;
  const sum = (at: number): number => results.reduce((total, counts) => total + (counts[at] ?? 0), 0);
  const sections = new Map(
    lines.flatMap((line, at) => {
      const name = /^---- (\S.*) stdout ----$/.exec(line)?.[1];
      return name === undefined ? [] : [[name, at] as const];
    }),
  );
  const failures = lines.flatMap((line): FailedTest[] => {
    const name = /^test (\S.*) \.\.\. FAILED$/.exec(line)?.[1];
    return name === undefined ? [] : [{ name: cutText(name), ...detailOf(lines, sections.get(name)) }];
  });
  return { kind: 'tests', tool: 'cargo test', passed: sum(0), failed: sum(1), skipped: sum(2), failures };
}

function detailOf(lines: readonly string[], from: number | undefined): Omit<FailedTest, 'name'> {
  if (from === undefined) return {};
  for (let at = from + 1; at < Math.min(from + 200, lines.length); at++) {
    const line = lines[at] ?? '';
    if (line.startsWith('---- ')) break;
    const [, file, number] = /panicked at (?:'.*', )?([^\s:']+):(\d+):\d+:?$/.exec(line) ?? [];
    if (file === undefined) continue;
    const quoted = /panicked at '(.*)', /.exec(line)?.[1];
    return { file, line: Number(number), message: quoted ?? firstText(lines.slice(at + 1, at + 2)) };
  }
  return {};
}
