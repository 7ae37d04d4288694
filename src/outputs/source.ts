/**
 * Reading a captured stream: the file, and where the stream passed its limit, the tail that was kept of the rest.
 * Offsets are those the bytes had when they came, so what lies between file and tail is a gap.
 */
import { closeSync, fstatSync, lstatSync } from 'node:fs';
import { readAt } from '../base/files.ts';
import type { LineIndex } from './line-index.ts';
import { ifThere, openForReading } from './open-file.ts';
import { createTailReader, readTailTotal, type Tail } from './tail.ts';
import type { ByteSource, Gap } from './types.ts';

interface SourceOptions {
  /** The tail in the memory of a sink that is still open here; newer than the one on disk. */
  readonly unsavedTail?: () => Tail | undefined;
  readonly lineIndex?: LineIndex | undefined;
}

/** Undefined where there is no such file, or something else has taken its place. */
export function openSource(path: string, options: SourceOptions = {}): ByteSource | undefined {
  const fd = openForReading(path);
  return fd === undefined ? undefined : createSource(fd, path, options);
}

function createSource(fd: number, path: string, options: SourceOptions): ByteSource {
  const readTail = createTailReader(path);
  let headBytes = 0;
  let tail: Tail | undefined;
  let gaps: readonly Gap[] = [];

  function look(): number {
    // The tail first: once there is one, the file no longer grows, so the two always fit together.
    tail = options.unsavedTail?.() ?? readTail();
    headBytes = fstatSync(fd).size;
    if (tail === undefined) {
      gaps = [];
      return headBytes;
    }
    const size = Math.max(tail.totalBytes, headBytes);
    const tailFrom = Math.max(headBytes, size - tail.bytes.length);
    gaps = tailFrom > headBytes ? [{ from: headBytes, to: tailFrom }] : [];
    return size;
  }

  function read(offset: number, length: number, into?: Buffer): Buffer {
    if (offset < 0 || length <= 0) return Buffer.alloc(0);
    if (offset < headBytes) {
      const head = readAt(fd, offset, Math.min(length, headBytes - offset), into);
      const isAll = head.length === length || gaps.length > 0 || tail === undefined;
      return isAll ? head : Buffer.concat([head, read(headBytes, length - head.length)]);
    }
    if (tail === undefined) return Buffer.alloc(0);
    const at = offset - (tail.totalBytes - tail.bytes.length);
    return at < 0 ? Buffer.alloc(0) : tail.bytes.subarray(at, at + length);
  }

  look();
  return {
    size: look,
    gaps: () => gaps,
    read,
    lineIndex: options.lineIndex,
    close: () => closeSync(fd),
  };
}

/** All bytes that came and those on disk, without opening the stream; undefined where there is none. */
export function measureStream(path: string): { totalBytes: number; keptBytes: number } | undefined {
  const stat = ifThere(() => lstatSync(path));
  if (stat?.isFile() !== true) return undefined;
  const tail = readTailTotal(path) ?? { totalBytes: 0, keptBytes: 0 };
  return { totalBytes: Math.max(stat.size, tail.totalBytes), keptBytes: stat.size + tail.keptBytes };
}
