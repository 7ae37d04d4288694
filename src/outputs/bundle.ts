/**
 * The outputs of one execution: a directory with a file for each captured stream. What is deleted is gone from the
 * directory, so that after a restart the directory alone says what there is; the derived `combined` is there as long
 * as the order of arrival is.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { ARRIVAL_FILE } from './arrival.ts';
import {
  type BundleSinks,
  isFile,
  isLate,
  type OutputLimits,
  openBundleSinks,
  removeStreamFiles,
} from './bundle-files.ts';
import { openCombined } from './combined.ts';
import { createLineIndex, type LineIndex } from './line-index.ts';
import { measureStream, openSource } from './source.ts';
import { createStreamSet, type StreamSet } from './stream-set.ts';
import type { Bundle, ByteSource, Sink, StoredContent, StreamType } from './types.ts';

export interface StoredBundle extends Bundle, Pick<StreamSet, 'types' | 'isDerived'> {
  /** With what came before, which is in the files already. */
  openSinks(earlier?: StoredContent['arrival']): ReadonlyMap<StreamType, Sink>;
  /** All bytes that came of each stream, by a look at the disk; what has vanished is left out of `types` from then on. */
  measure(): ReadonlyMap<StreamType, number>;
  /** Whether it has a directory. */
  isOnDisk(): boolean;
  /** On disk; as of the last look, where nothing can have changed since. */
  keptBytes(): number;
  deleteStream(type: StreamType): void;
}

export interface BundleOptions {
  /** Where the bundle's own directory lies. */
  readonly parent: string;
  readonly id: string;
  /** The streams that have a file, unless that was deleted. */
  readonly captured: readonly StreamType[];
  /** Its files were made just now, and need not be looked for. */
  readonly isNew: boolean;
  readonly limits: OutputLimits;
  readonly outputIdOf: (type: StreamType) => string;
  readonly isRunning: () => boolean;
  /** What was in memory is kept elsewhere. */
  readonly onKept?: () => void;
}

interface State {
  readonly directory: string;
  readonly streams: StreamSet;
  readonly lineIndexes: Partial<Record<StreamType, LineIndex>>;
  /** Of this process, while they are open, and afterwards while one holds what could not be written. */
  writing: BundleSinks | undefined;
}

export function createBundle(options: BundleOptions): StoredBundle {
  const { id, isRunning } = options;
  const directory = join(options.parent, id);
  const isThere = (file: string): boolean => options.isNew || isRunning() || isFile(join(directory, file));
  const streams = createStreamSet(options.captured.filter(isThere), () => isThere(ARRIVAL_FILE));
  const state: State = { directory, streams, lineIndexes: {}, writing: undefined };
  let wasOpened = false;
  let lastKeptBytes: number | undefined;
  const isFinal = (): boolean => !isRunning() && state.writing === undefined;

  /** What is written at the end may be there or not, whichever process writes it. */
  const types = (): readonly StreamType[] =>
    streams.captured().some(isLate)
      ? streams.types().filter((type) => !isLate(type) || isFile(join(directory, type)))
      : streams.types();

  return {
    id,
    directory,
    types,
    outputId: (type) => (types().includes(type) ? options.outputIdOf(type) : undefined),
    isDerived: streams.isDerived,
    openSinks(earlier = []) {
      if (wasOpened) throw new Error(`The outputs of ${id} are open for writing already.`);
      wasOpened = true;
      const onSaved = (): void => {
        state.writing = undefined;
      };
      state.writing = openBundleSinks({ directory, streams, limits: options.limits, earlier, onSaved });
      return state.writing.sinks;
    },
    source: (type) => openStream(state, type, isFinal),
    measure() {
      const { sizes, keptBytes } = measureFiles(state);
      // What runs may have files yet.
      if (!isRunning()) removeVanished(state, sizes);
      lastKeptBytes = isFinal() ? keptBytes : undefined;
      return streams.withDerived(sizes);
    },
    keptBytes() {
      if (lastKeptBytes !== undefined) return lastKeptBytes;
      const { keptBytes } = measureFiles(state);
      if (isFinal()) lastKeptBytes = keptBytes;
      return keptBytes;
    },
    deleteStream(type) {
      lastKeptBytes = undefined;
      if (streams.captured().includes(type)) removeStreamFiles(directory, type);
      // Without both of its streams there is nothing to put together.
      if (streams.isDerived('combined') && !isLate(type))
        rmSync(join(directory, ARRIVAL_FILE), { force: true });
      streams.remove(type);
    },
    outlast: () => undefined,
    content: () => undefined,
    keepIn: () => undefined,
    isOnDisk: () => true,
  };
}

function openStream(state: State, type: StreamType, isFinal: () => boolean): ByteSource | undefined {
  const { directory, streams, lineIndexes } = state;
  if (streams.captured().includes(type)) {
    return openSource(join(directory, type), {
      unsavedTail: () => state.writing?.sinks.get(type)?.unsavedTail(),
      lineIndex: (lineIndexes[type] ??= createLineIndex()),
    });
  }
  if (!streams.isDerived(type)) return undefined;
  const [stdout, stderr] = [openStream(state, 'stdout', isFinal), openStream(state, 'stderr', isFinal)];
  return openCombined(stdout, stderr, join(directory, ARRIVAL_FILE), {
    beforeLook: () => state.writing?.flushOrder(),
    lineIndex: isFinal() ? (lineIndexes.combined ??= createLineIndex()) : undefined,
  });
}

/** All bytes that came of each captured stream that is there, and what is kept of them. */
function measureFiles({ directory, streams, writing }: State) {
  const sizes = new Map<StreamType, number>();
  let keptBytes = 0;
  for (const type of streams.captured()) {
    const measured = measureStream(join(directory, type));
    if (measured === undefined) continue;
    sizes.set(type, Math.max(measured.totalBytes, writing?.sinks.get(type)?.totalBytes() ?? 0));
    keptBytes += measured.keptBytes;
  }
  return { sizes, keptBytes };
}

function removeVanished({ directory, streams }: State, found: ReadonlyMap<StreamType, number>): void {
  for (const type of streams.captured()) if (!isLate(type) && !found.has(type)) streams.remove(type);
  if (streams.isDerived('combined') && !isFile(join(directory, ARRIVAL_FILE))) streams.remove('combined');
}
