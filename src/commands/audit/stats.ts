/** `audit stats`: what the log says in numbers: most used, most denied, slowest, and failures over time. */
import { type AuditLine, escapeText, readAudit } from '../../security/security.ts';
import type { CommandContext } from '../context.ts';
import { print } from '../json.ts';
import { bar, clipTo, createPaint, type Paint, padTo, widthOf } from '../paint.ts';
import { many, rangeOf, showSpan, showTime } from '../when.ts';
import type { SearchOptions } from './audit-search.ts';
import { auditDirectory } from './directory.ts';

type StatsOptions = Pick<SearchOptions, 'since' | 'until' | 'principal' | 'json'>;

type AuditStats = ReturnType<typeof countAudit>;

interface Counted {
  readonly name: string;
  readonly count: number;
}

const TOP = 8;
/** What comes after so many different names is counted as one. */
const MAX_NAMES = 10_000;
const SPANS_MS = [
  60_000,
  300_000,
  900_000,
  3_600_000,
  6 * 3_600_000,
  86_400_000,
  7 * 86_400_000,
  30 * 86_400_000,
];
const MAX_SPANS = 16;

export function statsCommand(context: CommandContext, options: StatsOptions): void {
  const stats = countAudit(readAudit(auditDirectory(context), rangeOf(options)), options.principal);
  print(context, options, stats, () => renderStats(stats, createPaint(context), widthOf(context.output)));
}

function countAudit(lines: Iterable<AuditLine>, principal?: string) {
  const [decisions, statuses, events] = [createCounter(), createCounter(), createCounter()];
  const [principals, clients] = [createCounter(), createCounter()];
  const [used, denied] = [createCounter(), createCounter()];
  const slowest: { command: string; executionId: string; durationMs: number }[] = [];
  /** By minute: how many ended, and how many of them failed. */
  const minutes = new Map<number, { ended: number; failed: number }>();
  let count = 0;
  let from: string | undefined;
  let to: string | undefined;
  for (const { time, fields } of lines) {
    const { event, command, status } = fields;
    if (principal !== undefined && fields['principal'] !== principal) continue;
    count++;
    if (from === undefined || time < from) from = time;
    if (to === undefined || time > to) to = time;
    if (event === 'execution_allowed' || event === 'execution_denied') {
      decisions.add(fields['decision']);
      principals.add(fields['principal']);
      clients.add(fields['client']);
      (event === 'execution_allowed' ? used : denied).add(nameOf(command));
    }
    if (event !== 'execution_ended') continue;
    statuses.add(status);
    events.add(fields['securityEvent']);
    const minute = minutes.get(Math.floor(Date.parse(time) / 60_000)) ?? { ended: 0, failed: 0 };
    minute.ended++;
    if (status !== 'completed') minute.failed++;
    minutes.set(Math.floor(Date.parse(time) / 60_000), minute);
    slowest.push({
      command: String(command),
      executionId: String(fields['executionId']),
      durationMs: Number(fields['durationMs']),
    });
    if (slowest.length > 1000) slowest.sort(byDuration).splice(TOP);
  }
  return {
    lines: count,
    from,
    to,
    decisions: decisions.all(),
    statuses: statuses.all(),
    securityEvents: events.all(),
    principals: principals.top(),
    clients: clients.top(),
    mostUsed: used.top(),
    mostDenied: denied.top(),
    slowest: slowest.sort(byDuration).slice(0, TOP),
    overTime: overTime(minutes),
  };
}

const byDuration = (a: { durationMs: number }, b: { durationMs: number }): number =>
  b.durationMs - a.durationMs;

function createCounter() {
  const counts = new Map<string, number>();
  const sorted = (): [string, number][] => [...counts].sort(([, a], [, b]) => b - a);
  return {
    add(value: unknown): void {
      if (typeof value !== 'string' || value === '') return;
      const name = counts.has(value) || counts.size < MAX_NAMES ? value : '(others)';
      counts.set(name, (counts.get(name) ?? 0) + 1);
    },
    all: (): Record<string, number> => Object.fromEntries(sorted()),
    top: (): Counted[] =>
      sorted()
        .slice(0, TOP)
        .map(([name, count]) => ({ name, count })),
  };
}

