/**
 * Testing one line with RE2 itself: whole, or where it is too long for the pattern, in pieces that overlap, so that no
 * single test takes long.
 */
import { LIMITS } from '../base/limits.ts';
import type { Pattern } from '../base/pattern.ts';
import type { Encoding } from './encoding.ts';
import type { LineBlock } from './line-blocks.ts';
import { indexOfNewline } from './scan.ts';

/** How far a block has been tested. */
export interface Progress {
  /** The line to go on with, and how many pieces of it have been tested already. */
  readonly lineStart: number;
  readonly piece: number;
  /** About there in the block. */
  readonly offset: number;
}

interface TestedLine {
  /** Where in the block the line matches: exactly in a long line, otherwise at its beginning. */
  readonly focus: number | undefined;
  /** The next line, or the next piece where the time is over; undefined where the block is done. */
  readonly next: Progress | undefined;
  /** It took so long that one should look at the time. */
  readonly isLong: boolean;
}

export type LineTest = (block: LineBlock, from: Progress, deadline: number) => TestedLine;

/** Of a piece that is tested again with the next one, so that a match across the border is found. */
export const OVERLAP_BYTES = 4096;

export function createLineTest(pattern: Pattern, encoding: Encoding): LineTest {
  const { newline } = encoding;
  const length = Math.max(2 * OVERLAP_BYTES, Math.min(pattern.textLength, LIMITS.searchPieceBytes));

  return (block, from, deadline) => {
    const { bytes } = block;
    const start = from.lineStart;
    const found = indexOfNewline(bytes, newline, start);
    const end = found === -1 ? bytes.length : found;
    const after = found === -1 ? end : end + newline.length;
    const isStart = block.startsLine || start > 0;
    const isEnd = found !== -1 || block.endsLine;
    const next = after < bytes.length ? { lineStart: after, piece: 0, offset: after } : undefined;
    const isLong = end - start > LIMITS.lineBytes;
    const line = encoding.decode(bytes.subarray(start, end));
    const text = isEnd && line.endsWith('\r') ? line.slice(0, -1) : line;
    const placeOf = (index: number): number => Math.min(end, start + Buffer.byteLength(text.slice(0, index)));

    for (let piece = from.piece; ; piece++) {
      const at = piece * (length - OVERLAP_BYTES);
      const isLast = at + length >= text.length;
      const index = findIn(pattern, text, {
        at,
        length,
        isStart: isStart && at === 0,
        isEnd: isLast && isEnd,
      });
      if (index !== undefined) return { focus: placeOf(index), next, isLong };
      if (isLast) return { focus: undefined, next, isLong };
      if (performance.now() <= deadline) continue;
      const offset = placeOf(at + length - OVERLAP_BYTES);
      return { focus: undefined, next: { lineStart: start, piece: piece + 1, offset }, isLong };
    }
  };
}

interface Piece {
  readonly at: number;
  readonly length: number;
  /** Whether it begins and ends with the line. */
  readonly isStart: boolean;
  readonly isEnd: boolean;
}

/** Where in the text the piece matches: exactly where it is long, otherwise 0. */
function findIn(pattern: Pattern, text: string, { at, length, isStart, isEnd }: Piece): number | undefined {
  const part = text.length <= length ? text : text.slice(at, at + length);
  // A character that is in no text stands for what goes on, or ^ and $ would match at the borders of a piece.
  const tested = `${isStart ? '' : '\uffff'}${part}${isEnd ? '' : '\uffff'}`;
  if (!pattern.test(tested)) return undefined;
  const isShort = at === 0 && part.length === text.length && tested.length <= LIMITS.lineBytes;
  if (isShort) return 0;
  return at + Math.max(0, (pattern.find(tested) ?? 0) - (isStart ? 0 : 1));
}
