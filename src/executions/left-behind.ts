/**
 * What is known of executions whose server is gone and that nobody could take over, since nothing can be written: how they
 * have ended, or that they go on.
 */
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { adoptHeld, leftOf, lostOutcome } from './detached/launch-detached.ts';
import type { Instance } from './instance.ts';
import { howEnded } from './journal-lines.ts';
import type { Live } from './live.ts';
import type { ExecutionRecord, Outcome } from './record.ts';
import type { Running } from './running.ts';
import type { Store, Summary } from './store.ts';

interface LeftBehindOptions {
  readonly instance: Pick<Instance, 'isInstanceAlive' | 'bootId'>;
  readonly store: Pick<Store, 'read'>;
  readonly running: Pick<Running, 'isActive'>;
  readonly clock: Clock;
  /** Of all bundles. */
  readonly directory: string;
}

export function createLeftBehind(options: LeftBehindOptions) {
  const { store, running } = options;
  const followed = createFollowed(options);
  return {
    /** The record with its end; `live` while it goes on. */
    truthOf(record: ExecutionRecord): { readonly record: ExecutionRecord; readonly live: Live | undefined } {
      const { outcome, isHeld } = endOf(options, record);
      const live = isHeld ? followed.get(record) : undefined;
      return { record: outcome === undefined ? record : { ...record, outcome }, live };
    },
    /** The same of all that seem to run. */
    truthOfAll: (summaries: readonly Summary[]): readonly Summary[] =>
      summaries.map((summary) => {
        if (summary.status !== 'running' || running.isActive(summary.id)) return summary;
        const record = store.read(summary.id);
        const outcome = record && endOf(options, record).outcome;
        return outcome === undefined ? summary : { ...summary, ...howEnded(outcome) };
      }),
  };
}

/** Of one that does not run here. */
function endOf(
  { instance, directory }: LeftBehindOptions,
  record: ExecutionRecord,
): { readonly outcome: Outcome | undefined; readonly isHeld: boolean } {
  const isOver = record.outcome !== undefined;
  if (isOver || instance.isInstanceAlive(record.instance)) return { outcome: record.outcome, isHeld: false };
  const left = leftOf(record, instance.bootId, join(directory, record.id));
  if (left === 'held') return { outcome: undefined, isHeld: true };
  return { outcome: left ?? lostOutcome(record.createdAtMs), isHeld: false };
}

/** Those that go on and could not be taken over, each followed once. */
function createFollowed({ instance, clock, directory }: LeftBehindOptions) {
  const followed = new Map<string, Live>();
  return {
    get(record: ExecutionRecord): Live | undefined {
      const { id } = record;
      const about = { bundle: join(directory, id), now: clock.now };
      const live = followed.get(id) ?? adoptHeld(record, instance.bootId, about);
      if (live === undefined || followed.has(id)) return live;
      followed.set(id, live);
      const forget = (): void => void followed.delete(id);
      live.finished.then(forget, forget);
      return live;
    },
  };
}
