/** How often commands were allowed, denied and put before a person, by the minute: for statistics. */
import type { Clock } from '../base/clock.ts';
import type { Decision } from './audit/audit-entry.ts';

export type DecisionTotals = Readonly<Record<Decision, number>>;

export type DecisionCounts = ReturnType<typeof createDecisionCounts>;

const MINUTE_MS = 60_000;
/** A week, which is as far back as anybody can ask. */
const MAX_MINUTES = 7 * 24 * 60;

export function createDecisionCounts(clock: Clock) {
  const byPrincipal = new Map<string, Map<number, Record<Decision, number>>>();
  return {
    note(principal: string, decision: Decision): void {
      const minutes = byPrincipal.get(principal) ?? new Map<number, Record<Decision, number>>();
      byPrincipal.set(principal, minutes);
      const minute = Math.floor(clock.now() / MINUTE_MS);
      const counts = minutes.get(minute) ?? { allow: 0, deny: 0, ask: 0 };
      counts[decision]++;
      minutes.set(minute, counts);
      // In the order in which they came.
      for (const oldest of minutes.keys()) {
        if (minutes.size <= MAX_MINUTES) break;
        minutes.delete(oldest);
      }
    },
    /** Since that minute, as far as this server has been there. */
    since(principal: string, sinceMs: number): DecisionTotals {
      const totals = { allow: 0, deny: 0, ask: 0 };
      for (const [minute, counts] of byPrincipal.get(principal) ?? []) {
        if (minute < Math.floor(sinceMs / MINUTE_MS)) continue;
        for (const decision of ['allow', 'deny', 'ask'] as const) totals[decision] += counts[decision];
      }
      return totals;
    },
  };
}
