/**
 * How many executions there may be. A principal has its own number of them, so that it cannot use up another's; all
 * together have one as well.
 */
import { ShellServerError } from '../base/errors.ts';
import { once } from '../base/once.ts';
import type { Settings } from '../base/settings.ts';
import type { Running } from './running.ts';

export interface Slots {
  /** Throws RESOURCE_005. What it answers with is called when the execution is in the table, or will never be. */
  take(principal: string): () => void;
}

export function createSlots(
  { maxProcesses, maxProcessesTotal }: Settings['limits'],
  running: Pick<Running, 'entries'>,
): Slots {
  /** Owners of slots that are not in the table yet. */
  const claims = new Set<{ readonly owner: string }>();
  return {
    take(principal) {
      const own = [...running.entries.values()].filter((entry) => entry.record.owner === principal);
      const claimed = [...claims].filter(({ owner }) => owner === principal).length;
      const isOwn = own.length + claimed >= maxProcesses;
      if (isOwn || running.entries.size + claims.size >= maxProcessesTotal) {
        const limit = isOwn ? maxProcesses : maxProcessesTotal;
        const whose = isOwn ? '' : ' of all callers together';
        throw new ShellServerError(
          'RESOURCE_005',
          `${limit} executions${whose} are running, which is the limit.`,
          {
            hint: 'Wait for one to end (process_get_execution with wait_seconds), or end one with process_terminate.',
            details: { limit, oldest_running: own.slice(0, 5).map((entry) => entry.record.id) },
          },
        );
      }
      const claim = { owner: principal };
      claims.add(claim);
      return once(() => void claims.delete(claim));
    },
  };
}
