/** What an execution has used by its end. */
import { durationOf, type Execution, spanOf } from '../executions/executions.ts';
import { describeBytes, describeDuration } from './describe.ts';

/** Who waited so long wants to know where the time went. */
const LONG_MS = 10_000;
/** Of the time it may take. */
const NEAR = 0.8;

const LIMIT_NAMES = { memory: 'memory', cpu: 'CPU time', processes: 'number of processes' } as const;

/** A sentence where it took long or came near a limit; undefined elsewhere. */
export function describeUse({ record }: Pick<Execution, 'record'>): string | undefined {
  const { outcome, timeoutMs } = record;
  if (outcome === undefined) return undefined;
  const durationMs = durationOf(spanOf(record), outcome.endedAtMs);
  const near: string[] = (outcome.nearLimits ?? []).map((limit) => LIMIT_NAMES[limit]);
  if (timeoutMs !== undefined && outcome.reason !== 'timeout' && durationMs >= timeoutMs * NEAR)
    near.push('time');
  if (durationMs < LONG_MS && near.length === 0) return undefined;
  const { peakMemoryBytes, cpuSeconds, processes } = outcome;
  const used = [
    peakMemoryBytes === undefined ? '' : `${describeBytes(peakMemoryBytes)} of memory at most`,
    cpuSeconds === undefined ? '' : `${describeDuration(cpuSeconds * 1000)} of CPU time`,
    processes === undefined || processes < 2 ? '' : `up to ${processes} processes`,
  ].filter((each) => each !== '');
  if (used.length === 0) return undefined;
  const limits = near.length === 0 ? '' : ` That is near the limit: ${near.join(', ')}.`;
  return `It used ${used.join(', ')}.${limits}`;
}
