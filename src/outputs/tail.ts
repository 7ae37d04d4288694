/**
 * The end of a stream that passed its limit: a ring in memory on the writing side, and the file `<stream>.tail`,
 * which holds the stream's total size in its first line and its last bytes after that.
 */
import { fstatSync } from 'node:fs';
import { readAt } from '../base/files.ts';
import { withFile } from './open-file.ts';

export interface Tail {
  /** All bytes of the stream, kept or not. */
  readonly totalBytes: number;
  /** The last of them. */
  readonly bytes: Buffer;
}

export type TailRing = ReturnType<typeof createTailRing>;

export function tailPath(streamPath: string): string {
  return `${streamPath}.tail`;
}

export function createTailRing(capacity: number) {
  const ring = Buffer.allocUnsafe(capacity);
  let next = 0;
  let length = 0;

  return {
    push(chunk: Uint8Array): void {
      const last = chunk.length > capacity ? chunk.subarray(chunk.length - capacity) : chunk;
      const first = last.subarray(0, capacity - next);
      ring.set(first, next);
      ring.set(last.subarray(first.length), 0);
      next = capacity === 0 ? 0 : (next + last.length) % capacity;
      length = Math.min(capacity, length + last.length);
    },
    /** The bytes in their order, as a copy; only the last `maxBytes` of them where that is given. */
    bytes(maxBytes = length): Buffer {
      const wanted = Math.min(length, maxBytes);
      const start = next - wanted;
      if (start >= 0) return Buffer.from(ring.subarray(start, next));
      return Buffer.concat([ring.subarray(capacity + start), ring.subarray(0, next)]);
    },
  };
}

export function encodeTail(tail: Tail): Buffer {
  return Buffer.concat([Buffer.from(`${tail.totalBytes}\n`), tail.bytes]);
}

/**
 * The tail as it is now; undefined where the stream did not pass its limit. Reads the file again only when it was
 * replaced, which it is at most once a second.
 */
export function createTailReader(streamPath: string): () => Tail | undefined {
  let seen = '';
  let tail: Tail | undefined;
  return () =>
    withFile(tailPath(streamPath), (fd) => {
      const { ino, mtimeMs, size } = fstatSync(fd);
      const version = `${ino} ${mtimeMs} ${size}`;
      if (version !== seen) tail = parseTail(readAt(fd, 0, size)) ?? tail;
      seen = version;
      return tail;
    });
}

/** Only the total, for lists: the first line is enough. */
export function readTailTotal(streamPath: string): { totalBytes: number; keptBytes: number } | undefined {
  return withFile(tailPath(streamPath), (fd) => {
    const { size } = fstatSync(fd);
    const head = readAt(fd, 0, Math.min(size, 32));
    const tail = parseTail(head);
    return tail && { totalBytes: tail.totalBytes, keptBytes: size - (head.length - tail.bytes.length) };
  });
}

function parseTail(data: Buffer): Tail | undefined {
  const lineEnd = data.subarray(0, 32).indexOf(10);
  const line = data.toString('latin1', 0, Math.max(0, lineEnd));
  if (!/^\d{1,16}$/.test(line)) return undefined;
  return { totalBytes: Number(line), bytes: data.subarray(lineEnd + 1) };
}
