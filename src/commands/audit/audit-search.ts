/** `audit search` and `audit tail`: lines that were written, and lines as they are written. */
import { ShellServerError } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { didYouMean } from '../../base/nearest.ts';
import {
  AUDIT_EVENTS,
  type AuditLine,
  byTime,
  escapeJson,
  followAudit,
  readAudit,
  readNewest,
} from '../../security/security.ts';
import type { CommandContext } from '../context.ts';
import { createPaint, widthOf } from '../paint.ts';
import { rangeOf } from '../when.ts';
import { auditDirectory } from './directory.ts';
import { showLine } from './show-line.ts';

export interface SearchOptions {
  readonly since?: string;
  readonly until?: string;
  readonly principal?: string;
  readonly client?: string;
  readonly decision?: string;
  readonly status?: string;
  readonly event?: string;
  readonly execution?: string;
  readonly text?: string | undefined;
  readonly security?: boolean;
  readonly limit: number;
  readonly json?: boolean;
}

/** Ends with 1 where nothing was found, as grep does. */
export function searchAudit(context: CommandContext, text: string | undefined, options: SearchOptions): void {
  const range = rangeOf(options);
  checkNames(options);
  const matches = createMatcher({ ...options, text });
  const newest = keepNewest(options.limit);
  for (const line of readAudit(auditDirectory(context), range)) if (matches(line)) newest.add(line);
  const { lines, left } = newest.take();
  const show = shower(context, options.json === true);
  for (const line of lines) context.output.write(`${show(line)}\n`);
  if (left > 0 && options.json !== true)
    context.output.write(`[the last ${lines.length} of ${lines.length + left}; --limit shows more]\n`);
  // A script goes by the exit code.
  if (lines.length === 0 && context.output.isTTY) context.output.write('No line of the audit log matches.\n');
  context.setExitCode(lines.length === 0 ? 1 : 0);
}

/** A filter that can meet no line is a slip. */
function checkNames({ event, execution }: SearchOptions): void {
  if (event !== undefined && !AUDIT_EVENTS.includes(event)) {
    const hint = didYouMean(event, AUDIT_EVENTS, (meant) => `Did you mean ${meant}? `);
    throw new ShellServerError('PARAM_002', `There is no event ${JSON.stringify(event)}.`, {
      hint: `${hint}The events: ${AUDIT_EVENTS.join(', ')}.`,
    });
  }
  if (execution !== undefined && !isId('exec', execution) && !isId('term', execution))
    throw new ShellServerError('PARAM_002', `${JSON.stringify(execution)} is not the id of an execution.`, {
      hint: '`mcp-shell-server executions` lists them.',
    });
}

export interface TailOptions {
  readonly lines: number;
  readonly follow: boolean;
  readonly json?: boolean;
}

const POLL_MS = 250;

export async function tailAudit(context: CommandContext, options: TailOptions): Promise<void> {
  const directory = auditDirectory(context);
  const show = shower(context, options.json === true);
  const printed = new Map<string, number>();
  const print = (lines: readonly AuditLine[]): void => {
    for (const line of lines) {
      if (line.seq <= (printed.get(line.instance) ?? -1)) continue;
      printed.set(line.instance, line.seq);
      context.output.write(`${show(line)}\n`);
    }
  };
  const batches = options.follow ? followAudit(directory, POLL_MS, context.interrupted) : undefined;
  // Takes note of where the files end before they are read: nothing falls in between, and what is seen twice is shown once.
  const pending = batches?.next();
  print(readNewest(directory, options.lines));
  if (batches === undefined) return;
  for (let batch = await pending; batch?.done === false; batch = await batches.next()) print(batch.value);
}

function shower(context: CommandContext, asJson: boolean): (line: AuditLine) => string {
  const paint = createPaint(context);
  const width = (): number => (context.output.isTTY ? widthOf(context.output) : Infinity);
  // They are JSON of the same, though not always the same bytes: those of the log are what hashes are of.
  return asJson ? ({ text }) => escapeJson(text) : (line) => showLine(line, paint, width());
}

export function createMatcher(options: Omit<SearchOptions, 'limit'>): (line: AuditLine) => boolean {
  const wanted = options.text?.toLowerCase();
  const equals = (value: unknown, want: string | undefined): boolean => want === undefined || value === want;
  return ({ fields }) =>
    equals(fields['principal'], options.principal) &&
    equals(fields['client'], options.client) &&
    equals(fields['decision'], options.decision) &&
    equals(fields['status'] ?? fields['outcome'], options.status) &&
    equals(fields['event'], options.event) &&
    (equals(fields['executionId'], options.execution) || equals(fields['terminalId'], options.execution)) &&
    (options.security !== true || fields['securityEvent'] !== undefined || fields['decision'] === 'deny') &&
    (wanted === undefined || hasText(fields, wanted));
}

/** Hashes are nobody's text. */
function hasText(value: unknown, wanted: string): boolean {
  if (typeof value === 'string') return value.toLowerCase().includes(wanted);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(
    ([key, part]) => key !== 'hash' && key !== 'previous' && hasText(part, wanted),
  );
}

/** The newest so many, without holding all that there are. */
export function keepNewest(limit: number) {
  let kept: AuditLine[] = [];
  let count = 0;
  const cut = (): void => {
    kept = limit === 0 ? [] : kept.sort(byTime).slice(-limit);
  };
  return {
    add(line: AuditLine): void {
      kept.push(line);
      count++;
      if (kept.length > 2 * limit + 1000) cut();
    },
    take(): { readonly lines: AuditLine[]; readonly left: number } {
      cut();
      return { lines: kept, left: count - kept.length };
    },
  };
}
