/** The audit log as the page shows it: lines by filter, numbers over time, and whether it is what was written. */
import { join } from 'node:path';
import { createMatcher, keepNewest } from '../commands/audit/audit-search.ts';
import { parseWhen } from '../commands/when.ts';
import { type AuditLine, readAudit, type TimeRange, verifyAudit } from '../security/security.ts';
import { toAuditRow } from './watched.ts';
import type { AuditAnswer, AuditFilter, AuditSeries, VerifyAnswer } from './wire.ts';

const MAX_LINES = 500;
const BUCKETS = 60;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

export type AuditView = ReturnType<typeof createAuditView>;

export function createAuditView(stateDir: string) {
  const directory = join(stateDir, 'audit');
  return {
    search({ since = '24h', limit = MAX_LINES, ...filter }: AuditFilter): AuditAnswer {
      const nowMs = Date.now();
      const range = { sinceMs: parseWhen('since', since, nowMs), untilMs: nowMs };
      const matches = createMatcher(filter);
      const newest = keepNewest(Math.min(limit, MAX_LINES));
      const series = createSeries(range);
      for (const line of readAudit(directory, range)) {
        if (!matches(line)) continue;
        newest.add(line);
        series.add(line);
      }
      const { lines, left } = newest.take();
      return { lines: lines.toReversed().map(toAuditRow), left, series: series.take() };
    },
    verify(executions: readonly string[]): VerifyAnswer {
      const { lines, files, lost, problems } = verifyAudit({ directory, executions });
      return { lines, files, lost, problems };
    },
  };
}

/** Counts of spans of the same length, not shorter than a minute. */
export function createSeries({ sinceMs = 0, untilMs = 0 }: TimeRange) {
  const spanMs = Math.max(MINUTE_MS, Math.ceil(Math.min(untilMs - sinceMs, 366 * DAY_MS) / BUCKETS));
  const firstMs = untilMs - BUCKETS * spanMs;
  const zeros = (): number[] => Array.from({ length: BUCKETS }, () => 0);
  const [ended, failed, denied, longest] = [zeros(), zeros(), zeros(), zeros()];
  return {
    add({ time, fields }: AuditLine): void {
      const at = Math.floor((Date.parse(time) - firstMs) / spanMs);
      if (at < 0 || at >= BUCKETS) return;
      const { event, status, decision, durationMs } = fields;
      const count = (counts: number[]): void => {
        counts[at] = (counts[at] ?? 0) + 1;
      };
      if (event === 'execution_denied' || (event === 'terminal_input_denied' && decision === 'deny'))
        count(denied);
      if (event !== 'execution_ended') return;
      count(ended);
      if (status !== 'completed') count(failed);
      longest[at] = Math.max(longest[at] ?? 0, Number(durationMs) / 1000 || 0);
    },
    take: (): AuditSeries => ({
      times: ended.map((_, index) => Math.round((firstMs + index * spanMs) / 1000)),
      ended,
      failed,
      denied,
      longest,
    }),
  };
}
