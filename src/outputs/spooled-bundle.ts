/**
 * The outputs of an execution that are in memory while it is short, in files once they outgrow that or it lasts, and
 * where they stay small, with the execution's record afterwards.
 */
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import {
  type BundleOptions,
  createBundle,
  createBundleFiles,
  derivesCombined,
  type StoredBundle,
} from './bundle.ts';
import { combine } from './combined.ts';
import { createMemorySource, createSpool, memoryArrival, type Spool } from './spool.ts';
import type { ByteSource, OutputStorage, Sink, StoredContent, StreamType } from './types.ts';

export function createSpooledBundle(options: BundleOptions, kept?: OutputStorage): StoredBundle {
  let files: StoredBundle | undefined;
  let spool: Spool | undefined;
  let storage = kept;
  /** As long as it is being read: thousands of bundles are known, and it can be loaded again. */
  let content: WeakRef<StoredContent> | undefined;
  let captured = options.captured.filter((type) => kept === undefined || kept.sizes.has(type));
  let hasDerived = derivesCombined(captured) && kept?.isOrderGone !== true;

  /** Throws where the disk refuses. */
  function moveToFiles(): void {
    if (files !== undefined || spool === undefined) return;
    const { id, parent } = options;
    const { streams, arrival } = spool.content();
    createBundleFiles(parent, { id, streams: captured }, streams);
    const made = createBundle({ ...options, captured, isNew: true });
    spool.passOn(made.openSinks(arrival));
    files = made;
  }

  function outgrow(): void {
    try {
      moveToFiles();
    } catch (error) {
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      spool?.fail(messageOf(cause));
    }
  }

  function openSinks(): ReadonlyMap<StreamType, Sink> {
    if (spool !== undefined) throw new Error(`The outputs of ${options.id} are open for writing already.`);
    spool = createSpool(captured, options.limits.maxOutputBytes, outgrow);
    return spool.sinks;
  }

  function inMemory(): StoredContent | undefined {
    if (spool !== undefined) return spool.content();
    const known = content?.deref() ?? storage?.load();
    if (known !== undefined) content = new WeakRef(known);
    return known;
  }

  /** What was read once must not be lost when the server is killed. */
  function saveRead(): void {
    if (spool?.isOpen() === true && captured.some((type) => (spool?.totalBytes(type) ?? 0) > 0)) outgrow();
  }

  function source(type: StreamType): ByteSource | undefined {
    saveRead();
    if (files !== undefined) return files.source(type);
    const memory = memorySource(type);
    return memory === undefined || spool?.isOpen() !== true ? memory : following(type, memory);
  }

  function memorySource(type: StreamType): ByteSource | undefined {
    if (captured.includes(type)) {
      if (inMemory()?.streams.get(type) === undefined) return undefined;
      return createMemorySource(() => {
        const bytes = inMemory()?.streams.get(type) ?? Buffer.alloc(0);
        return { bytes, totalBytes: Math.max(bytes.length, spool?.totalBytes(type) ?? 0) };
      });
    }
    if (type !== 'combined' || !hasDerived) return undefined;
    const stdout = memorySource('stdout');
    const stderr = memorySource('stderr');
    if (stdout === undefined || stderr === undefined) return undefined;
    return combine(
      { stdout, stderr },
      memoryArrival(() => inMemory()?.arrival ?? []),
    );
  }

  /** Goes on with the files where there are some. */
  function following(type: StreamType, memory: ByteSource): ByteSource {
    let inFiles: ByteSource | undefined;
    const current = (): ByteSource => {
      saveRead();
      inFiles ??= files?.source(type);
      return inFiles ?? memory;
    };
    return {
      get size() {
        return current().size;
      },
      get gaps() {
        return (inFiles ?? memory).gaps;
      },
      read: (offset, length, into) => (inFiles ?? memory).read(offset, length, into),
      close: () => inFiles?.close(),
    };
  }

  function sizes(): Map<StreamType, number> {
    const found = new Map<StreamType, number>();
    for (const type of captured) found.set(type, spool?.totalBytes(type) ?? storage?.sizes.get(type) ?? 0);
    return found;
  }

  function forget(type: StreamType): void {
    storage?.forget(type);
    content = undefined;
    captured = captured.filter((other) => other !== type);
    hasDerived = hasDerived && type !== 'combined' && derivesCombined(captured);
  }

  const typesNow = (): readonly StreamType[] => (hasDerived ? [...captured, 'combined'] : captured);

  return {
    id: options.id,
    directory: join(options.parent, options.id),
    types: () => files?.types() ?? typesNow(),
    outputId: (type) =>
      files === undefined
        ? typesNow().includes(type)
          ? options.outputIdOf(type)
          : undefined
        : files.outputId(type),
    isDerived: (type) => files?.isDerived(type) ?? (type === 'combined' && hasDerived),
    openSinks,
    source,
    outlast() {
      spool?.close();
      if (captured.some((type) => (spool?.totalBytes(type) ?? 0) > 0)) outgrow();
    },
    content: () => (files === undefined ? spool?.content() : undefined),
    keepIn(place) {
      storage = place;
      // The answer, which is about to be made, finds it in memory.
      content = spool && new WeakRef(spool.content());
      spool = undefined;
    },
    measure() {
      if (files !== undefined) return files.measure();
      const found = sizes();
      if (hasDerived) found.set('combined', (found.get('stdout') ?? 0) + (found.get('stderr') ?? 0));
      return found;
    },
    keptBytes: () => files?.keptBytes() ?? [...sizes().values()].reduce((sum, bytes) => sum + bytes, 0),
    deleteStream: (type) => (files === undefined ? forget(type) : files.deleteStream(type)),
    isOnDisk: () => files !== undefined,
  };
}
