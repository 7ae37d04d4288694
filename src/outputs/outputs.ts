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
import { createBundle, createBundleFiles, type OutputLimits, type StoredBundle } from './bundle.ts';
import { decideExpired, type Retention } from './retention.ts';
import { createPace } from './scan.ts';
import { createSpooledBundle } from './spooled-bundle.ts';
import type { Bundle, BundleSpec, OutputFilter, OutputInfo, Outputs, StreamType } from './types.ts';

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

export function createOutputs(options: OutputsOptions): Outputs {
  /** By the random part of the bundle's id, which its outputs' ids share. */
  const entries = new Map<string, Entry>();

  function remember(spec: BundleSpec, isNew: boolean): Bundle {
    const key = keyOf(spec.id);
    // No closure may hold the spec itself: its name may be a whole command, and there may be thousands.
    const { isRunning, streams } = spec;
    const about = {
      parent: options.directory,
      id: spec.id,
      captured: TYPES.filter((type) => streams.includes(type)),
      isNew,
      limits: options.limits,
      outputIdOf: (type: StreamType) => `out_${key}${LETTERS[type]}`,
      isRunning,
    };
    const bundle =
      spec.isSpooled === true || spec.storage !== undefined
        ? createSpooledBundle(about, spec.storage)
        : createBundle(about);
    entries.set(key, {
      bundle,
      owner: spec.owner,
      name: cutName(spec.name),
      createdAtMs: spec.createdAtMs,
      isRunning,
      lastActiveMs: spec.endedAtMs ?? spec.createdAtMs,
    });
    return bundle;
  }

  function find(
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

  function list(owner: string, filter: OutputFilter): { outputs: OutputInfo[]; total: number } {
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
      if (sizes?.size === 0) forgetIfGone(key, entry);
      for (const type of entry.bundle.types()) {
        const shown = type === 'cast' ? 'log' : type;
        if (filter.types?.includes(shown) === false) continue;
        total++;
        if (outputs.length < filter.limit) outputs.push(describe(entry, type, sizes?.get(type) ?? 0));
      }
    }
    return { outputs, total };
  }

  function open(owner: string, outputId: string): ReturnType<Outputs['open']> {
    const found = find(owner, outputId);
    const source = found?.entry.bundle.source(found.type);
    if (found === undefined || source === undefined) {
      if (found !== undefined) forgetIfGone(found.key, found.entry);
      const shown = JSON.stringify(outputId.slice(0, 64));
      throw new ShellServerError('RESOURCE_003', `There is no output ${shown}.`);
    }
    return { info: describe(found.entry, found.type, source.size), source };
  }

  function forgetIfGone(key: string, entry: Entry): void {
    if (!entry.isRunning() && entry.bundle.isOnDisk() && !existsSync(entry.bundle.directory))
      entries.delete(key);
  }

  function deleteOutput(owner: string, outputId: string): string | undefined {
    const found = find(owner, outputId);
    if (found === undefined) return 'not found';
    if (found.entry.isRunning()) return 'still running; end the execution first';
    try {
      found.entry.bundle.deleteStream(found.type);
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  /** What cannot be looked at is left alone, and does not keep the others from being collected. */
  function bytesOf(entry: Entry): number | undefined {
    try {
      return entry.bundle.keptBytes();
    } catch (error) {
      options.log.warn('an output cannot be inspected', { id: entry.bundle.id, error: messageOf(error) });
      return undefined;
    }
  }

  async function collect({ isTrial = false }: { isTrial?: boolean } = {}): Promise<string[]> {
    const pace = createPace();
    const now = options.clock.now();
    const candidates = [];
    for (const [id, entry] of entries) {
      const isRunning = entry.isRunning();
      // A detached command may run longer than outputs are kept: its age counts from when it was last seen running.
      if (isRunning) entry.lastActiveMs = now;
      const bytes = bytesOf(entry);
      if (bytes !== undefined)
        candidates.push({ id, owner: entry.owner, lastActiveMs: entry.lastActiveMs, bytes, isRunning });
      await pace();
    }
    const removed: string[] = [];
    for (const key of decideExpired(candidates, options.retention, now)) {
      const entry = entries.get(key);
      if (entry === undefined || entry.isRunning()) continue;
      if (isTrial) {
        removed.push(entry.bundle.id);
        continue;
      }
      entries.delete(key);
      try {
        await rm(entry.bundle.directory, { recursive: true, force: true });
        removed.push(entry.bundle.id);
      } catch (error) {
        entries.set(key, entry);
        options.log.warn('an old output cannot be removed', { id: entry.bundle.id, error: messageOf(error) });
      }
    }
    return removed;
  }

  return {
    createBundle: (spec) => {
      if (entries.has(keyOf(spec.id))) throw new Error(`There is a bundle ${spec.id} already.`);
      if (spec.isSpooled !== true) createBundleFiles(options.directory, spec);
      return remember(spec, true);
    },
    adoptBundle: (spec, { isChanged = false } = {}) => {
      const known = isChanged ? undefined : entries.get(keyOf(spec.id));
      return known?.bundle ?? remember(spec, false);
    },
    forget: (id) => void entries.delete(keyOf(id)),
    discard: (id) => {
      entries.delete(keyOf(id));
      rmSync(join(options.directory, id), { recursive: true, force: true });
    },
    list,
    open,
    delete: (owner, outputIds) => {
      const deleted: string[] = [];
      const failed: { outputId: string; reason: string }[] = [];
      for (const outputId of outputIds) {
        const reason = deleteOutput(owner, outputId);
        if (reason === undefined) deleted.push(outputId);
        else failed.push({ outputId, reason });
      }
      return { deleted, failed };
    },
    collect,
    totals: (owner) => {
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
