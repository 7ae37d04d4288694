/**
 * What is on disk: this server's own executions, those that earlier servers left, and those that others on the same
 * directory run. Read on request, and not more often than it can matter.
 */
import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { succeeds } from '../base/attempt.ts';
import { errnoOf, messageOf, ShellServerError } from '../base/errors.ts';
import { FREE_SPACE, isDiskFull } from '../base/files.ts';
import type { Log } from '../base/log.ts';
import { SERVER_MARKER_NAME } from '../base/marker.ts';
import type { Bundle, BundleSpec } from '../outputs/types.ts';
import { type Audit, MARKER_NAME } from '../security/security.ts';
import { endAbandoned } from './abandoned.ts';
import type { BeginOptions } from './begin.ts';
import { adoptHeld, isHeld, leftOf } from './detached/launch-detached.ts';
import { readOutcome } from './detached/wrapper-protocol.ts';
import { createEndRequests } from './end-requests.ts';
import type { Instance } from './instance.ts';
import { createLeftBehind } from './left-behind.ts';
import { durationOf, type ExecutionRecord, spanOf, withOutcome } from './record.ts';
import type { Summary } from './store.ts';
import { endByMarker } from './terminate.ts';
import { createUsageMeter } from './usage.ts';

interface InventoryOptions extends Omit<BeginOptions, 'settings' | 'wrapperPath' | 'tools'> {
  /** Of all bundles. */
  readonly directory: string;
  readonly audit: Audit;
  readonly log: Log;
  /** Called with the servers that were taken over, before their directories are removed. */
  readonly onTakenOver?: (dead: readonly string[]) => Promise<void>;
}

/** Which call started it, the log of the server knows that did. */
const ADOPTED = { requestId: 'adopted', client: undefined };

/** By the settings of [retention], and nobody's call. */
const BY_AGE = { principal: 'server', requestId: 'retention' };

/** Between two looks at what other servers do. */
const SCAN_EVERY_MS = 1000;
/** Between two looks for old outputs. */
const COLLECT_EVERY_MS = 5 * 60_000;

const READ_ONLY = ['EROFS', 'EACCES', 'EPERM'];

/** Whether a state directory that this went wrong with has something to read. */
function canRead(error: unknown, stateDirectory: string): boolean {
  if (!isDiskFull(error) && !READ_ONLY.includes(errnoOf(error) ?? '')) return false;
  const directory = join(stateDirectory, 'executions');
  return succeeds(() => accessSync(directory, constants.R_OK | constants.X_OK));
}

export function createInventory(options: InventoryOptions) {
  const { running, instance, audit, log } = options;
  const endRequests = createEndRequests({ directory: instance.directory, running, audit, log });
  const bundles = createBundles(options);
  const state: State = { isOpen: false, hasTakenOver: false };
  let scanning: Promise<void> | undefined;
  let scannedAt = Number.NEGATIVE_INFINITY;
  let isReadOnly = false;
  let collecting: NodeJS.Timeout | undefined;

  function open(): void {
    if (state.isOpen) return;
    claim(instance);
    state.isOpen = true;
    collecting = setInterval(() => void collect(options), COLLECT_EVERY_MS).unref();
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
    await takeStock(options, bundles, state);
    if (isFirst && !isReadOnly) await collect(options);
  }

  return {
    /** The first real request announces this server; a probe leaves no trace. */
    open,
    /** Resolves when what others left or do is known. */
    ready,
    bundleOf: bundles.find,
    ...createLeftBehind(options),
    close(): void {
      clearInterval(collecting);
      endRequests.close();
      if (state.isOpen) instance.close(running.entries.size > 0);
    },
  };
}

function claim(instance: Instance): void {
  try {
    instance.open();
  } catch (error) {
    throw new ShellServerError('SYSTEM_002', `The state directory cannot be used: ${messageOf(error)}.`, {
      hint: isDiskFull(error)
        ? FREE_SPACE
        : 'Name one that can be written to with --state-dir or MCP_SHELL_STATE_DIR.',
      cause: error,
    });
  }
}

interface State {
  isOpen: boolean;
  hasTakenOver: boolean;
}

