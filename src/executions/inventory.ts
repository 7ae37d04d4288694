/**
 * What is on disk: this server's own executions, those that earlier servers left, and those that others on the same
 * directory run. Read on request, and not more often than it can matter.
 */
import { accessSync, constants } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { errnoOf, messageOf, ShellServerError } from '../base/errors.ts';
import { FREE_SPACE } from '../base/files.ts';
import type { Log } from '../base/log.ts';
import { SERVER_MARKER_NAME } from '../base/marker.ts';
import type { Bundle, BundleSpec, Outputs } from '../outputs/types.ts';
import { type Audit, MARKER_NAME } from '../security/security.ts';
import { adopt } from './adopt.ts';
import { type FollowOptions, lostOutcome } from './detached/launch-detached.ts';
import type { EndRequests } from './end-requests.ts';
import type { Instance } from './instance.ts';
import { durationOf, type ExecutionRecord, spanOf } from './record.ts';
import type { Running } from './running.ts';
import type { Store, Summary } from './store.ts';
import { endByMarker } from './terminate.ts';
import { createUsageMeter } from './usage.ts';

export interface Inventory {
  /** The first real request announces this server; a probe leaves no trace. */
  open(): void;
  /** Resolves when what others left or do is known. */
  ready(): Promise<void>;
  bundleOf(id: string): Bundle;
  /** The record with an end, where its server is gone and nobody could take it over: it is not running. */
  truthOf(record: ExecutionRecord): ExecutionRecord;
  close(): void;
}

export interface InventoryOptions {
  readonly store: Store;
  readonly running: Running;
  readonly outputs: Outputs;
  readonly instance: Instance;
  readonly audit: Audit;
  readonly endRequests: EndRequests;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with the servers that were taken over, before their directories are removed. */
  onTakenOver(dead: readonly string[]): Promise<void>;
  readonly salvage?: FollowOptions['salvage'];
}

/** Which call started it, the log of the server knows that did. */
const ADOPTED = { requestId: 'adopted', client: undefined };

/** By the settings of [retention], and nobody's call. */
const BY_AGE = { principal: 'server', requestId: 'retention' };

/** Between two looks at what other servers do. */
const SCAN_EVERY_MS = 1000;
/** Between two looks for old outputs. */
const COLLECT_EVERY_MS = 5 * 60_000;

const FULL = ['ENOSPC', 'EDQUOT'];
const READ_ONLY = ['EROFS', 'EACCES', 'EPERM'];

