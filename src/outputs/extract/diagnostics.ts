/** What compilers and linters complain of: tsc, eslint, gcc and clang, rustc, ruff and flake8, mypy. */
import { cutText, type Diagnostic, type Diagnostics } from './results.ts';

interface Found extends Diagnostic {
  readonly tool: string;
}

type Parser = (line: string) => Found | undefined;

const toFound = (
  tool: string,
  [file = '', line, column, severity = 'error', message = '', code]: readonly (string | undefined)[],
): Found => ({
  tool,
  file,
  line: Number(line),
  ...(column !== undefined && { column: Number(column) }),
  severity: severity.toLowerCase() === 'warning' ? 'warning' : 'error',
  ...(code !== undefined && { code }),
  message: cutText(message),
});

/** A code in brackets at the end: `[-Wformat=]`, `[return-value]`, `[Error/no-var]`. */
function withCode(message: string): [message: string, code: string | undefined] {
  const found = / \[([^[\]\s]+)\]$/.exec(message);
  return found === null ? [message, undefined] : [message.slice(0, found.index), found[1]];
}

const ONE_LINE: readonly Parser[] = [
  (line) => {
    const found = /^(\S.*?)(?:\((\d+),(\d+)\):|:(\d+):(\d+) -) (error|warning) (TS\d+): (.*)$/.exec(line);
    if (found === null) return undefined;
    const [, file, row, column, row2, column2, severity, code, message] = found;
    return toFound('tsc', [file, row ?? row2, column ?? column2, severity, message, code]);
  },
  (line) => {
    const found = /^((?:[A-Za-z]:)?[^\s:][^:]*):(\d+):(?:(\d+):)? (?:fatal )?(error|warning): (.*)$/.exec(
      line,
    );
    if (found === null) return undefined;
    const [, file, row, column, severity, text = ''] = found;
    const [message, code] = withCode(text);
    const isMypy = file?.endsWith('.py') === true || file?.endsWith('.pyi') === true;
    return toFound(isMypy ? 'mypy' : 'gcc', [file, row, column, severity, message, code]);
  },
  (line) => {
    const found = /^((?:[A-Za-z]:)?[^\s:][^:]*):(\d+):(\d+): ([A-Z]{1,4}\d{3,4}) (?:\[\*\] )?(.*)$/.exec(
      line,
    );
    if (found === null) return undefined;
    const [, file, row, column, code, message] = found;
    return toFound('ruff', [file, row, column, 'error', message, code]);
  },
  (line) => {
    const found = /^((?:[A-Za-z]:)?[^\s:][^:]*):(\d+):(\d+): (.*) \[(Error|Warning)\/([^[\]\s]+)\]$/.exec(
      line,
    );
    if (found === null) return undefined;
    const [, file, row, column, message, severity, code] = found;
    return toFound('eslint', [file, row, column, severity, message, code]);
  },
];

/** In every line that is a diagnostic. */
const MARK = /(?:error|warning)(?:: |\[| TS\d)|\d +(?:error|warning) |[A-Z]\d{3,4} |\[(?:Error|Warning)\//;

/** Whether it may hold one: cheap, since most text does not. */
export const hasDiagnostics = (text: string): boolean => MARK.test(text);

export function parseDiagnostics(lines: readonly string[]): Diagnostics | undefined {
  const found: Found[] = [];
  let eslintFile: string | undefined;
  lines.forEach((line, at) => {
    const one = MARK.test(line) ? parseLine(line, lines[at + 1] ?? '', eslintFile) : undefined;
    if (one !== undefined) found.push(one);
    else if (line.trim() === '') eslintFile = undefined;
    else if (/^\S.*\.\w{1,5}$/.test(line)) eslintFile = line;
  });
  return found.length === 0 ? undefined : describe(found);
}

function parseLine(line: string, next: string, eslintFile: string | undefined): Found | undefined {
  const one = ONE_LINE.map((parse) => parse(line)).find((parsed) => parsed !== undefined);
  return one ?? withArrow(line, next) ?? inEslintFile(eslintFile, line);
}

/** rustc, and ruff's full report: what it is, and in the next line where. */
function withArrow(line: string, next: string): Found | undefined {
  const [, file, row, column] = /^ *--> ([^\s:][^:]*):(\d+):(\d+)$/.exec(next) ?? [];
  if (file === undefined) return undefined;
  const rust = /^(error|warning)(?:\[([\w:-]+)\])?: (.*)$/.exec(line);
  if (rust !== null) return toFound('rustc', [file, row, column, rust[1], rust[3], rust[2]]);
  const ruff = /^([A-Z]{1,4}\d{3,4}) (?:\[\*\] )?(.*)$/.exec(line);
  return ruff === null ? undefined : toFound('ruff', [file, row, column, 'error', ruff[2], ruff[1]]);
}

/** eslint's usual report: a file, and below it lines such as `  3:5  error  'x' is not used  no-unused-vars`. */
function inEslintFile(file: string | undefined, line: string): Found | undefined {
  const found = /^ +(\d+):(\d+) +(error|warning) +(\S.*)$/.exec(line);
  if (file === undefined || found === null) return undefined;
  const [, row, column, severity, text = ''] = found;
  const gap = text.lastIndexOf('  ');
  const isRule = gap !== -1 && /^[\w@/-]+$/.test(text.slice(gap + 2));
  return toFound('eslint', [
    file,
    row,
    column,
    severity,
    isRule ? text.slice(0, gap) : text,
    isRule ? text.slice(gap + 2) : undefined,
  ]);
}

/** Each once: cargo says the same of a library and of its tests. */
function describe(found: readonly Found[]): Diagnostics {
  const unique = [...new Map(found.map((one) => [JSON.stringify(one), one])).values()];
  const tools = [...new Set(unique.map(({ tool }) => tool))];
  return {
    kind: 'diagnostics',
    tool: tools.join(', '),
    errors: unique.filter(({ severity }) => severity === 'error').length,
    warnings: unique.filter(({ severity }) => severity === 'warning').length,
    items: unique.map(({ file, line, column, severity, code, message }) => ({
      file,
      line,
      ...(column !== undefined && { column }),
      severity,
      ...(code !== undefined && { code }),
      message,
    })),
  };
}
