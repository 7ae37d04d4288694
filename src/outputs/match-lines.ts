/**
 * Which lines of a block a pattern matches. Plain text is looked for in the bytes. Other patterns run as an automaton,
 * only on lines with the text that a match must have, where there is such a text; lines that the automaton cannot
 * read are tested one by one.
 */

import { LIMITS } from '../base/limits.ts';
import type { Pattern } from '../base/pattern.ts';
import { type Automaton, createAutomaton } from './automaton.ts';
import { byteKernel } from './byte-kernel.ts';
import type { Encoding } from './encoding.ts';
import { createFindText, type FindText } from './find-text.ts';
import type { LineBlock } from './line-blocks.ts';
import { requiredText } from './required-text.ts';
import { createLineTest, type LineTest, OVERLAP_BYTES, type Progress } from './test-line.ts';

interface Hit {
  /** Where the line begins in the block; 0 also for a line that began before it. */
  readonly lineStart: number;
  /** About where in the block the match is, for a line that is too long to be shown whole. */
  readonly focus: number;
}

export interface Turn {
  /** Where to begin; undefined at the beginning of the block. */
  readonly from: Progress | undefined;
  readonly maxHits: number;
  /** How long it may take; it gets on by a little in any case. */
  readonly milliseconds: number;
}

export interface Hits {
  readonly hits: readonly Hit[];
  /** Where to go on; undefined where the block is done. */
  readonly next: Progress | undefined;
}

export type MatchLines = (block: LineBlock, turn: Turn) => Hits;

/** Looking at the time costs as much as testing a short line. */
const LINES_BETWEEN_CHECKS = 64;
const BYTES_BETWEEN_CHECKS = 16 * 1024;
/** With more candidates than one in so many bytes, the automaton is faster on everything. */
const BYTES_PER_CANDIDATE = 256;
/** So many are looked at before that is judged. */
const CANDIDATES_BEFORE = 100;

/** By how much the pieces must overlap of a line that is longer than a block. */
export function overlapOf(pattern: Pattern, encoding: Encoding): number {
  const needle = needleOf(pattern, encoding);
  return needle === undefined ? OVERLAP_BYTES : needle.length - 1;
}

export function createMatchLines(pattern: Pattern, encoding: Encoding): MatchLines {
  const needle = needleOf(pattern, encoding);
  if (needle !== undefined) return findLines(createFindText(needle));
  const lineTest = createLineTest(pattern, encoding);
  const program = isAsciiBased(encoding) ? pattern.program() : undefined;
  const highBytes = encoding.name === 'latin1' || encoding.name === 'utf-8' ? encoding.name : 'foreign';
  const automaton = program && createAutomaton(program, highBytes);
  if (program === undefined || automaton === undefined) return testLines(lineTest);
  const text = requiredText(program);
  const findText = text === undefined ? undefined : createFindText(Buffer.from(text, 'latin1'));
  return runLines(automaton, findText, lineTest);
}

function findLines(findText: FindText): MatchLines {
  return (block, { from, maxHits }) => {
    const bytes = load(block.bytes);
    const hits: Hit[] = [];
    let at = from?.offset ?? 0;
    while (at < bytes.length && hits.length < maxHits) {
      const focus = findText(bytes, at);
      if (focus === -1) return { hits, next: undefined };
      hits.push({ lineStart: lineStartOf(bytes, focus), focus });
      at = nextLineOf(bytes, focus);
    }
    return { hits, next: at < bytes.length ? progressTo(at) : undefined };
  };
}

function testLines(lineTest: LineTest): MatchLines {
  return (block, { from, maxHits, milliseconds }) => {
    const deadline = performance.now() + milliseconds;
    const hits: Hit[] = [];
    let progress: Progress | undefined = from ?? progressTo(0);
    for (let lines = 1; progress !== undefined && hits.length < maxHits; lines++) {
      const { lineStart } = progress;
      const tested = lineTest(block, progress, deadline);
      progress = tested.next;
      if (tested.focus !== undefined) hits.push({ lineStart, focus: tested.focus });
      const isLong = tested.isLong || lines % LINES_BETWEEN_CHECKS === 0;
      if (isLong && isOver(deadline)) break;
    }
    return { hits, next: progress };
  };
}

