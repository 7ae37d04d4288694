/**
 * Going through an output from one end to the other without holding it, and without holding up the event loop.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LIMITS } from '../base/limits.ts';
import { byteKernel } from './byte-kernel.ts';
import type { ByteSource, Gap } from './types.ts';

/** Below this a plain loop is as fast, and most servers never need the kernel. */
export const KERNEL_BYTES = 64 * 1024;

/** Gives others a turn once this one has taken long enough; throws when the signal aborts. */
export type Pace = () => Promise<void>;

export function createPace(signal?: AbortSignal): Pace {
  let turnStartedMs = performance.now();
  return async () => {
    signal?.throwIfAborted();
    if (performance.now() - turnStartedMs < LIMITS.scanTurnMs) return;
    await nextTurn();
    turnStartedMs = performance.now();
  };
}

interface Chunk {
  readonly offset: number;
  /** Only until the next chunk is asked for: they share their memory. */
  readonly bytes: Buffer;
  /** What lies before it was not kept. */
  readonly isAfterGap: boolean;
}

/** The kept bytes of [from, to), in order. */
export function* chunksOf(source: ByteSource, from: number, to: number): Generator<Chunk> {
  const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(LIMITS.scanChunkBytes, to - from)));
  let offset = from;
  let isAfterGap = false;
  while (offset < to) {
    const bytes = source.read(offset, Math.min(buffer.length, to - offset), buffer);
    if (bytes.length > 0) {
      yield { offset, bytes, isAfterGap };
      offset += bytes.length;
      isAfterGap = false;
      continue;
    }
    const gap = gapAt(source, offset);
    if (gap === undefined) return;
    offset = gap.to;
    isAfterGap = true;
  }
}

export function gapAt(source: ByteSource, offset: number): Gap | undefined {
  return source.gaps().find((gap) => gap.from <= offset && offset < gap.to);
}

export function gapBytes(source: ByteSource): number {
  return source.gaps().reduce((sum, gap) => sum + gap.to - gap.from, 0);
}

export function countNewlines(bytes: Buffer, newline: Buffer): number {
  let count = 0;
  if (newline.length === 1) {
    const kernel = bytes.length < KERNEL_BYTES ? undefined : byteKernel();
    if (kernel !== undefined) return kernel.count(bytes, 10);
    for (let index = 0; index < bytes.length; index++) if (bytes[index] === 10) count++;
    return count;
  }
  for (let at = indexOfNewline(bytes, newline, 0); at !== -1; at = indexOfNewline(bytes, newline, at + 2)) {
    count++;
  }
  return count;
}

/** In UTF-16 only at even places: U+0A41 beside U+4100 has the same two bytes in its middle. */
export function indexOfNewline(bytes: Buffer, newline: Buffer, from: number): number {
  if (newline.length === 1) return bytes.indexOf(10, from);
  let at = bytes.indexOf(newline, from);
  while (at !== -1 && at % 2 === 1) at = bytes.indexOf(newline, at + 1);
  return at;
}

export function lastIndexOfNewline(bytes: Buffer, newline: Buffer): number {
  if (newline.length === 1) return bytes.lastIndexOf(10);
  let at = bytes.lastIndexOf(newline);
  while (at > 0 && at % 2 === 1) at = bytes.lastIndexOf(newline, at - 1);
  return at % 2 === 1 ? -1 : at;
}
