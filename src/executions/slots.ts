/**
 * How many executions and terminals there may be. A principal has its own number of them, so that it cannot use up another's; all
 * together have one as well.
 */
import { ShellServerError } from '../base/errors.ts';
import { once } from '../base/once.ts';
import type { Settings } from '../base/settings.ts';
import type { ExecutionRecord } from './record.ts';
import type { Running } from './running.ts';

export interface Slots {
  /** Throws RESOURCE_005. What it answers with is called when the execution is in the table, or will never be. */
  take(principal: string, kind: SlotKind): () => void;
}

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

export function createSlots(limits: Settings['limits'], running: Pick<Running, 'entries'>): Slots {
  /** Owners of slots that are not in the table yet. */
  const claims = new Set<{ readonly owner: string; readonly kind: SlotKind }>();
  const most = {
    executions: [limits.maxProcesses, limits.maxProcessesTotal],
    terminals: [limits.maxTerminals, limits.maxTerminalsTotal],
  } as const;
  return {
    take(principal, kind) {
      const [ownMost, totalMost] = most[kind];
      const all = [...running.entries.values()].filter(({ record }) => slotKind(record) === kind);
      const claimed = [...claims].filter((claim) => claim.kind === kind);
      const own = all.filter(({ record }) => record.owner === principal);
      const isOwn = own.length + claimed.filter(({ owner }) => owner === principal).length >= ownMost;
      if (isOwn || all.length + claimed.length >= totalMost) {
        const limit = isOwn ? ownMost : totalMost;
        const [state, hint] = WORDS[kind];
        const whose = isOwn ? '' : ' of all callers together';
        throw new ShellServerError('RESOURCE_005', `${limit} ${kind}${whose} ${state}, which is the limit.`, {
          hint,
          details: { limit, oldest_running: own.slice(0, 5).map((entry) => entry.record.id) },
        });
      }
      const claim = { owner: principal, kind };
      claims.add(claim);
      return once(() => void claims.delete(claim));
    },
  };
}