function runLines(automaton: Automaton, findText: FindText | undefined, lineTest: LineTest): MatchLines {
  const slowly = testLines(lineTest);
  const nextStretch = createStretches(findText);
  let hasFailed = false;

  return (given, turn) => {
    // In the middle of a line is only what a line test left.
    if (hasFailed || (turn.from?.piece ?? 0) > 0) return slowly(given, turn);
    const block = { ...given, bytes: load(given.bytes) };
    const { bytes } = block;
    const deadline = performance.now() + turn.milliseconds;
    const first = turn.from?.lineStart ?? 0;
    const hits: Hit[] = [];
    for (let at = first; at < bytes.length; ) {
      if (hits.length === turn.maxHits) return { hits, next: progressTo(at) };
      const stretch = nextStretch(bytes, at);
      if (stretch === undefined) break;
      const { outcome, place } = runStretch(
        automaton,
        block,
        stretch,
        (line) => line > first && isOver(deadline),
      );
      at = outcome === 'end' ? stretch.stop : nextLineOf(bytes, place);
      if (outcome === 'end') continue;
      const line = progressTo(lineStartOf(bytes, place));
      if (outcome === 'overdue') return { hits, next: line };
      if (outcome === 'failed') {
        hasFailed = true;
        const rest = slowly(block, { ...turn, from: line, maxHits: turn.maxHits - hits.length });
        return { hits: [...hits, ...rest.hits], next: rest.next };
      }
      const isMatch = outcome === 'match';
      const isShort = at - line.lineStart <= LIMITS.lineBytes;
      const tested =
        isMatch && isShort ? { focus: line.offset, next: undefined } : lineTest(block, line, deadline);
      // Pieces may be too short for a match that the automaton has seen.
      const focus = tested.focus ?? (isMatch ? place : undefined);
      if (focus !== undefined) hits.push({ lineStart: line.lineStart, focus });
      else if ((tested.next?.piece ?? 0) > 0) return { hits, next: tested.next };
      if (at < bytes.length && isOver(deadline)) return { hits, next: progressTo(at) };
    }
    return { hits, next: undefined };
  };
}

/** Lines to run on. */
interface Stretch {
  readonly start: number;
  readonly stop: number;
}

/** The next lines that may match: one with the text that a match must have, or all that are left. */
function createStretches(findText: FindText | undefined): (bytes: Buffer, at: number) => Stretch | undefined {
  let candidates = 0;
  let skippedBytes = 0;
  return (bytes, at) => {
    const isCommon = candidates > CANDIDATES_BEFORE && skippedBytes < candidates * BYTES_PER_CANDIDATE;
    if (findText === undefined || isCommon) return { start: at, stop: bytes.length };
    const found = findText(bytes, at);
    candidates++;
    skippedBytes += (found === -1 ? bytes.length : found) - at;
    return found === -1 ? undefined : { start: lineStartOf(bytes, found), stop: nextLineOf(bytes, found) };
  };
}

/**
 * `isOverdue` is told the beginning of the line that has been reached; `place` is in the line that the outcome is about, or
 * behind its last byte.
 */
function runStretch(
  automaton: Automaton,
  { bytes, startsLine, endsLine }: LineBlock,
  { start, stop }: Stretch,
  isOverdue: (lineStart: number) => boolean,
) {
  automaton.begin(start > 0 || startsLine);
  for (let at = start; at < stop; at += BYTES_BETWEEN_CHECKS) {
    if (at > start && isOverdue(lineStartOf(bytes, at))) return { outcome: 'overdue' as const, place: at };
    const outcome = automaton.run(bytes, at, Math.min(at + BYTES_BETWEEN_CHECKS, stop));
    if (outcome !== 'end') return { outcome, place: automaton.position };
  }
  const isOpen = bytes[stop - 1] !== 10;
  return { outcome: isOpen ? automaton.end(endsLine) : ('end' as const), place: stop };
}

function isOver(deadline: number): boolean {
  return performance.now() > deadline;
}

function progressTo(offset: number): Progress {
  return { lineStart: offset, piece: 0, offset };
}

/** A block that another thread may change after this turn, or whose bytes came from there as a plain array. */
export function loadBlock(block: LineBlock): LineBlock {
  const { buffer, byteOffset, length } = block.bytes;
  const bytes = Buffer.from(buffer, byteOffset, length);
  return { ...block, bytes: byteKernel() === undefined ? Buffer.from(bytes) : load(bytes) };
}

/** Where it can be looked at sixteen bytes at a time. */
function load(bytes: Buffer): Buffer {
  const memory = byteKernel()?.memory;
  if (memory === undefined || bytes.buffer === memory.buffer) return bytes;
  bytes.copy(memory);
  return memory.subarray(0, bytes.length);
}

/** Of the line that the byte at `place` belongs to; a newline belongs to the line it ends. */
function lineStartOf(bytes: Buffer, place: number): number {
  return place === 0 ? 0 : bytes.lastIndexOf(10, place - 1) + 1;
}

function nextLineOf(bytes: Buffer, place: number): number {
  const newline = bytes.indexOf(10, place);
  return newline === -1 ? bytes.length : newline + 1;
}

/** Whether a byte below 128 is always that character, and a character below 128 always that byte. */
function isAsciiBased(encoding: Encoding): boolean {
  return encoding.newline.length === 1 && !['iso-2022-jp', 'replacement'].includes(encoding.name);
}

/** The bytes to look for, where the encoding has exactly one way to write them and no other character holds them. */
function needleOf(pattern: Pattern, encoding: Encoding): Buffer | undefined {
  const { literal } = pattern;
  if (literal === undefined || literal === '' || literal.includes('\n')) return undefined;
  if (encoding.name !== 'utf-8' && encoding.name !== 'latin1') return undefined;
  const bytes = Buffer.from(literal, encoding.name);
  return bytes.toString(encoding.name) === literal ? bytes : undefined;
}