/** Looks at what others wrote, and takes over what dead servers left. */
async function takeStock(
  options: InventoryOptions,
  bundles: ReturnType<typeof createBundles>,
  state: State,
): Promise<void> {
  const { store, running, outputs, instance } = options;
  const taken = new Set(state.isOpen ? instance.takeOverDead() : []);
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
  if (state.isOpen && !state.hasTakenOver) for (const summary of store.summaries()) note(summary);
  state.hasTakenOver = state.isOpen;
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
    if (summary !== undefined) bundles.adopt(summary);
  }
  for (const record of state.isOpen ? unfinished : []) {
    if (store.summary(record.id)?.status !== 'running' || record.instance === instance.id) continue;
    if (isLost(record)) endings.push(takeOver(options, bundles, record));
  }
  await Promise.all(endings);
  for (const dead of taken) await endHelpersOf(dead);
  await options.onTakenOver?.([...taken]);
  if (taken.size > 0) await salvageEnded(options, bundles);
  instance.settle([...taken]);
}

/** A host keeps the recording of a terminal that has ended for a while. One that was killed meanwhile has left it. */
async function salvageEnded(
  { store, instance, salvage }: InventoryOptions,
  bundles: ReturnType<typeof createBundles>,
): Promise<void> {
  for (const { id, mode, status } of store.summaries()) {
    if (mode !== 'terminal' || status === 'running') continue;
    const { directory } = bundles.find(id);
    const record = existsSync(directory) ? store.read(id) : undefined;
    if (record?.outcome !== undefined && !isHeld(record, instance.bootId)) await salvage?.(record, directory);
  }
}

/** What a killed server had started for itself: its question to the login shell, and sandboxes that nobody has used. */
async function endHelpersOf(dead: string): Promise<void> {
  await endByMarker(`${MARKER_NAME}=${dead}`);
  await endByMarker(`${SERVER_MARKER_NAME}=${dead}`);
}

const hasEnded = (): boolean => false;

function createBundles({ store, running, outputs, instance, directory }: InventoryOptions) {
  /** Running under another server that is alive, or held where that is gone. */
  function isElsewhere(id: string): boolean {
    const record = store.read(id);
    if (record === undefined || record.outcome !== undefined) return false;
    if (instance.isInstanceAlive(record.instance)) return true;
    return leftOf(record, instance.bootId, join(directory, id)) === 'held';
  }

  const specOf = ({ command, sessionName, status, ...about }: Summary): BundleSpec => ({
    ...about,
    name: sessionName ?? command,
    storageOf: store.storageOf,
    isRunning: status === 'running' ? () => running.isActive(about.id) || isElsewhere(about.id) : hasEnded,
  });

  return {
    /** As it has become. */
    adopt: (summary: Summary): void => outputs.noteBundle(specOf(summary)),
    find(id: string): Bundle {
      const summary = store.summary(id);
      if (summary === undefined) throw new Error(`there is no execution ${id}`);
      return outputs.adoptBundle(specOf(summary));
    },
  };
}

/** A detached execution and a terminal are followed again; anything else is over. */
async function takeOver(
  { store, running, instance, clock, log, salvage }: InventoryOptions,
  bundles: ReturnType<typeof createBundles>,
  record: ExecutionRecord,
): Promise<void> {
  const ours: ExecutionRecord = { ...record, instance: instance.id };
  // What runs may get files yet: the transcript of a terminal comes after its end.
  running.reserve(record.id);
  const bundle = bundles.find(record.id);
  const { now } = clock;
  const about = { bundle: bundle.directory, bootId: instance.bootId, log, now, salvage };
  const written = readOutcome(bundle.directory);
  const live = written === undefined ? adoptHeld(ours, instance.bootId, about) : undefined;
  if (live !== undefined) {
    running.track({
      record: ours,
      bundle,
      live,
      meter: createUsageMeter(durationOf(spanOf(record), now())),
      sinks: new Map(),
      ...ADOPTED,
      sessionChange: undefined,
      isLetGo: true,
      releaseSession: () => undefined,
    });
    return;
  }
  const left = written ?? (await endAbandoned(ours, about));
  running.giveUp(record.id);
  const concluded = withOutcome(ours, { ...left, ...running.explain(ours, left, bundle) });
  store.conclude(concluded, undefined);
  // Now that it is over, only what is there counts.
  const ended = store.summary(record.id);
  if (ended !== undefined) bundles.adopt(ended);
  running.recordEnd(concluded, bundle, ADOPTED);
}

async function collect({ outputs, store, audit, log }: InventoryOptions): Promise<void> {
  try {
    const collected = await outputs.collect();
    store.remove(collected);
    if (collected.length > 0) audit.write({ event: 'outputs_collected', ...BY_AGE, executionIds: collected });
  } catch (error) {
    log.error('old outputs cannot be collected', { error: messageOf(error) });
  }
}
