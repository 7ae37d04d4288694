/**
 * The executions of all servers on a state directory, seen from a process that is none of them: for the person who
 * watches. It reads records and the process table, changes nothing, and ends one on request, where its server does it
 * or, if that is gone, by the same kill ladder.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { listIds } from '../base/files.ts';
import { isId } from '../base/ids.ts';
import { silentLog } from '../base/log.ts';
import { adoptHeld, leftOf, treeOf } from './detached/launch-detached.ts';
import { requestEnd, requestOutput } from './end-requests.ts';
import { createInstance } from './instance.ts';
import { howEnded } from './journal-lines.ts';
import { createLooks, type Look } from './process-scan.ts';
import { durationOf, type ExecutionRecord, type Outcome, type Status, spanOf } from './record.ts';
import { createStore, type Store, type Summary } from './store.ts';
import { terminateTree } from './terminate.ts';
import type { ProcessTree } from './tree.ts';
import { createUsageMeter, type Usage, type UsageMeter } from './usage.ts';

export interface ObservedExecution extends Omit<Summary, 'status'> {
  readonly durationMs: number;
  /** `lost`: its server was killed; the next one ends what is left and says how it was. */
  readonly state: 'running' | 'lost' | Outcome['status'];
  /** Of the whole tree; undefined where it cannot be seen from here. */
  readonly usage: Usage | undefined;
}

export type Observer = ReturnType<typeof createObserver>;

/** The kill ladder takes 2.5 seconds at most, and its server looks within two. */
const END_MS = 5000;
const POLL_MS = 50;

export function createObserver({ stateDir, clock }: { readonly stateDir: string; readonly clock: Clock }) {
  const known = createKnown(stateDir);
  const { directory, run, instance, store, scan, find, isServed, outcomeOf } = known;
  const lookAtProcesses = createLooks();
  const usages = createUsages(instance.bootId, clock);

  return {
    /** As of the last look. */
    store: store as Pick<Store, 'summaries' | 'summary' | 'read' | 'storageOf' | 'remove'>,
    /** The executions, newest first, and how many servers there are now. */
    async look() {
      await scan();
      const running = store.summaries().filter(({ status }) => status === 'running');
      const open = new Map(running.map(({ id }) => [id, store.read(id)]));
      usages.keepOnly(open);
      const processes = lookAtProcesses();
      return {
        servers: listIds(run, 'inst').filter(instance.isInstanceAlive).length,
        /** Directories without a record that can be read. */
        unreadable: listIds(directory, 'exec').filter((id) => store.summary(id) === undefined).length,
        executions: store
          .summaries()
          .toReversed()
          .map((summary): ObservedExecution => {
            const record = open.get(summary.id);
            const outcome = record && outcomeOf(record);
            return {
              ...summary,
              ...(outcome && howEnded(outcome)),
              durationMs: durationOf({ ...summary, ...outcome }, clock.now()),
              state: known.stateOf(record, summary.status),
              usage:
                record === undefined || outcome !== undefined ? undefined : usages.read(record, processes),
            };
          }),
      };
    },
    /** Has output written to files that the server of a running execution holds in memory while it is short. */
    show(id: string): void {
      const record = store.read(id);
      if (record !== undefined && record.outcome === undefined && isServed(record))
        requestOutput(join(run, record.instance), id);
    },
    /**
     * Ends an execution with all it started, and waits a while for the end. `onDirect` is told where no server does it,
     * before anything is signalled.
     */
    async end(id: string, onDirect: () => void): Promise<'ended' | 'requested' | 'over' | 'unknown'> {
      const record = await find(id);
      if (record === undefined) return 'unknown';
      if (outcomeOf(record) !== undefined) return 'over';
      if (isServed(record) && requestEnd(join(run, record.instance), id))
        return (await hasEnded(known, id)) ? 'ended' : 'requested';
      onDirect();
      const detached = adoptHeld(record, instance.bootId, { bundle: join(directory, id), now: clock.now });
      if (detached !== undefined) {
        await detached.end('terminated');
        return (await hasEnded(known, id)) ? 'ended' : 'requested';
      }
      const tree = treeIn(record, instance.bootId);
      if (tree !== undefined) await terminateTree(tree, { signal: 'SIGTERM' });
      return 'ended';
    },
  };
}

async function hasEnded({ find, outcomeOf }: ReturnType<typeof createKnown>, id: string): Promise<boolean> {
  for (const deadline = performance.now() + END_MS; performance.now() < deadline; await sleep(POLL_MS)) {
    const record = await find(id);
    if (record === undefined || outcomeOf(record) !== undefined) return true;
  }
  return false;
}

/** What the state directory tells. */
function createKnown(stateDir: string) {
  const directory = join(stateDir, 'executions');
  const run = join(stateDir, 'run');
  // Never opened: it is only asked about the others.
  const instance = createInstance(stateDir);
  const store = createStore({ directory, log: silentLog, isInstanceAlive: instance.isInstanceAlive });
  const nothing = (): void => undefined;
  const scan = (): Promise<void> => store.scan(nothing, nothing);

  const isServed = (record: ExecutionRecord): boolean =>
    isId('inst', record.instance) && existsSync(run) && instance.isInstanceAlive(record.instance);

  const left = (record: ExecutionRecord): ReturnType<typeof leftOf> =>
    leftOf(record, instance.bootId, join(directory, record.id));
  const outcomeOf = (record: ExecutionRecord): Outcome | undefined => {
    const found = left(record);
    return found === 'held' ? undefined : found;
  };

  return {
    directory,
    run,
    instance,
    store,
    scan,
    isServed,
    outcomeOf,
    async find(id: string): Promise<ExecutionRecord | undefined> {
      await scan();
      return store.read(id);
    },
    stateOf(record: ExecutionRecord | undefined, status: Status): ObservedExecution['state'] {
      if (record === undefined) return status === 'running' ? 'lost' : status;
      const found = left(record);
      if (found !== undefined && found !== 'held') return found.status;
      return found === 'held' || isServed(record) ? 'running' : 'lost';
    },
  };
}

/** Undefined where its numbers are those of another boot or namespace. */
const treeIn = ({ process: known }: ExecutionRecord, bootId: string): ProcessTree | undefined =>
  known?.bootId === bootId ? treeOf(known) : undefined;

function createUsages(bootId: string, clock: Clock) {
  const meters = new Map<string, { readonly tree: ProcessTree; readonly meter: UsageMeter }>();
  return {
    keepOnly(open: ReadonlyMap<string, unknown>): void {
      for (const id of meters.keys()) if (!open.has(id)) meters.delete(id);
    },
    read(record: ExecutionRecord, look: Look): Usage | undefined {
      const tree = meters.get(record.id)?.tree ?? treeIn(record, bootId);
      if (tree === undefined) return undefined;
      const meter = meters.get(record.id)?.meter ?? createUsageMeter(durationOf(spanOf(record), clock.now()));
      meters.set(record.id, { tree, meter });
      return meter.read(tree, look);
    },
  };
}
