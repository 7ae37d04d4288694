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
import type { Log } from '../base/log.ts';
import { createFilter } from '../base/pattern.ts';
import type { StoredBundle } from './bundle.ts';
import { createBundleFiles, type OutputLimits } from './bundle-files.ts';
import {
  bundleOf,
  createEntries,
  createEntry,
  type Entries,
  type Entry,
  keyOf,
  parseOutputId,
  tallyOf,
  writeBundle,
} from './entries.ts';
import { decideExpired, type Retention } from './retention.ts';
import { createPace } from './scan.ts';
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

export type Outputs = ReturnType<typeof createOutputs>;

export function createOutputs(options: OutputsOptions) {
  const entries = createEntries();

  function remember(spec: BundleSpec, isNew: boolean): Entry {
    const entry = createEntry(spec);
    if (isNew) entry.bundle = writeBundle(options, entry, spec.isSpooled === true);
    entries.set(keyOf(spec.id), entry);
    return entry;
  }

  return {
    /** Creates the directory (0700) with empty files, and remembers the bundle. */
    createBundle: (spec: BundleSpec): Bundle => {
      if (entries.get(keyOf(spec.id)) !== undefined) throw new Error(`There is a bundle ${spec.id} already.`);
      if (spec.isSpooled !== true) createBundleFiles(options.directory, spec);
      return bundleOf(options, remember(spec, true));
    },
    /** Remembers a bundle that is already on disk, after a restart; one that is known stays as it is, unless it has changed. */
    adoptBundle: (spec: BundleSpec, { isChanged = false } = {}): Bundle => {
      const known = isChanged ? undefined : entries.get(keyOf(spec.id));
      return bundleOf(options, known ?? remember(spec, false));
    },
    /** The same of one that nobody looks at yet. */
    noteBundle: (spec: BundleSpec): void => void remember(spec, false),
    /** It is there no more. */
    forget: (id: string): void => entries.delete(keyOf(id)),
    /** Takes back a bundle for which nothing could be started, or that was removed meanwhile. */
    discard: (id: string): void => {
      entries.delete(keyOf(id));
      rmSync(join(options.directory, id), { recursive: true, force: true });
    },
    /** Newest first; `total` counts all that match, before `limit`. */
    list: (owner: string, filter: OutputFilter) => list(options, entries, owner, filter),
    /** Throws RESOURCE_003 for an id that is unknown, deleted or another owner's. */
    open(owner: string, outputId: string): { info: OutputInfo; source: ByteSource } {
      const found = find(options, entries, owner, outputId);
      const source = found?.bundle.source(found.type);
      if (found === undefined || source === undefined) {
        if (found !== undefined) forgetIfGone(entries, found.entry, found.bundle);
        const shown = JSON.stringify(outputId.slice(0, 64));
        throw new ShellServerError('RESOURCE_003', `There is no output ${shown}.`);
      }
      return { info: describe(found, found.type, source.size()), source };
    },
    delete: (owner: string, outputIds: readonly string[]) => {
      const deleted: string[] = [];
      const failed: { outputId: string; reason: string }[] = [];
      for (const outputId of outputIds) {
        const reason = deleteOutput(find(options, entries, owner, outputId));
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
    totals: (owner?: string) => totalsOf(options, entries, owner),
  };
}

function totalsOf(options: OutputsOptions, entries: Entries, owner: string | undefined) {
  let count = 0;
  let bytes = 0;
  for (const entry of entries.all()) {
    if (owner !== undefined && entry.owner !== owner) continue;
    const tally = tallyOf(options, entry);
    count += tally.types.length;
    bytes += tally.bytes;
  }
  return { count, bytes };
}

interface Found {
  readonly entry: Entry;
  readonly bundle: StoredBundle;
}

function find(
  options: OutputsOptions,
  entries: Entries,
  owner: string,
  outputId: string,
): (Found & { readonly type: StreamType }) | undefined {
  const { key, type } = parseOutputId(outputId) ?? {};
  const entry = entries.get(key ?? '');
  if (type === undefined || entry === undefined || entry.owner !== owner) return undefined;
  const bundle = bundleOf(options, entry);
  return bundle.types().includes(type) ? { entry, bundle, type } : undefined;
}

function list(options: OutputsOptions, entries: Entries, owner: string, filter: OutputFilter) {
  const matches = createFilter('name_pattern', filter.namePattern);
  const isWanted = (type: StreamType): boolean =>
    filter.types?.includes(type === 'cast' ? 'log' : type) !== false;
  const countOf = (types: readonly StreamType[]): number =>
    filter.types === undefined ? types.length : types.filter(isWanted).length;
  const outputs: OutputInfo[] = [];
  let total = 0;
  const ordered = entries.oldestFirst();
  for (let index = ordered.length - 1; index >= 0; index--) {
    const entry = ordered[index] as Entry;
    if (entry.owner !== owner) continue;
    if (filter.executionId !== undefined && filter.executionId !== entry.id) continue;
    if (!matches(entry.name)) continue;
    // Only what is shown is looked at on disk: thousands of others are counted from memory.
    if (outputs.length < filter.limit)
      total += show(options, entries, entry, { isWanted, outputs, ...filter });
    else total += countOf(tallyOf(options, entry).types);
  }
  return { outputs, total };
}

/** Adds those of one bundle that are wanted, and returns their number. */
function show(
  options: OutputsOptions,
  entries: Entries,
  entry: Entry,
  shown: { isWanted(type: StreamType): boolean; readonly outputs: OutputInfo[]; readonly limit: number },
): number {
  const bundle = bundleOf(options, entry);
  const sizes = bundle.measure();
  entry.tally = undefined;
  if (sizes.size === 0) forgetIfGone(entries, entry, bundle);
  const wanted = bundle.types().filter((type) => shown.isWanted(type));
  for (const type of wanted.slice(0, shown.limit - shown.outputs.length))
    shown.outputs.push(describe({ entry, bundle }, type, sizes.get(type) ?? 0));
  return wanted.length;
}

function forgetIfGone(entries: Entries, entry: Entry, bundle: StoredBundle): void {
  if (!entry.isRunning() && bundle.isOnDisk() && !existsSync(bundle.directory))
    entries.delete(keyOf(entry.id));
}

/** Why it cannot be; undefined where it was deleted. */
function deleteOutput(found: ReturnType<typeof find>): string | undefined {
  if (found === undefined) return 'not found';
  const { entry, bundle, type } = found;
  if (entry.isRunning()) return 'still running; end the execution first';
  try {
    entry.tally = undefined;
    bundle.deleteStream(type);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

async function collect(options: OutputsOptions, entries: Entries, isTrial: boolean): Promise<string[]> {
  const pace = createPace();
  const now = options.clock.now();
  const candidates = [];
  for (const entry of entries.all()) {
    const isRunning = entry.isRunning();
    // A detached command may run longer than outputs are kept: its age counts from when it was last seen running.
    if (isRunning) entry.lastActiveMs = now;
    const bytes = bytesOf(options, entry);
    const { id, owner, lastActiveMs } = entry;
    if (bytes !== undefined) candidates.push({ id, owner, lastActiveMs, bytes, isRunning });
    await pace();
  }
  const removed: string[] = [];
  for (const id of decideExpired(candidates, options.retention, now)) {
    const entry = entries.get(keyOf(id));
    if (entry === undefined || entry.isRunning()) continue;
    if (isTrial) {
      removed.push(id);
      continue;
    }
    entries.delete(keyOf(id));
    try {
      await rm(join(options.directory, id), { recursive: true, force: true });
      removed.push(id);
    } catch (error) {
      entries.set(keyOf(id), entry);
      options.log.warn('an old output cannot be removed', { id, error: messageOf(error) });
    }
  }
  return removed;
}

/** What cannot be looked at is left alone, and does not keep the others from being collected. */
function bytesOf(options: OutputsOptions, entry: Entry): number | undefined {
  try {
    return tallyOf(options, entry).bytes;
  } catch (error) {
    options.log.warn('an output cannot be inspected', { id: entry.id, error: messageOf(error) });
    return undefined;
  }
}

function describe({ entry, bundle }: Found, type: StreamType, sizeBytes: number): OutputInfo {
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
