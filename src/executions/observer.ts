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
import { adoptHeld, treeOf } from './detached/launch-detached.ts';
import { readOutcome } from './detached/wrapper-protocol.ts';
import { requestEnd, requestOutput } from './end-requests.ts';
import { createInstance } from './instance.ts';
import { createLooks } from './process-scan.ts';
import { isAlive } from './process-table.ts';
import { durationOf, type ExecutionRecord, type Outcome, spanOf } from './record.ts';
import { createStore, type Store } from './store.ts';
import { terminateTree } from './terminate.ts';
import type { ProcessTree } from './tree.ts';
import { createUsageMeter, type Usage, type UsageMeter } from './usage.ts';

export interface ObservedExecution {
  readonly id: string;
  readonly owner: string;
  readonly command: string;
  readonly mode: string;
  /** Of a terminal. */
  readonly sessionName: string | undefined;
  readonly directory: string;
  readonly createdAtMs: number;
  readonly endedAtMs: number | undefined;
  readonly durationMs: number;
  readonly pid: number | undefined;
  /** `lost`: its server was killed; the next one ends what is left and says how it was. */
  readonly state: 'running' | 'lost' | Outcome['status'];
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  /** Of the whole tree; undefined where it cannot be seen from here. */
  readonly usage: Usage | undefined;
}

export interface Observation {
  /** Servers that are there now. */
  readonly servers: number;
  /** Newest first. */
  readonly executions: readonly ObservedExecution[];
  /** Directories without a record that can be read. */
  readonly unreadable: number;
}

export type EndResult = 'ended' | 'requested' | 'over' | 'unknown';

export interface Observer {
  look(): Promise<Observation>;
  /**
   * Ends an execution with all it started, and waits a while for the end. `onDirect` is told where no server does it,
   * before anything is signalled.
   */
  end(id: string, onDirect: () => void): Promise<EndResult>;
  /** Has output written to files that the server of a running execution holds in memory while it is short. */
  show(id: string): void;
  /** As of the last look. */
  readonly store: Pick<Store, 'summaries' | 'summary' | 'read' | 'storageOf' | 'remove'>;
}

/** The kill ladder takes 2.5 seconds at most, and its server looks within two. */
const END_MS = 5000;
const POLL_MS = 50;

export function createObserver(options: { readonly stateDir: string; readonly clock: Clock }): Observer {
  const { stateDir, clock } = options;
  const directory = join(stateDir, 'executions');
  const run = join(stateDir, 'run');
  // Never opened: it is only asked about the others.
  const instance = createInstance(stateDir);
  const store = createStore({ directory, log: silentLog, isInstanceAlive: instance.isInstanceAlive });
  const lookAtProcesses = createLooks();
  const meters = new Map<string, { readonly tree: ProcessTree; readonly meter: UsageMeter }>();

  const scan = (): Promise<void> =>
    store.scan(
      () => undefined,
      () => undefined,
    );

  async function find(id: string): Promise<ExecutionRecord | undefined> {
    await scan();
    return store.read(id);
  }

  const isServed = (record: ExecutionRecord): boolean =>
    isId('inst', record.instance) && existsSync(run) && instance.isInstanceAlive(record.instance);

  /** Undefined where its numbers are those of another boot or namespace. */
  function findTree({ process: known }: ExecutionRecord): ProcessTree | undefined {
    return known?.bootId === instance.bootId ? treeOf(known) : undefined;
  }

  function usageOf(record: ExecutionRecord, look: ReturnType<typeof lookAtProcesses>): Usage | undefined {
    if (!meters.has(record.id)) {
      const tree = findTree(record);
      if (tree === undefined) return undefined;
      meters.set(record.id, { tree, meter: createUsageMeter(durationOf(spanOf(record), clock.now())) });
    }
    const { tree, meter } = meters.get(record.id) ?? {};
    return tree === undefined ? undefined : meter?.read(tree, look);
  }

  /** The wrapper of a detached execution leaves its outcome beside the record until a server takes it over. */
  const outcomeOf = (record: ExecutionRecord): Outcome | undefined =>
    record.outcome ?? readOutcome(join(directory, record.id));

  function stateOf(record: ExecutionRecord): ObservedExecution['state'] {
    const outcome = outcomeOf(record);
    if (outcome !== undefined) return outcome.status;
    return isServed(record) || hasWrapper(record) ? 'running' : 'lost';
  }

  const hasWrapper = ({ process: known }: ExecutionRecord): boolean =>
    known?.wrapper !== undefined && known.bootId === instance.bootId && isAlive(known.wrapper);

  async function hasEnded(id: string): Promise<boolean> {
    for (const deadline = performance.now() + END_MS; performance.now() < deadline; await sleep(POLL_MS)) {
      const record = await find(id);
      if (record === undefined || outcomeOf(record) !== undefined) return true;
    }
    return false;
  }

  return {
    store,
    async look() {
      const open = new Map<string, ExecutionRecord>();
      await scan();
      for (const { id, status } of store.summaries()) {
        const record = status === 'running' ? store.read(id) : undefined;
        if (record !== undefined) open.set(id, record);
      }
      for (const id of meters.keys()) if (!open.has(id)) meters.delete(id);
      const processes = lookAtProcesses();
      const summaries = store.summaries();
      return {
        servers: listIds(run, 'inst').filter(instance.isInstanceAlive).length,
        unreadable: listIds(directory, 'exec').filter((id) => store.summary(id) === undefined).length,
        executions: summaries.map(({ id, owner, command, mode, directory: place, createdAtMs, ...rest }) => {
          const record = open.get(id);
          const outcome = record === undefined ? undefined : outcomeOf(record);
          const isOver = record === undefined || outcome !== undefined;
          return {
            id,
            owner,
            command,
            mode,
            sessionName: rest.sessionName,
            directory: place,
            createdAtMs,
            endedAtMs: rest.endedAtMs ?? outcome?.endedAtMs,
            durationMs: durationOf({ createdAtMs, ...rest, ...outcome }, clock.now()),
            pid: rest.pid,
            state:
              record === undefined ? (rest.status === 'running' ? 'lost' : rest.status) : stateOf(record),
            exitCode: rest.exitCode ?? outcome?.exitCode,
            signal: rest.signal ?? outcome?.signal,
            usage: isOver ? undefined : usageOf(record, processes),
          };
        }),
      };
    },
    show(id) {
      const record = store.read(id);
      if (record !== undefined && record.outcome === undefined && isServed(record))
        requestOutput(join(run, record.instance), id);
    },
    async end(id, onDirect) {
      const record = await find(id);
      if (record === undefined) return 'unknown';
      if (outcomeOf(record) !== undefined) return 'over';
      if (isServed(record) && requestEnd(join(run, record.instance), id))
        return (await hasEnded(id)) ? 'ended' : 'requested';
      onDirect();
      const detached = adoptHeld(record, instance.bootId, { bundle: join(directory, id), now: clock.now });
      if (detached !== undefined) {
        await detached.end('terminated');
        return (await hasEnded(id)) ? 'ended' : 'requested';
      }
      const tree = findTree(record);
      if (tree !== undefined) await terminateTree(tree, { signal: 'SIGTERM' });
      return 'ended';
    },
  };
}
