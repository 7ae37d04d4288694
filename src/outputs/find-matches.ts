/**
 * Which lines a pattern matches. Plain text is looked for in the bytes; anything else is tested line by line, and a
 * line that is too long for the pattern in overlapping pieces.
 */
import { isAscii } from 'node:buffer';
import { LIMITS } from '../base/limits.ts';
import type { Pattern } from '../base/pattern.ts';
import type { Encoding } from './encoding.ts';
import { createLineTracker, type LineBlock, type LineTracker, lineBlocks } from './line-blocks.ts';
import { indexOfNewline, type Pace } from './scan.ts';
import type { ByteSource } from './types.ts';

export interface Match {
  /** From 1, over the whole output. */
  readonly lineNumber: number;
  readonly lineStart: number;
  /** The beginnings of the lines before it, oldest first. */
  readonly before: readonly number[];
  /** About where in the line the match is, for a line that is too long to be shown whole. */
  readonly focus: number;
}

export interface Search {
  readonly source: ByteSource;
  readonly pattern: Pattern;
  readonly encoding: Encoding;
  readonly from: number;
  readonly to: number;
  /** The number of the line at `from`. */
  readonly firstLineNumber: number;
  readonly contextLines: number;
  readonly maxMatches: number;
  isOverdue(): boolean;
  readonly pace: Pace;
}

export interface Found {
  readonly matches: readonly Match[];
  /** Where the time ran out, or the last match was found; undefined where all was searched. */
  readonly stoppedAt: number | undefined;
}

/** Of a piece that is tested again with the next one, so that a match across the border is found. */
const OVERLAP_BYTES = 4096;
/** Looking at the time costs as much as testing a short line. */
const LINES_BETWEEN_CHECKS = 64;

export async function findMatches(search: Search): Promise<Found> {
  const needle = needleOf(search.pattern, search.encoding);
  const overlap = needle === undefined ? OVERLAP_BYTES : needle.length - 1;
  const tracker = createLineTracker(search.firstLineNumber, search.contextLines);
  const matches: Match[] = [];
  // Set while the rest of a long line that has matched already goes by.
  let isMatched = false;
  const { source, from, to, encoding } = search;

  for (const block of lineBlocks(source, from, to, encoding.newline, overlap)) {
    if (block.startsLine) {
      tracker.restart(block.offset);
      isMatched = false;
    }
    await search.pace();
    if (search.isOverdue() && block.offset > from) return { matches, stoppedAt: block.offset };
    const inBlock =
      needle === undefined ? testLines(search, tracker, block) : findText(needle, tracker, block);
    let sinceCheck = 0;
    for (const step of inBlock) {
      if (step.focus !== undefined && !(isMatched && step.lineStart < block.offset)) {
        matches.push({ ...step, before: tracker.before(), focus: step.focus });
        if (matches.length === search.maxMatches) return { matches, stoppedAt: step.lineStart };
        isMatched = true;
      }
      sinceCheck += step.isLong ? LINES_BETWEEN_CHECKS : 1;
      if (sinceCheck < LINES_BETWEEN_CHECKS) continue;
      sinceCheck = 0;
      await search.pace();
      if (search.isOverdue()) return { matches, stoppedAt: step.next };
    }
  }
  return { matches, stoppedAt: undefined };
}

/** What has been looked at: a line (of which `focus` says that it matched), or a stretch without a match. */
interface Step {
  readonly lineNumber: number;
  readonly lineStart: number;
  readonly focus: number | undefined;
  readonly isLong: boolean;
  /** Where to go on. */
  readonly next: number;
}

function* findText(needle: Buffer, tracker: LineTracker, block: LineBlock): Generator<Step> {
  const { bytes, offset } = block;
  let at = 0;
  for (;;) {
    const found = bytes.indexOf(needle, at);
    const stop = found === -1 ? bytes.length : found;
    for (let index = at; index < stop; index++) if (bytes[index] === 10) tracker.advance(offset + index + 1);
    if (found === -1) break;
    const newline = bytes.indexOf(10, found);
    const end = newline === -1 ? bytes.length : newline;
    const next = newline === -1 ? end : end + 1;
    const { number: lineNumber, start: lineStart } = tracker;
    yield { lineNumber, lineStart, focus: offset + found, isLong: false, next: offset + next };
    if (newline === -1) {
      at = bytes.length;
      break;
    }
    tracker.advance(offset + next);
    at = next;
  }
  if (block.endsLine && bytes[bytes.length - 1] !== 10) tracker.advance(offset + bytes.length);
}

