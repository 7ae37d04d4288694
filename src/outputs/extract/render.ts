/** Results in words, as short as they can be read. */
import { plural } from '../phrases.ts';
import type { Diagnostic, FailedTest, Results } from './results.ts';

/** Named in one line. */
const FEW = 3;
/** Of one of them there. */
const NAME_CHARS = 80;

/** One line with counts: "3 of 214 tests failed". */
export function countResults(results: Results): string {
  switch (results.kind) {
    case 'tests': {
      const { failed, passed, skipped = 0, tool } = results;
      const ran = passed === undefined ? '' : ` of ${failed + passed}`;
      const left = skipped === 0 ? '' : `, ${skipped} skipped`;
      return `${failed}${ran} tests failed${left} (${tool})`;
    }
    case 'diagnostics': {
      const files = new Set(results.items.map(({ file }) => file)).size;
      return `${plural(results.errors, 'error')}, ${plural(results.warnings, 'warning')} in ${plural(files, 'file')} (${results.tool})`;
    }
    case 'table':
      return plural(results.rows.length, 'row');
    case 'json':
      return plural(results.values.length, 'JSON value');
  }
}

/** The counts with the first few by name, for the end of an answer. */
export function summarize(results: Results): string {
  const names =
    results.kind === 'tests'
      ? results.failures.map(({ name }) => name)
      : results.kind === 'diagnostics'
        ? results.items.filter(({ severity }) => severity === 'error').map(placeOf)
        : [];
  const shown = names
    .slice(0, FEW)
    .map((name) => (name.length > NAME_CHARS ? `${name.slice(0, NAME_CHARS)}…` : name));
  const more = names.length > FEW ? ', …' : '';
  return shown.length === 0 ? countResults(results) : `${countResults(results)}: ${shown.join(', ')}${more}`;
}

/** One line each. */
export function renderItems(results: Results): string[] {
  switch (results.kind) {
    case 'tests':
      return results.failures.map(renderFailure);
    case 'diagnostics':
      return results.items.map(renderDiagnostic);
    case 'table':
      return [results.columns.join('\t'), ...results.rows.map((row) => row.join('\t'))];
    case 'json':
      return results.values.map((value) => JSON.stringify(value));
  }
}

export function renderFailure({ name, file, line, message }: FailedTest): string {
  const place = file === undefined ? '' : `${file}${line === undefined ? '' : `:${line}`} `;
  return `${place}${name}${message === undefined || message === '' ? '' : `: ${message}`}`;
}

export function renderDiagnostic(item: Diagnostic): string {
  const code = item.code === undefined ? '' : ` ${item.code}`;
  return `${placeOf(item)} ${item.severity}${code}: ${item.message}`;
}

function placeOf({ file, line, column }: Diagnostic): string {
  return `${file}:${line}${column === undefined ? '' : `:${column}`}`;
}
