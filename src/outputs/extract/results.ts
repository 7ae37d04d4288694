/** What can be extracted from an output, whichever tool printed it. */

export interface FailedTest {
  readonly name: string;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly message?: string | undefined;
}

export interface TestResults {
  readonly kind: 'tests';
  readonly tool: string;
  /** Absent where the tool did not say. */
  readonly passed?: number | undefined;
  readonly failed: number;
  readonly skipped?: number | undefined;
  readonly failures: readonly FailedTest[];
}

export interface Diagnostic {
  readonly file: string;
  readonly line: number;
  readonly column?: number | undefined;
  readonly severity: 'error' | 'warning';
  readonly code?: string | undefined;
  readonly message: string;
}

export interface Diagnostics {
  readonly kind: 'diagnostics';
  readonly tool: string;
  readonly errors: number;
  readonly warnings: number;
  readonly items: readonly Diagnostic[];
}

export interface Table {
  readonly kind: 'table';
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface JsonValues {
  readonly kind: 'json';
  /** In the order in which they stand. */
  readonly values: readonly unknown[];
}

export type Results = TestResults | Diagnostics | Table | JsonValues;

/** A message or name is cut there: a diff of two objects may have a thousand lines. */
const TEXT_CHARS = 300;

export function cutText(text: string): string {
  const trimmed = text.trim();
  return trimmed.length > TEXT_CHARS ? `${trimmed.slice(0, TEXT_CHARS - 1)}…` : trimmed;
}

/** The first line that has text. */
export function firstText(lines: readonly string[]): string | undefined {
  const found = lines.find((line) => line.trim() !== '');
  return found && cutText(found);
}

/** `2 failed` in a summary; 0 where it has no such count. */
export const countIn = (summary: string, word: string): number =>
  Number(new RegExp(`(\\d+) ${word}`).exec(summary)?.[1] ?? 0);

/** The lines from `at` on, before the first that begins something else. */
export function blockFrom(lines: readonly string[], at: number, begin: RegExp): readonly string[] {
  let end = at;
  while (end < lines.length && !begin.test(lines[end] ?? '')) end++;
  return lines.slice(at, end);
}

/** `path:12:3`, perhaps behind other text: the last one in the line. */
export function placeIn(line: string): { file: string; line: number } | undefined {
  const found = /(?:^|[\s('"])((?:[A-Za-z]:)?[^\s:()'"]+):(\d{1,7})(?::\d{1,7})?[)'"]?$/.exec(line.trimEnd());
  return found === null ? undefined : { file: found[1] ?? '', line: Number(found[2]) };
}
