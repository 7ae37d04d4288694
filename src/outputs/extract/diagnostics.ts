/** What compilers and linters complain of: tsc, eslint, gcc and clang, rustc, ruff and flake8, mypy. */
import { cutText, type Diagnostic, type Diagnostics } from './results.ts';

interface Found {
  readonly tool: string;
  readonly item: Diagnostic;
}

type Groups = Readonly<Partial<Record<string, string>>>;

function toFound(tool: string, { file = '', line, column, severity, code, message = '' }: Groups): Found {
  const item: Diagnostic = {
    file,
    line: Number(line),
    ...(column !== undefined && { column: Number(column) }),
    severity: severity?.toLowerCase() === 'warning' ? 'warning' : 'error',
    ...(code !== undefined && { code }),
    message: cutText(message),
  };
  return { tool, item };
}

/** Tools with one line for each. */
const ONE_LINE: readonly (readonly [tool: string, pattern: RegExp])[] = [
  [
    'tsc',
    /^(?<file>\S.*?)(?:\(|:)(?<line>\d+)[,:](?<column>\d+)(?:\):| -) (?<severity>error|warning) (?<code>TS\d+): (?<message>.*)$/,
  ],
  [
    'gcc',
    /^(?<file>(?:[A-Za-z]:)?[^\s:][^:]*):(?<line>\d+):(?:(?<column>\d+):)? (?:fatal )?(?<severity>error|warning): (?<message>.*?)(?: \[(?<code>[^[\]\s]+)\])?$/,
  ],
  [
    'ruff',
    /^(?<file>(?:[A-Za-z]:)?[^\s:][^:]*):(?<line>\d+):(?<column>\d+): (?<code>[A-Z]{1,4}\d{3,4}) (?:\[\*\] )?(?<message>.*)$/,
  ],
  [
    'eslint',
    /^(?<file>(?:[A-Za-z]:)?[^\s:][^:]*):(?<line>\d+):(?<column>\d+): (?<message>.*) \[(?<severity>Error|Warning)\/(?<code>[^[\]\s]+)\]$/,
  ],
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
  for (const [tool, pattern] of ONE_LINE) {
    const groups = pattern.exec(line)?.groups;
    if (groups === undefined) continue;
    const isMypy = tool === 'gcc' && /\.pyi?$/.test(groups['file'] ?? '');
    return toFound(isMypy ? 'mypy' : tool, groups);
  }
  return withArrow(line, next) ?? inEslintFile(eslintFile, line);
}

/** rustc, and ruff's full report: what it is, and in the next line where. */
function withArrow(line: string, next: string): Found | undefined {
  const place = /^ *--> (?<file>[^\s:][^:]*):(?<line>\d+):(?<column>\d+)$/.exec(next)?.groups;
  if (place === undefined) return undefined;
  const rust = /^(?<severity>error|warning)(?:\[(?<code>[\w:-]+)\])?: (?<message>.*)$/.exec(line)?.groups;
  if (rust !== undefined) return toFound('rustc', { ...place, ...rust });
  const ruff = /^(?<code>[A-Z]{1,4}\d{3,4}) (?:\[\*\] )?(?<message>.*)$/.exec(line)?.groups;
  return ruff && toFound('ruff', { ...place, ...ruff });
}

/** eslint's usual report: a file, and below it lines such as `  3:5  error  'x' is not used  no-unused-vars`. */
function inEslintFile(file: string | undefined, line: string): Found | undefined {
  const found =
    /^ +(?<line>\d+):(?<column>\d+) +(?<severity>error|warning) +(?<message>\S.*?)(?: {2}(?<code>[\w@/-]+))?$/.exec(
      line,
    )?.groups;
  return file === undefined || found === undefined ? undefined : toFound('eslint', { file, ...found });
}

/** Each once: cargo says the same of a library and of its tests. */
function describe(found: readonly Found[]): Diagnostics {
  const unique = [...new Map(found.map((one) => [JSON.stringify(one), one])).values()];
  const items = unique.map(({ item }) => item);
  return {
    kind: 'diagnostics',
    tool: [...new Set(unique.map(({ tool }) => tool))].join(', '),
    errors: items.filter(({ severity }) => severity === 'error').length,
    warnings: items.filter(({ severity }) => severity === 'warning').length,
    items,
  };
}