function* testLines(search: Search, tracker: LineTracker, block: LineBlock): Generator<Step> {
  const { bytes, offset } = block;
  const { newline } = search.encoding;
  // Cutting a string that is decoded already is several times faster than decoding each line.
  const whole = newline.length === 1 && isAscii(bytes) ? bytes.toString('latin1') : undefined;
  for (let start = 0; start < bytes.length; ) {
    const found = indexOfNewline(bytes, newline, start);
    const end = found === -1 ? bytes.length : found;
    const next = found === -1 ? end : end + newline.length;
    const isEnd = found !== -1 || block.endsLine;
    const text = whole?.slice(start, end) ?? search.encoding.decode(bytes.subarray(start, end));
    const { number: lineNumber, start: lineStart } = tracker;
    let focus: number | undefined;
    for (const piece of piecesOf(text, search.pattern, block.startsLine || start > 0, isEnd)) {
      const index = matchIn(search.pattern, piece);
      const place = (characters: number): number =>
        offset + Math.min(end, start + Buffer.byteLength(text.slice(0, characters)));
      if (index !== undefined) focus = index === 0 ? offset + start : place(index);
      if (index !== undefined || piece.isLast) break;
      yield { lineNumber, lineStart, focus, isLong: true, next: place(piece.from) };
    }
    yield { lineNumber, lineStart, focus, isLong: end - start > LIMITS.lineBytes, next: offset + next };
    if (isEnd) tracker.advance(offset + next);
    start = next;
  }
}

interface Piece {
  readonly text: string;
  /** Where it begins in the line; the sign before it, where there is one, is not counted. */
  readonly from: number;
  readonly hasSignBefore: boolean;
  readonly isLast: boolean;
}

/** A line as it is tested: whole, or where it is too long for the pattern, in pieces that overlap. */
function* piecesOf(line: string, pattern: Pattern, isStart: boolean, isEnd: boolean): Generator<Piece> {
  const text = isEnd && line.endsWith('\r') ? line.slice(0, -1) : line;
  const length = Math.max(2 * OVERLAP_BYTES, Math.min(pattern.textLength, LIMITS.searchPieceBytes));
  for (let from = 0; ; from += length - OVERLAP_BYTES) {
    const hasSignBefore = !isStart || from > 0;
    const isLast = from + length >= text.length;
    const part = text.length <= length ? text : text.slice(from, from + length);
    // A character that is in no text stands for what goes on, or ^ and $ would match at the borders of a piece.
    yield {
      text: `${hasSignBefore ? '\uffff' : ''}${part}${isLast && isEnd ? '' : '\uffff'}`,
      from,
      hasSignBefore,
      isLast,
    };
    if (isLast) return;
  }
}

/** Where in the line it matches: exactly for a long piece, otherwise 0; undefined where it does not. */
function matchIn(pattern: Pattern, piece: Piece): number | undefined {
  if (!pattern.test(piece.text)) return undefined;
  if (piece.isLast && piece.from === 0 && piece.text.length <= LIMITS.lineBytes) return 0;
  return piece.from + Math.max(0, (pattern.find(piece.text) ?? 0) - (piece.hasSignBefore ? 1 : 0));
}

/** The bytes to look for, where the encoding has exactly one way to write them and no other character holds them. */
function needleOf(pattern: Pattern, encoding: Encoding): Buffer | undefined {
  const { literal } = pattern;
  if (literal === undefined || literal === '' || literal.includes('\n')) return undefined;
  if (encoding.name !== 'utf-8' && encoding.name !== 'latin1') return undefined;
  const bytes = Buffer.from(literal, encoding.name);
  return bytes.toString(encoding.name) === literal ? bytes : undefined;
}
