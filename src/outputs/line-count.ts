/**
 * Lines by number: how many there are, and where one begins. A line ends with a newline. It also ends where a gap
 * begins: what follows the gap is not its continuation.
 */
import { byteKernel } from './byte-kernel.ts';
import { borderBefore, borderWithFewer, createLineIndex, INDEX_BLOCK_BYTES } from './line-index.ts';
import { chunksOf, countNewlines, gapAt, indexOfNewline, KERNEL_BYTES, type Pace } from './scan.ts';
import type { ByteSource } from './types.ts';

export type LineCounter = ReturnType<typeof createLineCounter>;

export function createLineCounter(source: ByteSource, newline: Buffer, pace: Pace) {
  // Two bytes are a newline of UTF-16 only, and nobody reads that often.
  const index = (newline.length === 1 ? source.lineIndex : undefined) ?? createLineIndex();
  /** What lies behind the first gap may yet change its place. */
  const indexEnd = (): number => source.gaps()[0]?.from ?? Number.POSITIVE_INFINITY;

  /** Up to where the last one was asked for: the next one is often not far from there. */
  let reached = { offset: 0, newlines: 0 };

  async function newlinesBefore(offset: number): Promise<number> {
    const end = indexEnd();
    const border = borderBefore(index, Math.min(offset, end));
    const isNear = reached.offset <= offset && reached.offset > border.offset;
    let { offset: at, newlines } = isNear ? reached : border;
    const buffer = bufferFor(Math.min(offset - at, INDEX_BLOCK_BYTES), newline);
    while (at < offset) {
      const toBorder = INDEX_BLOCK_BYTES - (at < end ? at % INDEX_BLOCK_BYTES : 0);
      const bytes = source.read(at, Math.min(toBorder, offset - at), buffer);
      newlines += countNewlines(bytes, newline);
      const gap = bytes.length === 0 ? gapAt(source, at) : undefined;
      if (bytes.length === 0 && gap === undefined) break;
      at = gap?.to ?? at + bytes.length;
      const isNext = at === (index.newlines.length + 1) * INDEX_BLOCK_BYTES;
      if (isNext && at <= end) index.newlines.push(newlines);
      await pace();
    }
    reached = { offset, newlines };
    return newlines;
  }

  const isOpenAt = (from: number, to: number): boolean => endsInLine(source, newline, from, to);

  /** Lines that end within the range, and whether it ends in the middle of one more. */
  async function count(from: number, to: number): Promise<{ ended: number; isOpen: boolean }> {
    const before = await newlinesBefore(from);
    let ended = (await newlinesBefore(Math.max(from, to))) - before;
    let start = from;
    for (const gap of source.gaps()) {
      if (gap.from <= from || gap.from > to) continue;
      if (isOpenAt(start, gap.from)) ended++;
      start = gap.to;
    }
    return { ended, isOpen: isOpenAt(Math.max(start, from), to) };
  }

  /** Where the line with this number (from 1) begins; undefined where there are fewer before `to`. */
  async function find(line: number, to: number): Promise<number | undefined> {
    const border = borderWithFewer(index, line - 1, Math.min(to, indexEnd() - 1));
    let left = line - 1 - border.newlines;
    let isOpen = false;
    for (const { offset, bytes, isAfterGap } of chunksOf(source, border.offset, to)) {
      if (isAfterGap && isOpen) left--;
      if (left === 0) return offset;
      const newlines = countNewlines(bytes, newline);
      if (newlines >= left) {
        const at = afterNewlines(bytes, newline, left);
        left = 0;
        // A newline at the very end of the chunk: the line begins with the next chunk, if there is one.
        if (at < bytes.length) return offset + at;
      } else {
        left -= newlines;
      }
      isOpen = !bytes.subarray(-newline.length).equals(newline);
      await pace();
    }
    return undefined;
  }

  return { count, find };
}

/** Whether the bytes up to `to` (none of them in a gap) end within a line. */
function endsInLine(source: ByteSource, newline: Buffer, from: number, to: number): boolean {
  if (to <= from) return false;
  const last = source.read(Math.max(from, to - newline.length), Math.min(newline.length, to - from));
  return last.length > 0 && !last.equals(newline);
}

/** Behind so many newlines, which are there. A plain loop: there may be one in every few bytes. */
function afterNewlines(bytes: Buffer, newline: Buffer, count: number): number {
  let at = 0;
  for (let left = count; left > 0; left--) {
    if (newline.length === 1) while (bytes[at] !== 10) at++;
    else at = indexOfNewline(bytes, newline, at);
    at += newline.length;
  }
  return at;
}

/** The kernel's own memory spares it a copy; nothing waits between reading and counting. */
function bufferFor(bytes: number, newline: Buffer): Buffer {
  const memory = newline.length === 1 && bytes >= KERNEL_BYTES ? byteKernel()?.memory : undefined;
  return memory ?? Buffer.allocUnsafe(Math.max(0, bytes));
}