const ASSIGNMENTS = /^(?:\w+=(?:\$\([^)]*\)|"[^"]*"|'[^']*'|[^\s;]*)\s*;?\s*)+/;

/** The first word of a command: without variables before it, and without its directory. */
function nameOf(command: unknown): string {
  const [word = ''] = String(command)
    .trim()
    .replace(ASSIGNMENTS, '')
    .split(/[\s;|&]+/);
  return clipTo(escapeText(/([^/]+)\/*$/.exec(word)?.[1] ?? word), 40);
}

/** In equal spans, none left out between the first and the last. */
function overTime(minutes: ReadonlyMap<number, { ended: number; failed: number }>) {
  if (minutes.size === 0) return [];
  const keys = [...minutes.keys()];
  const first = keys.reduce((a, b) => Math.min(a, b)) * 60_000;
  const last = keys.reduce((a, b) => Math.max(a, b)) * 60_000;
  const fits = (span: number): boolean => Math.floor(last / span) - Math.floor(first / span) < MAX_SPANS;
  const spanMs = SPANS_MS.find(fits) ?? Math.ceil((last - first) / MAX_SPANS / 86_400_000 + 1) * 86_400_000;
  const spans = [];
  for (let at = Math.floor(first / spanMs) * spanMs; at <= last; at += spanMs) {
    const inside = [...minutes].filter(([minute]) => minute * 60_000 >= at && minute * 60_000 < at + spanMs);
    spans.push({
      from: new Date(at).toISOString(),
      ended: inside.reduce((sum, [, { ended }]) => sum + ended, 0),
      failed: inside.reduce((sum, [, { failed }]) => sum + failed, 0),
    });
  }
  return spans;
}

function renderStats(stats: AuditStats, paint: Paint, width: number): string {
  if (stats.lines === 0) return 'The audit log has nothing of that time.\n';
  const ended = Object.values(stats.statuses).reduce((sum, count) => sum + count, 0);
  const most = Math.max(1, ...stats.overTime.map((span) => span.ended));
  const barWidth = Math.max(10, width - 40);
  const counts = (of: Readonly<Record<string, number>>): string =>
    Object.entries(of)
      .map(([name, count]) => `${count} ${name.replaceAll('_', ' ')}`)
      .join(', ') || 'none';
  const named = (title: string, entries: readonly Counted[]): string[] =>
    entries.length > 1
      ? [`${title}: ${entries.map(({ name, count }) => `${escapeText(name)} ${count}`).join(', ')}`]
      : [];
  const ranking = (title: string, entries: readonly Counted[]): string[] =>
    entries.length === 0
      ? []
      : [
          '',
          paint('strong', title),
          ...entries.map(
            ({ name, count }) =>
              `  ${padTo(clipTo(name, 20), 20)} ${String(count).padStart(7)} ${bar(count, entries[0]?.count ?? 1, barWidth)}`,
          ),
        ];
  const text = [
    `${paint('strong', many(stats.lines, 'line'))}, ${showTime(stats.from ?? '')} to ${showTime(stats.to ?? '')}`,
    `decided: ${counts(stats.decisions)}`,
    `ended: ${counts(stats.statuses)}`,
    `security events: ${counts(stats.securityEvents)}`,
    ...named('clients', stats.clients),
    ...named('principals', stats.principals),
    ...ranking('Most used', stats.mostUsed),
    ...ranking('Most denied', stats.mostDenied),
    ...(stats.slowest.length === 0 ? [] : ['', paint('strong', 'Slowest')]),
    ...stats.slowest.map(
      ({ command, durationMs }) =>
        `  ${showSpan(durationMs).padStart(12)}  ${clipTo(escapeText(command), width - 17)}`,
    ),
    ...(ended === 0 ? [] : ['', `${paint('strong', 'Over time')}: ended, of them ${paint('bad', 'failed')}`]),
    ...stats.overTime.map(({ from, ended: all, failed }) => {
      const whole = bar(all, most, barWidth);
      const bad = failed === 0 ? '' : bar(failed, most, barWidth);
      const rest = whole.slice(bad.length);
      return `  ${showTime(from).slice(0, 16)}Z ${String(all).padStart(6)} ${paint(failed > 0 ? 'bad' : 'quiet', String(failed).padStart(6))} ${paint('bad', bad)}${rest}`;
    }),
  ];
  return `${text.join('\n')}\n`;
}
