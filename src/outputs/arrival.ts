/**
 * In which order the bytes of stdout and stderr arrived: a list of "so many bytes of this stream", from which
 * `combined` is put together on reading. A reader takes bytes that are not in the list yet as having come last.
 *
 * The list is bounded. Its first half is exact; after that, entries cover windows of the streams that grow as the
 * room left shrinks, so that a command that prints for days still has an order, only a coarser one.
 */
import { closeSync, readSync } from 'node:fs';
import { attempt } from '../base/attempt.ts';
import { writeAllSync } from '../base/files.ts';
import { LIMITS } from '../base/limits.ts';
import { openForAppending, openForReading } from './open-file.ts';

export const ARRIVAL_FILE = 'arrival';

/** Index 0 and 1 in an entry. */
export const ARRIVAL_STREAMS = ['stdout', 'stderr'] as const;
export type ArrivalStream = (typeof ARRIVAL_STREAMS)[number];

export type ArrivalLog = ReturnType<typeof createArrivalLog>;

/** One byte for the stream, six for the count. */
const ENTRY_BYTES = 7;
const MAX_COUNT = 2 ** 48 - 1;
const FLUSH_ENTRIES = 64;
const FIRST_WINDOW_BYTES = 64 * 1024;

export function createArrivalLog(path: string, maxEntries: number = LIMITS.arrivalEntries) {
  let fd = attempt(() => openForAppending(path).fd);
  const buffer = Buffer.alloc(FLUSH_ENTRIES * ENTRY_BYTES);
  let buffered = 0;
  let entries = 0;
  /** Not in the buffer yet; with an exact order only one of the two is not zero. */
  const pending = [0, 0];
  let window = 0;

  function record(stream: ArrivalStream, byteCount: number): void {
    const index = ARRIVAL_STREAMS.indexOf(stream);
    const other = 1 - index;
    const isFull = (pending[0] ?? 0) + (pending[1] ?? 0) >= window;
    if ((pending[other] ?? 0) > 0 && isFull) emitPending();
    pending[index] = Math.min(MAX_COUNT, (pending[index] ?? 0) + byteCount);
  }

  function emitPending(): void {
    for (const [index, count] of pending.entries()) {
      if (count > 0 && entries < maxEntries) emit(index, count);
      pending[index] = 0;
    }
    const left = maxEntries - entries;
    window = left > maxEntries / 2 ? 0 : FIRST_WINDOW_BYTES * (maxEntries / Math.max(1, left)) ** 2;
  }

  function emit(index: number, count: number): void {
    buffer.writeUInt8(index, buffered);
    buffer.writeUIntBE(count, buffered + 1, ENTRY_BYTES - 1);
    buffered += ENTRY_BYTES;
    entries++;
    if (buffered === buffer.length) writeBuffer();
  }

  function writeBuffer(): void {
    if (fd === undefined || buffered === 0) return;
    try {
      writeAllSync(fd, buffer.subarray(0, buffered));
    } catch {
      // A full disk makes the order coarser, no more: a torn entry ends the list, so nothing may follow it.
      closeSync(fd);
      fd = undefined;
    }
    buffered = 0;
  }

  /** Writes what is still in memory, for a reader. */
  function flush(): void {
    // Past the exact half a flush may come with every read, and must not use up the list.
    if (window === 0) emitPending();
    writeBuffer();
  }

  function close(): void {
    emitPending();
    writeBuffer();
    if (fd !== undefined) closeSync(fd);
    fd = undefined;
  }

  return { record, flush, close };
}

export interface ArrivalEntries {
  /** Indexes into ARRIVAL_STREAMS. */
  readonly streams: readonly number[];
  readonly counts: readonly number[];
}

export interface ArrivalReader {
  /** All entries there are now; the arrays are used again by the next call. */
  read(): ArrivalEntries;
  close(): void;
}

/** Undefined where there is no such file. */
export function openArrival(path: string): ArrivalReader | undefined {
  const fd = openForReading(path);
  return fd === undefined ? undefined : createArrivalReader(fd);
}

function createArrivalReader(fd: number): ArrivalReader {
  const block = Buffer.allocUnsafe(4096 * ENTRY_BYTES);
  const streams: number[] = [];
  const counts: number[] = [];

  function add(stream: number, count: number): void {
    const last = counts.length - 1;
    if (streams[last] === stream) {
      counts[last] = (counts[last] ?? 0) + count;
      return;
    }
    streams.push(stream);
    counts.push(count);
  }

  let position = 0;
  function read(): ArrivalEntries {
    for (;;) {
      const bytes = readSync(fd, block, 0, block.length, position);
      const whole = bytes - (bytes % ENTRY_BYTES);
      for (let at = 0; at < whole; at += ENTRY_BYTES) {
        add(block.readUInt8(at) & 1, block.readUIntBE(at + 1, ENTRY_BYTES - 1));
      }
      position += whole;
      if (whole === 0) return { streams, counts };
    }
  }

  return { read, close: () => closeSync(fd) };
}
