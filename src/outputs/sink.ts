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

interface SinkOptions {
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
  let problem: string | undefined;
  let fd: number | undefined;
  let keptBytes = 0;
  let closed = false;

  try {
    ({ fd, size: keptBytes } = openForAppending(path));
  } catch (error) {
    problem = messageOf(error);
  }
  let totalBytes = keptBytes;
  const tail = createTailKeeper(path, options, (reason) => {
    problem ??= reason;
  });

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

  return {
    totalBytes: () => totalBytes,
    problem: () => problem,
    write(chunk) {
      if (closed || chunk.length === 0) return;
      const written = append(chunk.subarray(0, Math.max(0, options.limitBytes - keptBytes)));
      keptBytes += written;
      totalBytes += chunk.length;
      if (written < chunk.length) tail.push(chunk.subarray(written), totalBytes);
      options.onWrite?.(chunk.length);
    },
    close() {
      if (closed) return;
      closed = true;
      tail.close(totalBytes);
      if (fd !== undefined) closeSync(fd);
      fd = undefined;
      options.onClose?.();
    },
    unsavedTail: () => tail.unsaved(totalBytes),
  };
}

/** The last bytes of a stream that has passed its limit, in memory and from time to time on disk. */
function createTailKeeper(path: string, options: SinkOptions, onProblem: (reason: string) => void) {
  const now = options.now ?? (() => performance.now());
  let ring: TailRing | undefined;
  /** What a tail that could not be written leaves behind, once the sink is closed. */
  let lastWords: Buffer | undefined;
  let isSaved = true;
  let savedAtMs = Number.NEGATIVE_INFINITY;

  function save(from: TailRing, totalBytes: number): void {
    savedAtMs = now();
    try {
      writeFileWhole(tailPath(path), encodeTail({ totalBytes, bytes: from.bytes() }));
      isSaved = true;
    } catch (error) {
      onProblem(messageOf(error));
    }
  }

  return {
    push(chunk: Uint8Array, totalBytes: number): void {
      ring ??= createTailRing(options.tailBytes);
      ring.push(chunk);
      isSaved = false;
      if (now() - savedAtMs >= TAIL_INTERVAL_MS) save(ring, totalBytes);
    },
    close(totalBytes: number): void {
      if (ring !== undefined && !isSaved) save(ring, totalBytes);
      if (ring !== undefined && !isSaved) lastWords = ring.bytes(LIMITS.unsavedTailBytes);
      ring = undefined;
    },
    unsaved(totalBytes: number): Tail | undefined {
      const bytes = isSaved ? undefined : (ring?.bytes() ?? lastWords);
      return bytes && { totalBytes, bytes };
    },
  };
}
