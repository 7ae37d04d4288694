/**
 * Results of known tools in an output, as data. The output may be hostile: lines are cut, patterns take linear time, and
 * nothing of it is executed or trusted.
 */
import { parseCargoTest } from './cargo-test.ts';
import { parseDiagnostics } from './diagnostics.ts';
import { parseJson } from './extract-json.ts';
import { parseTable } from './extract-table.ts';
import { parseGoTest } from './go-test.ts';
import { parseJest } from './jest.ts';
import { parseJunit } from './junit.ts';
import { parsePytest } from './pytest.ts';
import type { Results, TestResults } from './results.ts';
import { parseTap } from './tap.ts';
import { parseVitest } from './vitest.ts';

export const EXTRACTS = ['auto', 'json', 'tests', 'diagnostics', 'table'] as const;
export type Extract = (typeof EXTRACTS)[number];

/** Of a line, to be compared with a pattern. */
const LINE_CHARS = 2000;

/** Undefined where there is nothing of the kind. `auto` takes the most informative kind. */
export function extractResults(text: string, kind: Extract): Results | undefined {
  const lines = linesOf(text);
  switch (kind) {
    case 'tests':
      return parseTests(text, lines);
    case 'diagnostics':
      return parseDiagnostics(lines);
    case 'table':
      return parseTable(lines);
    case 'json':
      return parseJson(text);
    case 'auto':
      return parseTests(text, lines) ?? parseDiagnostics(lines) ?? parseTable(lines) ?? parseJson(text);
  }
}

/** What a failed command says of its failure. */
export function extractFailure(text: string): Results | undefined {
  const lines = linesOf(text);
  const tests = parseTests(text, lines);
  return tests !== undefined && tests.failed > 0 ? tests : parseDiagnostics(lines);
}

const linesOf = (text: string): string[] =>
  text.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line).slice(0, LINE_CHARS));

function parseTests(text: string, lines: readonly string[]): TestResults | undefined {
  return (
    parseVitest(lines) ??
    parseJest(lines) ??
    parseCargoTest(lines) ??
    parseGoTest(lines) ??
    parsePytest(lines) ??
    parseTap(lines) ??
    parseJunit(text)
  );
}
