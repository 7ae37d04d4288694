/**
 * The outputs of all executions, by id: made, found again after a restart, listed, opened, deleted and collected.
 *
 * An id from outside is only ever looked up in memory; it never becomes part of a path. Nothing is written before the
 * first bundle is made. Another server on the same directory may remove a bundle at any time: then it is not there.
 */
import { existsSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { messageOf, ShellServerError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { createFilter } from '../base/pattern.ts';
import { createBundle, type StoredBundle } from './bundle.ts';
import { createBundleFiles, type OutputLimits } from './bundle-files.ts';
import { decideExpired, type Retention } from './retention.ts';
import { createPace } from './scan.ts';
import { createSpooledBundle } from './spooled-bundle.ts';
import type { Bundle, BundleSpec, ByteSource, OutputFilter, OutputInfo, StreamType } from './types.ts';

export { createSink } from './sink.ts';
export { openSource } from './source.ts';
export type * from './types.ts';
export * from './views.ts';

export interface OutputsOptions {
  /** Where the bundles lie, one directory each. */
  readonly directory: string;
  readonly limits: OutputLimits;
  readonly retention: Retention;
  readonly clock: Clock;
  readonly log: Log;
}

interface Entry {
  readonly bundle: StoredBundle;
  readonly owner: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly isRunning: () => boolean;
  lastActiveMs: number;
}

const BUNDLE_ID = /^[a-z]+_([a-z0-9]{26})$/;
const OUTPUT_ID = /^out_([a-z0-9]{26})([seclr])$/;
const LETTERS = { stdout: 's', stderr: 'e', combined: 'c', log: 'l', cast: 'r' } as const satisfies Record<
  StreamType,
  string
>;
const TYPES = Object.keys(LETTERS) as readonly StreamType[];

/** By the random part of the bundle's id, which its outputs' ids share. */
type Entries = Map<string, Entry>;

export type Outputs = ReturnType<typeof createOutputs>;

export function createOutputs(options: OutputsOptions) {
  const entries: Entries = new Map();

  function remember(spec: BundleSpec, isNew: boolean): Bundle {
    const entry = createEntry(options, spec, isNew);
    entries.set(keyOf(spec.id), entry);
    return entry.bundle;
  }

  return {
    /** Creates the directory (0700) with empty files, and remembers the bundle. */
    createBundle: (spec: BundleSpec): Bundle => {
      if (entries.has(keyOf(spec.id))) throw new Error(`There is a bundle ${spec.id} already.`);
      if (spec.isSpooled !== true) createBundleFiles(options.directory, spec);
      return remember(spec, true);
    },
    /** Remembers a bundle that is already on disk, after a restart; one that is known is returned as it is, unless it has changed. */
    adoptBundle: (spec: BundleSpec, { isChanged = false } = {}): Bundle => {
      const known = isChanged ? undefined : entries.get(keyOf(spec.id));
      return known?.bundle ?? remember(spec, false);
    },
    /** It is there no more. */
    forget: (id: string): void => void entries.delete(keyOf(id)),
    /** Takes back a bundle for which nothing could be started, or that was removed meanwhile. */
    discard: (id: string): void => {
      entries.delete(keyOf(id));
      rmSync(join(options.directory, id), { recursive: true, force: true });
    },
    /** Newest first; `total` counts all that match, before `limit`. */
    list: (owner: string, filter: OutputFilter) => list(entries, owner, filter),
    /** Throws RESOURCE_003 for an id that is unknown, deleted or another owner's. */
    open(owner: string, outputId: string): { info: OutputInfo; source: ByteSource } {
      const found = find(entries, owner, outputId);
      const source = found?.entry.bundle.source(found.type);
      if (found === undefined || source === undefined) {
        if (found !== undefined) forgetIfGone(entries, found.key, found.entry);
        const shown = JSON.stringify(outputId.slice(0, 64));
        throw new ShellServerError('RESOURCE_003', `There is no output ${shown}.`);
      }
      return { info: describe(found.entry, found.type, source.size()), source };
    },
    delete: (owner: string, outputIds: readonly string[]) => {
      const deleted: string[] = [];
      const failed: { outputId: string; reason: string }[] = [];
      for (const outputId of outputIds) {
        const reason = deleteOutput(entries, owner, outputId);
        if (reason === undefined) deleted.push(outputId);
        else failed.push({ outputId, reason });
      }
      return { deleted, failed };
    },
    /**
     * Removes old bundles by age, count and total size, never running ones; returns the ids of those removed. A trial
     * removes nothing.
     */
    collect: ({ isTrial = false } = {}): Promise<string[]> => collect(options, entries, isTrial),
    /** Number and bytes of what is kept, for one owner or for all. */
    totals: (owner?: string) => {
      let count = 0;
      let bytes = 0;
      for (const entry of entries.values()) {
        if (owner !== undefined && entry.owner !== owner) continue;
        count += entry.bundle.types().length;
        bytes += entry.bundle.keptBytes();
      }
      return { count, bytes };
    },
  };
}

function createEntry({ directory, limits }: OutputsOptions, spec: BundleSpec, isNew: boolean): Entry {
  const key = keyOf(spec.id);
  // No closure may hold the spec itself: its name may be a whole command, and there may be thousands.
  const { isRunning, streams } = spec;
  const about = {
    parent: directory,
    id: spec.id,
    captured: TYPES.filter((type) => streams.includes(type)),
    isNew,
    limits,
    outputIdOf: (type: StreamType) => `out_${key}${LETTERS[type]}`,
    isRunning,
  };
  return {
    bundle:
      spec.isSpooled === true || spec.storage !== undefined
        ? createSpooledBundle(about, spec.storage)
        : createBundle(about),
    owner: spec.owner,
    name: cutName(spec.name),
    createdAtMs: spec.createdAtMs,
    isRunning,
    lastActiveMs: spec.endedAtMs ?? spec.createdAtMs,
  };
}

function find(
  entries: Entries,
  owner: string,
  outputId: string,
): { key: string; entry: Entry; type: StreamType } | undefined {
  const [, key, letter] = OUTPUT_ID.exec(outputId) ?? [];
  const type = TYPES.find((candidate) => LETTERS[candidate] === letter);
  const entry = entries.get(key ?? '');
  if (key === undefined || type === undefined || entry === undefined) return undefined;
  if (entry.owner !== owner || !entry.bundle.types().includes(type)) return undefined;
  return { key, entry, type };
}

function list(entries: Entries, owner: string, filter: OutputFilter) {
  const matches = createFilter('name_pattern', filter.namePattern);
  const outputs: OutputInfo[] = [];
  let total = 0;
  const newestFirst = [...entries].reverse().sort(([, a], [, b]) => b.createdAtMs - a.createdAtMs);
  for (const [key, entry] of newestFirst) {
    if (entry.owner !== owner) continue;
    if (filter.executionId !== undefined && filter.executionId !== entry.bundle.id) continue;
    if (!matches(entry.name)) continue;
    // Only what is shown is looked at on disk: thousands of others are counted from memory.
    const sizes = outputs.length < filter.limit ? entry.bundle.measure() : undefined;
    if (sizes?.size === 0) forgetIfGone(entries, key, entry);
    for (const type of entry.bundle.types()) {
      const shown = type === 'cast' ? 'log' : type;
      if (filter.types?.includes(shown) === false) continue;
      total++;
      if (outputs.length < filter.limit) outputs.push(describe(entry, type, sizes?.get(type) ?? 0));
    }
  }
  return { outputs, total };
}

function forgetIfGone(entries: Entries, key: string, { bundle, isRunning }: Entry): void {
  if (!isRunning() && bundle.isOnDisk() && !existsSync(bundle.directory)) entries.delete(key);
}

/** Why it cannot be; undefined where it was deleted. */
function deleteOutput(entries: Entries, owner: string, outputId: string): string | undefined {
  const found = find(entries, owner, outputId);
  if (found === undefined) return 'not found';
  if (found.entry.isRunning()) return 'still running; end the execution first';
  try {
    found.entry.bundle.deleteStream(found.type);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

async function collect(options: OutputsOptions, entries: Entries, isTrial: boolean): Promise<string[]> {
  const pace = createPace();
  const now = options.clock.now();
  const candidates = [];
  for (const [id, entry] of entries) {
    const isRunning = entry.isRunning();
    // A detached command may run longer than outputs are kept: its age counts from when it was last seen running.
    if (isRunning) entry.lastActiveMs = now;
    const bytes = bytesOf(options, entry);
    if (bytes !== undefined)
      candidates.push({ id, owner: entry.owner, lastActiveMs: entry.lastActiveMs, bytes, isRunning });
    await pace();
  }
  const removed: string[] = [];
  for (const key of decideExpired(candidates, options.retention, now)) {
    const entry = entries.get(key);
    if (entry === undefined || entry.isRunning()) continue;
    const { id, directory } = entry.bundle;
    if (isTrial) {
      removed.push(id);
      continue;
    }
    entries.delete(key);
    try {
      await rm(directory, { recursive: true, force: true });
      removed.push(id);
    } catch (error) {
      entries.set(key, entry);
      options.log.warn('an old output cannot be removed', { id, error: messageOf(error) });
    }
  }
  return removed;
}

/** What cannot be looked at is left alone, and does not keep the others from being collected. */
function bytesOf({ log }: OutputsOptions, { bundle }: Entry): number | undefined {
  try {
    return bundle.keptBytes();
  } catch (error) {
    log.warn('an output cannot be inspected', { id: bundle.id, error: messageOf(error) });
    return undefined;
  }
}

function keyOf(bundleId: string): string {
  const key = BUNDLE_ID.exec(bundleId)?.[1];
  if (key === undefined) throw new Error(`${JSON.stringify(bundleId)} is not the id of a bundle.`);
  return key;
}

function describe(entry: Entry, type: StreamType, sizeBytes: number): OutputInfo {
  const { bundle } = entry;
  return {
    outputId: bundle.outputId(type) ?? '',
    executionId: bundle.id,
    type: type === 'cast' ? 'log' : type,
    name: type === 'cast' ? `${entry.name}.cast` : entry.name,
    sizeBytes,
    createdAtMs: entry.createdAtMs,
    exactOrder: !bundle.isDerived(type),
    isRunning: entry.isRunning(),
  };
}

/** As a string of its own: a slice would keep the whole command, up to 120 KiB, in memory. */
function cutName(name: string): string {
  return Buffer.from(name.slice(0, LIMITS.outputNameLength)).toString();
}
