/**
 * The outputs that are known, by the random part of their bundle's id. There may be thousands: what is only wanted of those
 * that are looked at is made then.
 */
import { LIMITS } from '../base/limits.ts';
import { type BundleOptions, createBundle, type StoredBundle } from './bundle.ts';
import { isLate, type OutputLimits } from './bundle-files.ts';
import { createSpooledBundle, streamsIn } from './spooled-bundle.ts';
import type { BundleSpec, StreamType } from './types.ts';

export interface Entry
  extends Pick<BundleSpec, 'id' | 'owner' | 'name' | 'createdAtMs' | 'streams' | 'isRunning'> {
  readonly storageOf: BundleSpec['storageOf'];
  /** While it is written, and of files once they were looked at, since it knows where their lines are. */
  bundle: StoredBundle | undefined;
  /** As long as nothing can change it. */
  tally: Tally | undefined;
  lastActiveMs: number;
}

/** What it counts for. */
interface Tally {
  readonly types: readonly StreamType[];
  readonly bytes: number;
}

/** Where bundles lie, and how much of each stream is kept. */
interface Place {
  readonly directory: string;
  readonly limits: OutputLimits;
}

const BUNDLE_ID = /^[a-z]+_([a-z0-9]{26})$/;
const OUTPUT_ID = /^out_([a-z0-9]{26})([seclr])$/;
const LETTERS = { stdout: 's', stderr: 'e', combined: 'c', log: 'l', cast: 'r' } as const satisfies Record<
  StreamType,
  string
>;
const TYPES = Object.keys(LETTERS) as readonly StreamType[];

export type Entries = ReturnType<typeof createEntries>;

/** By the random part of the bundle's id, which its outputs' ids share. */
export function createEntries() {
  const entries = new Map<string, Entry>();
  /** Oldest first; undefined where it has to be put in order again. */
  let ordered: Entry[] | undefined = [];

  return {
    get: (key: string): Entry | undefined => entries.get(key),
    set(key: string, entry: Entry): void {
      const isNewest = !entries.has(key) && entry.createdAtMs >= (ordered?.at(-1)?.createdAtMs ?? 0);
      entries.set(key, entry);
      if (isNewest) ordered?.push(entry);
      else ordered = undefined;
    },
    delete(key: string): void {
      if (entries.delete(key)) ordered = undefined;
    },
    all: (): Iterable<Entry> => entries.values(),
    oldestFirst: (): readonly Entry[] =>
      (ordered ??= [...entries.values()].sort((a, b) => a.createdAtMs - b.createdAtMs)),
  };
}

export function createEntry(spec: BundleSpec): Entry {
  const { id, owner, createdAtMs, streams, isRunning, storageOf } = spec;
  return {
    id,
    owner,
    name: cutName(spec.name),
    createdAtMs,
    streams,
    isRunning,
    storageOf,
    bundle: undefined,
    tally: undefined,
    lastActiveMs: spec.endedAtMs ?? createdAtMs,
  };
}

function aboutBundle({ directory, limits }: Place, entry: Entry): Omit<BundleOptions, 'isNew'> {
  const { id, streams, isRunning } = entry;
  const key = keyOf(id);
  return {
    parent: directory,
    id,
    captured: TYPES.filter((type) => streams.includes(type)),
    limits,
    outputIdOf: (type: StreamType) => `out_${key}${LETTERS[type]}`,
    isRunning,
  };
}

/** One that is about to be written. */
export function writeBundle(options: Place, entry: Entry, isSpooled: boolean): StoredBundle {
  const about = { ...aboutBundle(options, entry), isNew: true };
  if (!isSpooled) return createBundle(about);
  const onKept = (): void => {
    entry.bundle = undefined;
  };
  return createSpooledBundle({ ...about, onKept });
}

export function bundleOf(options: Place, entry: Entry): StoredBundle {
  if (entry.bundle !== undefined) return entry.bundle;
  const about = { ...aboutBundle(options, entry), isNew: false };
  const storage = entry.storageOf?.(entry.id);
  if (storage !== undefined) return createSpooledBundle(about, storage);
  return (entry.bundle = createBundle(about));
}

export function tallyOf(options: Place, entry: Entry): Tally {
  if (entry.tally !== undefined) return entry.tally;
  const tally = entry.bundle === undefined ? tallyStored(entry) : undefined;
  const isFinal = !entry.isRunning() && !entry.streams.some(isLate);
  if (tally !== undefined || isFinal) return (entry.tally = tally ?? tallyBundle(bundleOf(options, entry)));
  // The transcript of a terminal comes after its end.
  return tallyBundle(bundleOf(options, entry));
}

const tallyBundle = (bundle: StoredBundle): Tally => ({ types: bundle.types(), bytes: bundle.keptBytes() });

/** Of one that has ended and needs no file; undefined where there are some. */
function tallyStored({ id, streams, storageOf }: Entry): Tally | undefined {
  const storage = storageOf?.(id);
  if (storage === undefined) return undefined;
  const there = streamsIn(streams, storage);
  const bytes = there.captured().reduce((sum, type) => sum + (storage.sizes.get(type) ?? 0), 0);
  return { types: there.types(), bytes };
}

/** What an output's id names; undefined where it is none. */
export function parseOutputId(outputId: string): { key: string; type: StreamType } | undefined {
  const [, key, letter] = OUTPUT_ID.exec(outputId) ?? [];
  const type = TYPES.find((candidate) => LETTERS[candidate] === letter);
  return key === undefined || type === undefined ? undefined : { key, type };
}

export function keyOf(bundleId: string): string {
  const key = BUNDLE_ID.exec(bundleId)?.[1];
  if (key === undefined) throw new Error(`${JSON.stringify(bundleId)} is not the id of a bundle.`);
  return key;
}

/** As a string of its own: a slice would keep the whole command, up to 120 KiB, in memory. */
function cutName(name: string): string {
  return Buffer.from(name.slice(0, LIMITS.outputNameLength)).toString();
}