/** Whether a state directory that this went wrong with has something to read. */
function canRead(error: unknown, stateDirectory: string): boolean {
  if (![...FULL, ...READ_ONLY].includes(errnoOf(error) ?? '')) return false;
  try {
    accessSync(join(stateDirectory, 'executions'), constants.R_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function createInventory({
  store,
  running,
  outputs,
  instance,
  audit,
  endRequests,
  clock,
  log,
  onTakenOver,
  salvage,
}: InventoryOptions): Inventory {
  let isOpen = false;
  let scanning: Promise<void> | undefined;
  let scannedAt = Number.NEGATIVE_INFINITY;
  let hasTakenOver = false;
  let isReadOnly = false;
  let collecting: NodeJS.Timeout | undefined;

  function open(): void {
    if (isOpen) return;
    try {
      instance.open();
    } catch (error) {
      throw new ShellServerError('SYSTEM_002', `The state directory cannot be used: ${messageOf(error)}.`, {
        hint: FULL.includes(errnoOf(error) ?? '')
          ? FREE_SPACE
          : 'Name one that can be written to with --state-dir or MCP_SHELL_STATE_DIR.',
        cause: error,
      });
    }
    isOpen = true;
    collecting = setInterval(() => void collect(), COLLECT_EVERY_MS);
    collecting.unref();
    endRequests.open();
    void ready();
  }

  /** What is there can be read, and outputs be deleted, though nothing can be written. */
  function openToRead(): void {
    try {
      open();
    } catch (error) {
      const { cause } = error as Error;
      if (!canRead(cause, dirname(dirname(instance.directory)))) throw error;
      isReadOnly = READ_ONLY.includes(errnoOf(cause) ?? '');
    }
  }

  async function ready(): Promise<void> {
    openToRead();
    if (scanning === undefined && performance.now() - scannedAt > SCAN_EVERY_MS) {
      scanning = scan()
        .catch((error: unknown) =>
          log.error('the state directory cannot be read', { error: messageOf(error) }),
        )
        .finally(() => {
          scanning = undefined;
          scannedAt = performance.now();
        });
    }
    await scanning;
  }

  async function scan(): Promise<void> {
    const isFirst = scannedAt === Number.NEGATIVE_INFINITY;
    const taken = new Set(isOpen ? instance.takeOverDead() : []);
    const endings: Promise<void>[] = [];
    const changed = new Map<string, Summary>();
    const note = (summary: Summary): void => {
      if (!running.isActive(summary.id)) changed.set(summary.id, summary);
    };
    const forget = (id: string): void => {
      if (!running.isActive(id)) outputs.forget(id);
    };
    await store.scan(note, forget);
    // What was only read before could not be taken over then.
    if (isOpen && !hasTakenOver) for (const summary of store.summaries()) note(summary);
    hasTakenOver = isOpen;
    const isLost = ({ instance: server }: ExecutionRecord): boolean =>
      taken.has(server) || !instance.isInstanceAlive(server);
    const unfinished = [...changed.values()].flatMap(({ id, status }) =>
      status === 'running' ? (store.read(id) ?? []) : [],
    );
    // The server that adopted it writes its end before it lets go: that may have come since.
    if (unfinished.some((record) => isLost(record) && !taken.has(record.instance)))
      await store.scan(note, forget);
    for (const { id } of changed.values()) {
      const summary = store.summary(id);
      if (summary !== undefined) outputs.adoptBundle(specOf(summary), { isChanged: true });
    }
    for (const record of isOpen ? unfinished : []) {
      if (store.summary(record.id)?.status !== 'running' || record.instance === instance.id) continue;
      if (isLost(record)) endings.push(takeOver(record, bundleOf(record.id)));
    }
    await Promise.all(endings);
    for (const dead of taken) await endHelpersOf(dead);
    await onTakenOver([...taken]);
    instance.settle([...taken]);
    if (isFirst && !isReadOnly) await collect();
  }

  /** What a killed server had started for itself: its question to the login shell, and sandboxes that nobody has used. */
  async function endHelpersOf(dead: string): Promise<void> {
    await endByMarker(`${MARKER_NAME}=${dead}`);
    await endByMarker(`${SERVER_MARKER_NAME}=${dead}`);
  }

  function specOf({ id, owner, createdAtMs, streams, endedAtMs, status, ...about }: Summary): BundleSpec {
    return {
      id,
      owner,
      name: about.sessionName ?? about.command,
      createdAtMs,
      streams,
      endedAtMs,
      storage: store.storageOf(id),
      isRunning: status === 'running' ? () => running.isActive(id) || isElsewhere(id) : () => false,
    };
  }

  function bundleOf(id: string): Bundle {
    const summary = store.summary(id);
    if (summary === undefined) throw new Error(`there is no execution ${id}`);
    return outputs.adoptBundle(specOf(summary));
  }

  /** Running under another server that is alive. */
  function isElsewhere(id: string): boolean {
    const record = store.read(id);
    return record !== undefined && record.outcome === undefined && instance.isInstanceAlive(record.instance);
  }

  async function takeOver(record: ExecutionRecord, bundle: Bundle): Promise<void> {
    const ours: ExecutionRecord = { ...record, instance: instance.id };
    const { now } = clock;
    const adoption = adopt(ours, {
      bundle: bundle.directory,
      bootId: instance.bootId,
      log,
      now,
      salvage,
    });
    if (adoption.kind === 'running') {
      running.track({
        record: ours,
        bundle,
        live: adoption.live,
        meter: createUsageMeter(durationOf(spanOf(record), now())),
        sinks: new Map(),
        ...ADOPTED,
        sessionChange: undefined,
        isLetGo: true,
        releaseSession: () => undefined,
      });
      return;
    }
    const outcome = await adoption.outcome;
    const concluded = { ...ours, outcome };
    store.conclude(concluded, undefined);
    // Now that it is over, only what is there counts.
    const ended = store.summary(record.id);
    if (ended !== undefined) outputs.adoptBundle(specOf(ended), { isChanged: true });
    running.recordEnd(concluded, bundle, outcome, ADOPTED);
  }

  async function collect(): Promise<void> {
    try {
      const collected = await outputs.collect();
      store.remove(collected);
      if (collected.length > 0)
        audit.write({ event: 'outputs_collected', ...BY_AGE, executionIds: collected });
    } catch (error) {
      log.error('old outputs cannot be collected', { error: messageOf(error) });
    }
  }

  return {
    open,
    ready,
    bundleOf,
    truthOf(record) {
      if (record.outcome !== undefined || instance.isInstanceAlive(record.instance)) return record;
      return { ...record, outcome: lostOutcome(record.createdAtMs) };
    },
    close() {
      clearInterval(collecting);
      endRequests.close();
      if (isOpen) instance.close(running.entries.size > 0);
    },
  };
}
