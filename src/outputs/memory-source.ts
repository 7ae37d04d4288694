/** Reading outputs that lie in memory, or come back there from the execution's record. */
import type { ArrivalReader } from './arrival.ts';
import { combine } from './combined.ts';
import type { StreamSet } from './stream-set.ts';
import type { ByteSource, OutputStorage, StoredContent, StreamType } from './types.ts';

/** As it is at each look. */
export interface Memory {
  /** What is kept; undefined where it is gone. */
  content(): StoredContent | undefined;
  /** All bytes that came, where more came than is kept. */
  totalBytes(type: StreamType): number;
}

const NOTHING = Buffer.alloc(0);

export function openMemorySource(
  memory: Memory,
  streams: StreamSet,
  type: StreamType,
): ByteSource | undefined {
  if (streams.captured().includes(type)) return createMemorySource(memory, type);
  if (!streams.isDerived(type)) return undefined;
  const stdout = createMemorySource(memory, 'stdout');
  const stderr = createMemorySource(memory, 'stderr');
  return stdout && stderr && combine([stdout, stderr], createArrivalReader(memory));
}

function createMemorySource(memory: Memory, type: StreamType): ByteSource | undefined {
  const kept = memory.content()?.streams.get(type);
  if (kept === undefined) return undefined;
  let bytes = kept;
  let totalBytes = Math.max(bytes.length, memory.totalBytes(type));
  return {
    size() {
      bytes = memory.content()?.streams.get(type) ?? NOTHING;
      totalBytes = Math.max(bytes.length, memory.totalBytes(type));
      return totalBytes;
    },
    gaps: () => (totalBytes > bytes.length ? [{ from: bytes.length, to: totalBytes }] : []),
    read: (offset, length) => (offset < 0 || length <= 0 ? NOTHING : bytes.subarray(offset, offset + length)),
    close: () => undefined,
  };
}

function createArrivalReader(memory: Memory): ArrivalReader {
  return {
    read() {
      const entries = memory.content()?.arrival ?? [];
      return {
        streams: entries.map(([stream]) => stream),
        counts: entries.map(([, byteCount]) => byteCount),
      };
    },
    close: () => undefined,
  };
}

/** Goes on with the files once `openFile` finds one, which it is asked for at each look. */
export function followIntoFile(memory: ByteSource, openFile: () => ByteSource | undefined): ByteSource {
  let inFile: ByteSource | undefined;
  return {
    size() {
      inFile ??= openFile();
      return (inFile ?? memory).size();
    },
    gaps: () => (inFile ?? memory).gaps(),
    read: (offset, length, into) => (inFile ?? memory).read(offset, length, into),
    close: () => inFile?.close(),
  };
}

/** What is stored with an execution's record, loaded where it is read. */
export function createStoredMemory(first: OutputStorage | undefined) {
  let storage = first;
  /** As long as it is being read: thousands of bundles are known, and it can be loaded again. */
  let content: WeakRef<StoredContent> | undefined;

  return {
    content(): StoredContent | undefined {
      const held = content?.deref();
      if (held !== undefined) return held;
      const loaded = storage?.load();
      if (loaded !== undefined) content = new WeakRef(loaded);
      return loaded;
    },
    size: (type: StreamType): number => storage?.sizes.get(type) ?? 0,
    /** `stored` is what was stored there just now. */
    keepIn(place: OutputStorage, stored: StoredContent | undefined): void {
      storage = place;
      content = stored && new WeakRef(stored);
    },
    forget(type: StreamType): void {
      storage?.forget(type);
      content = undefined;
    },
  };
}
