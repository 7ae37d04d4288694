/**
 * The end of a stream that passed its limit: a ring in memory on the writing side, and the file `<stream>.tail`,
 * which holds the stream's total size in its first line and its last bytes after that.
 */
import { closeSync, fstatSync, readSync } from 'node:fs';
import { openForReading } from './open-file.ts';

export interface Tail {
  /** All bytes of the stream, kept or not. */
  readonly totalBytes: number;
  /** The last of them. */
  readonly bytes: Buffer;
}

export interface TailRing {
  push(chunk: Uint8Array): void;
  /** The bytes in their order, as a copy; only the last `maxBytes` of them where that is given. */
  bytes(maxBytes?: number): Buffer;
}

export function tailPath(streamPath: string): string {
  return `${streamPath}.tail`;
}

export function createTailRing(capacity: number): TailRing {
  const ring = Buffer.allocUnsafe(capacity);
  let next = 0;
  let length = 0;

  function push(chunk: Uint8Array): void {
    const last = chunk.length > capacity ? chunk.subarray(chunk.length - capacity) : chunk;
    const first = last.subarray(0, capacity - next);
    ring.set(first, next);
    ring.set(last.subarray(first.length), 0);
    next = capacity === 0 ? 0 : (next + last.length) % capacity;
    length = Math.min(capacity, length + last.length);
  }

  function bytes(maxBytes = length): Buffer {
    const wanted = Math.min(length, maxBytes);
    const start = next - wanted;
    if (start >= 0) return Buffer.from(ring.subarray(start, next));
    return Buffer.concat([ring.subarray(capacity + start), ring.subarray(0, next)]);
  }

  return { push, bytes };
}

export function encodeTail(tail: Tail): Buffer {
  return Buffer.concat([Buffer.from(`${tail.totalBytes}\n`), tail.bytes]);
}

export interface TailReader {
  /** The tail as it is now; undefined where the stream did not pass its limit. */
  read(): Tail | undefined;
}

/** Reads the file again only when it was replaced, which it is at most once a second. */
export function createTailReader(streamPath: string): TailReader {
  let seen = '';
  let tail: Tail | undefined;

  return {
    read: () => {
      const opened = openForReading(tailPath(streamPath));
      if (opened === undefined) return undefined;
      try {
        const { ino, mtimeMs, size } = fstatSync(opened);
        const version = `${ino} ${mtimeMs} ${size}`;
        if (version !== seen) {
          tail = parseTail(readWhole(opened, size)) ?? tail;
          seen = version;
        }
      } finally {
        closeSync(opened);
      }
      return tail;
    },
  };
}

/** Only the total, for lists: the first line is enough. */
export function readTailTotal(streamPath: string): { totalBytes: number; keptBytes: number } | undefined {
  const opened = openForReading(tailPath(streamPath));
  if (opened === undefined) return undefined;
  try {
    const { size } = fstatSync(opened);
    const head = readWhole(opened, Math.min(size, 32));
    const tail = parseTail(head);
    return tail && { totalBytes: tail.totalBytes, keptBytes: size - (head.length - tail.bytes.length) };
  } finally {
    closeSync(opened);
  }
}

function parseTail(data: Buffer): Tail | undefined {
  const lineEnd = data.subarray(0, 32).indexOf(10);
  const line = data.toString('latin1', 0, Math.max(0, lineEnd));
  if (!/^\d{1,16}$/.test(line)) return undefined;
  return { totalBytes: Number(line), bytes: data.subarray(lineEnd + 1) };
}

function readWhole(fd: number, size: number): Buffer {
  const data = Buffer.allocUnsafe(size);
  let length = 0;
  while (length < size) {
    const read = readSync(fd, data, length, size - length, length);
    if (read === 0) break;
    length += read;
  }
  return data.subarray(0, length);
}
