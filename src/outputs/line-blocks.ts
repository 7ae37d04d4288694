/**
 * An output as blocks of whole lines. Only a line longer than `LIMITS.searchPieceBytes` comes in pieces, which overlap.
 */
import { LIMITS } from '../base/limits.ts';
import { gapAt, lastIndexOfNewline } from './scan.ts';
import type { ByteSource } from './types.ts';

export interface LineBlock {
  readonly offset: number;
  /** Only until the next block is asked for: they share their memory. */
  readonly bytes: Buffer;
  /** False for a later piece of a long line. */
  readonly startsLine: boolean;
  /** False for a piece that is followed by another of the same line. */
  readonly endsLine: boolean;
}

export function* lineBlocks(
  source: ByteSource,
  from: number,
  to: number,
  newline: Buffer,
  overlapBytes: number,
): Generator<LineBlock> {
  let offset = from;
  let startsLine = true;
  let buffer = Buffer.allocUnsafe(LIMITS.scanChunkBytes);
  while (offset < to) {
    const bytes = source.read(offset, Math.min(buffer.length, to - offset), buffer);
    const end = offset + bytes.length;
    const gap = gapAt(source, end);
    if (bytes.length === 0) {
      if (gap === undefined) return;
      offset = gap.to;
      startsLine = true;
      continue;
    }
    const lastNewline = lastIndexOfNewline(bytes, newline);
    if (end >= to || gap !== undefined) {
      yield { offset, bytes, startsLine, endsLine: true };
      offset = end;
      startsLine = true;
    } else if (lastNewline !== -1) {
      const length = lastNewline + newline.length;
      yield { offset, bytes: bytes.subarray(0, length), startsLine, endsLine: true };
      // What follows the last newline is read again with the rest of its line.
      offset += length;
      startsLine = true;
    } else if (bytes.length < LIMITS.searchPieceBytes) {
      buffer = Buffer.allocUnsafe(Math.min(buffer.length * 2, LIMITS.searchPieceBytes));
    } else {
      yield { offset, bytes, startsLine, endsLine: false };
      offset = end - overlapBytes;
      startsLine = false;
    }
  }
}

/** Where the search is: the number and the beginning of its line, and the beginnings of the lines before it. */
export interface LineTracker {
  readonly number: number;
  readonly start: number;
  /** A line begins here that was not reached by a newline: at the start, or behind a gap. */
  restart(start: number): void;
  /** The line ended; the next begins at `next`. */
  advance(next: number): void;
  /** The beginnings of the last few lines before this one, oldest first. */
  before(): number[];
}

export function createLineTracker(firstNumber: number, memory: number): LineTracker {
  const starts: number[] = [];
  let number = firstNumber;
  let start = 0;
  return {
    get number() {
      return number;
    },
    get start() {
      return start;
    },
    restart: (offset) => {
      start = offset;
    },
    advance: (next) => {
      if (memory > 0) starts[number % memory] = start;
      number++;
      start = next;
    },
    before: () => {
      const result: number[] = [];
      for (let line = Math.max(firstNumber, number - memory); line < number; line++) {
        result.push(starts[line % memory] ?? 0);
      }
      return result;
    },
  };
}
