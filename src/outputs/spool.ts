/**
 * The outputs of an execution while they are small: in memory, in the order in which they came. Most executions never
 * have more, and need no files of their own.
 */
import { ARRIVAL_STREAMS, type ArrivalEntries, type ArrivalReader } from './arrival.ts';
import type { ByteSource, Sink, StoredContent, StreamType } from './types.ts';

/** Over all streams: what fits into the journal beside the execution's record. */
export const SPOOL_BYTES = 16 * 1024;

export interface Spool {
  readonly sinks: ReadonlyMap<StreamType, Sink>;
  /** True until all sinks are closed. */
  isOpen(): boolean;
  totalBytes(type: StreamType): number;
  content(): StoredContent;
  /** From here on the sinks write there, where what it has is already. */
  passOn(sinks: ReadonlyMap<StreamType, Sink>): void;
  /** From here on nothing more fits. */
  close(): void;
  /** Nothing can take it over: it keeps what it has, counts the rest, and says why. */
  fail(problem: string): void;
}

interface Stream {
  chunks: Buffer[];
  keptBytes: number;
  totalBytes: number;
  isClosed: boolean;
}

/** `onFull` is called before a write that would not fit, and then calls `passOn` or `fail`. */
export function createSpool(types: readonly StreamType[], limitBytes: number, onFull: () => void): Spool {
  const streams = new Map<StreamType, Stream>(
    types.map((type) => [type, { chunks: [], keptBytes: 0, totalBytes: 0, isClosed: false }]),
  );
  const arrival: [stream: number, byteCount: number][] = [];
  let next: ReadonlyMap<StreamType, Sink> | undefined;
  let problem: string | undefined;
  let keptBytes = 0;
  let capacity = Math.min(SPOOL_BYTES, limitBytes);

  function write(type: StreamType, stream: Stream, chunk: Uint8Array): void {
    if (next === undefined && problem === undefined && keptBytes + chunk.length > capacity) onFull();
    if (next !== undefined) return next.get(type)?.write(chunk);
    stream.totalBytes += chunk.length;
    const kept = chunk.subarray(0, Math.max(0, Math.min(SPOOL_BYTES, limitBytes) - keptBytes));
    if (kept.length === 0) return;
    stream.chunks.push(Buffer.from(kept));
    stream.keptBytes += kept.length;
    keptBytes += kept.length;
    note(ARRIVAL_STREAMS.indexOf(type as (typeof ARRIVAL_STREAMS)[number]), kept.length);
  }

  function note(index: number, byteCount: number): void {
    const last = arrival.at(-1);
    if (last?.[0] === index) last[1] += byteCount;
    else if (index !== -1) arrival.push([index, byteCount]);
  }

  const sinkOf = (type: StreamType, stream: Stream): Sink => ({
    get totalBytes() {
      return next?.get(type)?.totalBytes ?? stream.totalBytes;
    },
    get problem() {
      return next?.get(type)?.problem ?? problem;
    },
    write: (chunk) => write(type, stream, chunk),
    close() {
      if (stream.isClosed) return;
      stream.isClosed = true;
      next?.get(type)?.close();
    },
  });

  const isOpen = (): boolean => [...streams.values()].some(({ isClosed }) => !isClosed);

  return {
    sinks: new Map([...streams].map(([type, stream]) => [type, sinkOf(type, stream)])),
    isOpen,
    totalBytes: (type) => streams.get(type)?.totalBytes ?? 0,
    content: () => ({
      streams: new Map([...streams].map(([type, { chunks }]) => [type, Buffer.concat(chunks)])),
      arrival,
    }),
    passOn(sinks) {
      next = sinks;
    },
    close() {
      capacity = 0;
    },
    fail(reason) {
      problem = reason;
    },
  };
}

/** What lies in memory, as it is at each look. */
export function createMemorySource(
  look: () => { readonly bytes: Buffer; readonly totalBytes: number },
): ByteSource {
  let { bytes, totalBytes } = look();
  return {
    get size() {
      ({ bytes, totalBytes } = look());
      return totalBytes;
    },
    get gaps() {
      return totalBytes > bytes.length ? [{ from: bytes.length, to: totalBytes }] : [];
    },
    read: (offset, length) =>
      offset < 0 || length <= 0 ? Buffer.alloc(0) : bytes.subarray(offset, offset + length),
    close: () => undefined,
  };
}

/** The order of what lies in memory. */
export function memoryArrival(look: () => StoredContent['arrival']): ArrivalReader {
  return {
    read(): ArrivalEntries {
      const entries = look();
      return {
        streams: Uint8Array.from(entries, ([stream]) => stream),
        counts: Float64Array.from(entries, ([, byteCount]) => byteCount),
        length: entries.length,
      };
    },
    close: () => undefined,
  };
}
