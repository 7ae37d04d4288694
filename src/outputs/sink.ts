/**
 * Where a captured stream goes: a file up to a limit, then a ring of the last bytes. It stands alone, so that the
 * wrapper of a detached execution can use it without the rest of the server.
 *
 * It never throws: a full disk must not end a command that is doing well. Writes are synchronous, so that what was
 * taken from a pipe is on disk before more is taken, and nothing piles up in memory.
 */
import { closeSync, writeSync } from 'node:fs';
import { messageOf } from '../base/errors.ts';
import { writeFileWhole } from '../base/files.ts';
import { LIMITS } from '../base/limits.ts';
import { openForAppending } from './open-file.ts';
import { createTailRing, encodeTail, type Tail, type TailRing, tailPath } from './tail.ts';
import type { Sink } from './types.ts';

export interface SinkOptions {
  /** Exactly this many bytes go to the file. */
  readonly limitBytes: number;
  /** And this many of the last ones to `<path>.tail`, where there are more. */
  readonly tailBytes: number;
  /** Called after each write with all bytes that came, kept or not. */
  readonly onWrite?: (byteCount: number) => void;
  /** Called once, after the file is closed. */
  readonly onClose?: () => void;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

export interface FileSink extends Sink {
  /** What a reader cannot find on disk yet: past the limit, the last bytes in memory. */
  unsavedTail(): Tail | undefined;
}

/** While more is coming, another process sees a tail that is at most this old. */
const TAIL_INTERVAL_MS = 1000;

export function createSink(path: string, options: SinkOptions): FileSink {
  const now = options.now ?? (() => performance.now());
  let problem: string | undefined;
  let fd: number | undefined;
  let keptBytes = 0;
  let ring: TailRing | undefined;
  /** What a tail that could not be written leaves behind, once the sink is closed. */
  let lastWords: Buffer | undefined;
  let tailIsSaved = true;
  let tailSavedAtMs = Number.NEGATIVE_INFINITY;
  let closed = false;

  try {
    ({ fd, size: keptBytes } = openForAppending(path));
  } catch (error) {
    problem = messageOf(error);
  }
  let totalBytes = keptBytes;

  /** Returns how much of it reached the disk. */
  function append(bytes: Uint8Array): number {
    if (fd === undefined || problem !== undefined) return 0;
    let written = 0;
    try {
      // A disk that is nearly full takes a part, and says ENOSPC only to the next write.
      while (written < bytes.length) written += writeSync(fd, bytes, written, bytes.length - written);
    } catch (error) {
      problem = messageOf(error);
    }
    return written;
  }

  function write(chunk: Uint8Array): void {
    if (closed || chunk.length === 0) return;
    const written = append(chunk.subarray(0, Math.max(0, options.limitBytes - keptBytes)));
    keptBytes += written;
    totalBytes += chunk.length;
    if (written < chunk.length) {
      ring ??= createTailRing(options.tailBytes);
      ring.push(chunk.subarray(written));
      tailIsSaved = false;
      if (now() - tailSavedAtMs >= TAIL_INTERVAL_MS) saveTail(ring);
    }
    options.onWrite?.(chunk.length);
  }

  function saveTail(from: TailRing): void {
    tailSavedAtMs = now();
    try {
      writeFileWhole(tailPath(path), encodeTail({ totalBytes, bytes: from.bytes() }));
      tailIsSaved = true;
    } catch (error) {
      problem ??= messageOf(error);
    }
  }

  function close(): void {
    if (closed) return;
    closed = true;
    if (ring !== undefined && !tailIsSaved) saveTail(ring);
    if (ring !== undefined && !tailIsSaved) lastWords = ring.bytes(LIMITS.unsavedTailBytes);
    ring = undefined;
    if (fd !== undefined) closeSync(fd);
    fd = undefined;
    options.onClose?.();
  }

  function unsavedTail(): Tail | undefined {
    if (tailIsSaved) return undefined;
    const bytes = ring?.bytes() ?? lastWords;
    return bytes && { totalBytes, bytes };
  }

  return {
    get totalBytes() {
      return totalBytes;
    },
    get problem() {
      return problem;
    },
    write,
    close,
    unsavedTail,
  };
}
