/**
 * Results of known tools in an output, as data. The output may be hostile: lines are cut, patterns take linear time, and
 * nothing of it is executed or trusted.
 */
import { once } from '../../base/once.ts';
import { parseCargoTest } from './cargo-test.ts';
import { hasDiagnostics, parseDiagnostics } from './diagnostics.ts';
import { parseJson } from './extract-json.ts';
import { parseTable } from './extract-table.ts';
import { parseGoTest } from './go-test.ts';
import { parseJest } from './jest.ts';
import { parseJunit } from './junit.ts';
import { parsePytest } from './pytest.ts';
import type { Diagnostics, Results, TestResults } from './results.ts';
import { parseTap } from './tap.ts';
import { parseVitest } from './vitest.ts';

export const EXTRACTS = ['auto', 'json', 'tests', 'diagnostics', 'table'] as const;
export type Extract = (typeof EXTRACTS)[number];

/** Of a line, to be compared with a pattern. */
const LINE_CHARS = 2000;

/** Undefined where there is nothing of the kind. `auto` takes the most informative kind. */
export function extractResults(text: string, kind: Extract): Results | undefined {
  const lines = once(() => linesOf(text));
  switch (kind) {
    case 'tests':
      return parseTests(text, lines);
    case 'diagnostics':
      return findDiagnostics(text, lines);
    case 'table':
      return parseTable(lines());
    case 'json':
      return parseJson(text);
    case 'auto':
      return (
        parseTests(text, lines) ?? findDiagnostics(text, lines) ?? parseTable(lines()) ?? parseJson(text)
      );
  }
}

/** What a failed command says of its failure. An answer waits for it: where no tool left its mark, no line is looked at. */
export function extractFailure(text: string): Results | undefined {
  const lines = once(() => linesOf(text));
  const tests = parseTests(text, lines);
  return tests !== undefined && tests.failed > 0 ? tests : findDiagnostics(text, lines);
}

const linesOf = (text: string): string[] =>
  text.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line).slice(0, LINE_CHARS));

type ParseTests = (lines: readonly string[], text: string) => TestResults | undefined;

/** A mark is in every text that the parser finds results in. */
const TEST_TOOLS: readonly (readonly [mark: RegExp, parse: ParseTests])[] = [
  [/RUN {2}v\d|Test Files {2}/, parseVitest],
  [/Tests: /, parseJest],
  [/test result: /, parseCargoTest],
  [/(?:FAIL|ok) {0,2}\t/, parseGoTest],
  [/\d (?:passed|failed|errors?|skipped)\b/, parsePytest],
  [/1\.\.\d/, parseTap],
  [/<testsuite/, (_, text) => parseJunit(text)],
];

function parseTests(text: string, lines: () => readonly string[]): TestResults | undefined {
  for (const [mark, parse] of TEST_TOOLS) {
    const results = mark.test(text) ? parse(lines(), text) : undefined;
    if (results !== undefined) return results;
  }
  return undefined;
}

const findDiagnostics = (text: string, lines: () => readonly string[]): Diagnostics | undefined =>
  hasDiagnostics(text) ? parseDiagnostics(lines()) : undefined;
