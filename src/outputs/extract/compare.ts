/**
 * What differs between two runs: lines that only one of them has, whatever their order, since tests and builds run in
 * parallel; and failures that are gone or new.
 */
import { plural } from '../phrases.ts';
import { renderDiagnostic, renderFailure } from './render.ts';
import type { Results } from './results.ts';

/** Times of day, dates, durations, and addresses in memory. */
const VOLATILE =
  /\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?Z?)?|\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?\b|\b0x[0-9a-fA-F]{4,16}\b|\b\d{1,9}(?:\.\d{1,9})? ?(?:ns|µs|us|ms|s|sec|seconds|min|minutes)\b/g;

/** Lines come with their numbers. */
export function compareLines(earlier: string, later: string, ignoresVolatile: boolean) {
  const key = (line: string): string => (ignoresVolatile ? line.replace(VOLATILE, '·') : line).trimEnd();
  const before = linesOf(earlier);
  const after = linesOf(later);
  const beforeKeys = before.map(key);
  const afterKeys = after.map(key);
  return {
    removed: onlyIn(before, beforeKeys, afterKeys),
    added: onlyIn(after, afterKeys, beforeKeys),
    isSameOrder:
      beforeKeys.length === afterKeys.length && beforeKeys.every((one, at) => one === afterKeys[at]),
  };
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** Lines that are more often here than there. */
function onlyIn(lines: readonly string[], keys: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const other of others) counts.set(other, (counts.get(other) ?? 0) + 1);
  return lines.flatMap((line, at) => {
    const one = keys[at] ?? '';
    const left = counts.get(one) ?? 0;
    if (left > 0) counts.set(one, left - 1);
    return left > 0 ? [] : [`${at + 1}: ${line}`];
  });
}

/** Undefined where the two are not of one kind, or of one that has no failures. */
export function compareResults(
  earlier: Results | undefined,
  later: Results | undefined,
): { summary: string; gone: string[]; fresh: string[] } | undefined {
  const before = earlier && failuresOf(earlier);
  const after = later && failuresOf(later);
  if (before === undefined || after === undefined || earlier?.kind !== later?.kind) return undefined;
  const gone = [...before].filter(([key]) => !after.has(key)).map(([, text]) => text);
  const fresh = [...after].filter(([key]) => !before.has(key)).map(([, text]) => text);
  // "2 failures fewer, 1 new"
  const summary = `${plural(gone.length, later?.kind === 'tests' ? 'failure' : 'diagnostic')} fewer, ${fresh.length} new`;
  return { summary, gone, fresh };
}

/** By what stays the same when lines move. */
function failuresOf(results: Results): Map<string, string> | undefined {
  if (results.kind === 'tests')
    return new Map(results.failures.map((one) => [`${one.file ?? ''}\0${one.name}`, renderFailure(one)]));
  if (results.kind !== 'diagnostics') return undefined;
  return new Map(
    results.items.map((one) => [[one.file, one.code, one.message].join('\0'), renderDiagnostic(one)]),
  );
}
