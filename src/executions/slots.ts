/**
 * How many executions and terminals there may be. A principal has its own number of them, so that it cannot use up another's; all
 * together have one as well.
 */
import { ShellServerError } from '../base/errors.ts';
import { once } from '../base/once.ts';
import { createQuota } from '../base/quota.ts';
import type { Settings } from '../base/settings.ts';
import type { ExecutionRecord } from './record.ts';
import type { Running } from './running.ts';

export type SlotKind = 'executions' | 'terminals';

const WORDS = {
  executions: [
    'are running',
    'Wait for one to end (process_get_execution with wait_seconds), or end one with process_terminate.',
  ],
  terminals: ['are open', 'Close one with terminal_close; terminal_list shows them.'],
} as const;

export const slotKind = ({ mode }: Pick<ExecutionRecord, 'mode'>): SlotKind =>
  mode === 'terminal' ? 'terminals' : 'executions';

export function createSlots(limits: Settings['limits'], running: Pick<Running, 'entries'>) {
  /** Owners of slots that are not in the table yet. */
  const claims = new Set<{ readonly owner: string; readonly kind: SlotKind }>();
  const most = {
    executions: { each: limits.maxProcesses, all: limits.maxProcessesTotal },
    terminals: { each: limits.maxTerminals, all: limits.maxTerminalsTotal },
  };
  return {
    /** Throws RESOURCE_005. What it answers with is called when the execution is in the table, or will never be. */
    take(principal: string, kind: SlotKind): () => void {
      const records = Array.from(running.entries.values(), ({ record }) => record);
      const all = records.filter((record) => slotKind(record) === kind);
      const claimed = [...claims].filter((claim) => claim.kind === kind);
      const owners = [...all, ...claimed].map(({ owner }) => owner);
      const full = createQuota(most[kind], owners).full(principal);
      if (full !== undefined) {
        const { limit, isOwn } = full;
        const [state, hint] = WORDS[kind];
        const whose = isOwn ? '' : ' of all callers together';
        const own = all.filter(({ owner }) => owner === principal);
        throw new ShellServerError('RESOURCE_005', `${limit} ${kind}${whose} ${state}, which is the limit.`, {
          hint,
          details: { limit, oldest_running: own.slice(0, 5).map(({ id }) => id) },
        });
      }
      const claim = { owner: principal, kind };
      claims.add(claim);
      return once(() => void claims.delete(claim));
    },
  };
}
