/**
 * The outputs of an execution while they are small: in memory, in the order in which they came. Most executions never
 * have more, and need no files of their own.
 */
import { ARRIVAL_STREAMS, type ArrivalStream } from './arrival.ts';
import type { Sink, StoredContent, StreamType } from './types.ts';

/** Over all streams: what fits into the journal beside the execution's record. */
const SPOOL_BYTES = 16 * 1024;

export type Spool = ReturnType<typeof createSpool>;

interface Stream {
  chunks: Buffer[];
  totalBytes: number;
  isClosed: boolean;
}

type Arrival = [stream: number, byteCount: number][];

/** `onFull` is called before a write that would not fit, and then calls `passOn` or `fail`. */
export function createSpool(types: readonly StreamType[], limitBytes: number, onFull: () => void) {
  const streams = new Map<StreamType, Stream>(
    types.map((type) => [type, { chunks: [], totalBytes: 0, isClosed: false }]),
  );
  const arrival: Arrival = [];
  let next: ReadonlyMap<StreamType, Sink> | undefined;
  let problem: string | undefined;
  let openStreams = types.length;
  let isEmpty = true;
  let keptBytes = 0;
  let capacity = Math.min(SPOOL_BYTES, limitBytes);

  function write(type: StreamType, stream: Stream, chunk: Uint8Array): void {
    if (next === undefined && problem === undefined && keptBytes + chunk.length > capacity) onFull();
    if (next !== undefined) return next.get(type)?.write(chunk);
    stream.totalBytes += chunk.length;
    isEmpty = isEmpty && chunk.length === 0;
    const kept = chunk.subarray(0, Math.max(0, Math.min(SPOOL_BYTES, limitBytes) - keptBytes));
    if (kept.length === 0) return;
    stream.chunks.push(Buffer.from(kept));
    keptBytes += kept.length;
    note(arrival, ARRIVAL_STREAMS.indexOf(type as ArrivalStream), kept.length);
  }

  const sinkOf = (type: StreamType, stream: Stream): Sink => ({
    totalBytes: () => next?.get(type)?.totalBytes() ?? stream.totalBytes,
    problem: () => next?.get(type)?.problem() ?? problem,
    write: (chunk) => write(type, stream, chunk),
    close() {
      if (stream.isClosed) return;
      stream.isClosed = true;
      openStreams--;
      next?.get(type)?.close();
    },
  });

  return {
    sinks: new Map([...streams].map(([type, stream]) => [type, sinkOf(type, stream)])),
    /** True until all sinks are closed. */
    isOpen: () => openStreams > 0,
    /** Whether nothing has come yet. */
    isEmpty: () => isEmpty,
    totalBytes: (type: StreamType): number => streams.get(type)?.totalBytes ?? 0,
    /** What is kept. */
    content: (): StoredContent => ({
      streams: new Map([...streams].map(([type, stream]) => [type, join(stream)])),
      arrival,
    }),
    /** From here on the sinks write there, where what it has is already. */
    passOn(sinks: ReadonlyMap<StreamType, Sink>): void {
      next = sinks;
    },
    /** From here on nothing more fits. */
    close(): void {
      capacity = 0;
    },
    /** Nothing can take it over: it keeps what it has, counts the rest, and says why. */
    fail(reason: string): void {
      problem = reason;
    },
  };
}

function note(arrival: Arrival, index: number, byteCount: number): void {
  const last = arrival.at(-1);
  if (last?.[0] === index) last[1] += byteCount;
  else if (index !== -1) arrival.push([index, byteCount]);
}

/** In one piece, so that the next reader copies nothing. */
function join(stream: Stream): Buffer {
  if (stream.chunks.length > 1) stream.chunks = [Buffer.concat(stream.chunks)];
  return stream.chunks[0] ?? Buffer.alloc(0);
}
