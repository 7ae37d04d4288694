/**
 * The outputs of an execution that are in memory while it is short, in files once they outgrow that or it lasts, and
 * where they stay small, with the execution's record afterwards.
 */
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import { type BundleOptions, createBundle, type StoredBundle } from './bundle.ts';
import { createBundleFiles } from './bundle-files.ts';
import { createStoredMemory, followIntoFile, type Memory, openMemorySource } from './memory-source.ts';
import { createSpool, type Spool } from './spool.ts';
import { createStreamSet, type StreamSet } from './stream-set.ts';
import type { OutputStorage, StreamType } from './types.ts';

interface State {
  /** Until the execution's record has its content. */
  spool: Spool | undefined;
  /** Once the spool is not enough. */
  files: StoredBundle | undefined;
}

export function createSpooledBundle(options: BundleOptions, kept?: OutputStorage): StoredBundle {
  const streams = streamsIn(options.captured, kept);
  const state: State = { spool: undefined, files: undefined };
  const stored = createStoredMemory(kept);
  const memory: Memory = {
    content: () => state.spool?.content() ?? stored.content(),
    totalBytes: (type) => state.spool?.totalBytes(type) ?? 0,
  };
  const outgrow = (): void => moveToFiles(options, streams.captured(), state);
  const types = (): readonly StreamType[] => (state.files ?? streams).types();
  const sizeOf = (type: StreamType): number => state.spool?.totalBytes(type) ?? stored.size(type);

  /** What was read once must not be lost when the server is killed. */
  function savedFiles(): StoredBundle | undefined {
    if (state.spool?.isOpen() === true && !state.spool.isEmpty()) outgrow();
    return state.files;
  }

  return {
    id: options.id,
    directory: join(options.parent, options.id),
    types,
    outputId: (type) => (types().includes(type) ? options.outputIdOf(type) : undefined),
    isDerived: (type) => (state.files ?? streams).isDerived(type),
    openSinks() {
      if (state.spool !== undefined)
        throw new Error(`The outputs of ${options.id} are open for writing already.`);
      state.spool = createSpool(streams.captured(), options.limits.maxOutputBytes, outgrow);
      return state.spool.sinks;
    },
    source(type) {
      const files = savedFiles();
      if (files !== undefined) return files.source(type);
      const source = openMemorySource(memory, streams, type);
      if (source === undefined || state.spool?.isOpen() !== true) return source;
      return followIntoFile(source, () => savedFiles()?.source(type));
    },
    outlast() {
      state.spool?.close();
      if (state.spool?.isEmpty() === false) outgrow();
    },
    content: () => (state.files === undefined ? state.spool?.content() : undefined),
    keepIn(storage) {
      // The answer, which is about to be made, finds it in memory.
      stored.keepIn(storage, state.spool?.content());
      state.spool = undefined;
      options.onKept?.();
    },
    measure: () =>
      state.files?.measure() ??
      streams.withDerived(new Map(streams.captured().map((type) => [type, sizeOf(type)]))),
    keptBytes: () =>
      state.files?.keptBytes() ?? streams.captured().reduce((sum, type) => sum + sizeOf(type), 0),
    deleteStream(type) {
      if (state.files !== undefined) return state.files.deleteStream(type);
      stored.forget(type);
      streams.remove(type);
    },
    isOnDisk: () => state.files !== undefined,
  };
}

/** What there is of the streams that were captured. */
export const streamsIn = (captured: readonly StreamType[], kept: OutputStorage | undefined): StreamSet =>
  createStreamSet(
    captured.filter((type) => kept === undefined || kept.sizes.has(type)),
    () => kept?.sizes.has('combined') !== true,
  );

function moveToFiles(options: BundleOptions, captured: readonly StreamType[], state: State): void {
  const { spool } = state;
  if (state.files !== undefined || spool === undefined) return;
  try {
    const { streams, arrival } = spool.content();
    createBundleFiles(options.parent, { id: options.id, streams: captured }, streams);
    const files = createBundle({ ...options, captured, isNew: true });
    spool.passOn(files.openSinks(arrival));
    state.files = files;
  } catch (error) {
    // The disk refuses.
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    spool.fail(messageOf(cause));
  }
}
