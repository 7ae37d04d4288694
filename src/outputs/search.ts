/**
 * Searching an output on the server, so that it need not pass through anybody's context: lines that match, with the
 * lines around them, as grep shows them. It never holds the output, and stops after a while and says where to go on.
 */
import { LIMITS } from '../base/limits.ts';
import { compilePattern, type Pattern } from '../base/pattern.ts';
import type { Encoding } from './encoding.ts';
import { findMatches, type Match, type Search } from './find-matches.ts';
import type { LineBlock } from './line-blocks.ts';
import { createLineCounter, type LineCounter } from './line-count.ts';
import { createLineReader, getLineEncoding, type Line, type LineReader } from './lines.ts';
import { createMatchLines, type Hits, overlapOf, type Turn } from './match-lines.ts';
import { notKept } from './phrases.ts';
import { absoluteOffset } from './read-range.ts';
import { createPace, gapBytes } from './scan.ts';
import type { ByteSource } from './types.ts';

export interface SearchRequest {
  /** A regular expression (RE2), tested on each line without its newline. */
  readonly pattern: string;
  readonly contextLines: number;
  readonly maxMatches: number;
  /** Where to begin; negative: from the end. */
  readonly fromOffset: number;
  /** Gives up after this many milliseconds. */
  readonly deadlineMs: number;
  readonly encoding: string;
  /** Of the content; the first match is shown even where it is longer with its context. */
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

export interface SearchResult {
  /** `12: a match`, `11- context`, `--` between groups. */
  readonly content: string;
  /** How many matching lines the content has. */
  readonly matchCount: number;
  /** Whether there are more, or, where the time ran out, may be. */
  readonly hasMore: boolean;
  readonly stoppedBy?: 'matches' | 'bytes' | 'time';
  /** Where to search on; no line is shown twice and none is missed. */
  readonly nextOffset?: number;
  readonly totalBytes: number;
  readonly encoding: string;
  readonly note?: string;
}

/** Matches blocks somewhere else, so that this thread is free meanwhile. */
export interface SearchThread {
  /** Memory that both threads see. */
  createBuffer(): Buffer;
  match(request: ThreadRequest, signal: AbortSignal | undefined): Promise<Hits>;
}

export interface ThreadRequest {
  readonly pattern: string;
  readonly encoding: string;
  /** Its bytes are of a buffer that was created for it. */
  readonly block: LineBlock;
  readonly turn: Turn;
}

/** Without a thread it is done in this one, in turns with others. */
export async function searchLines(
  source: ByteSource,
  request: SearchRequest,
  thread?: SearchThread,
): Promise<SearchResult> {
  const pattern = compilePattern('pattern', request.pattern);
  const encoding = getLineEncoding(request.encoding);
  const pace = createPace(request.signal);
  const deadline = performance.now() + request.deadlineMs;
  const totalBytes = source.size();
  const from = absoluteOffset(request.fromOffset, totalBytes);
  // What is done in an instant is not worth another thread.
  const isQuick = totalBytes - from <= Math.min(pattern.textLength, LIMITS.searchPieceBytes);
  const found = await findMatches({
    source,
    newline: encoding.newline,
    from,
    to: totalBytes,
    overlapBytes: overlapOf(pattern, encoding),
    // One more than asked for, to know whether there are more.
    maxMatches: request.maxMatches + 1,
    ...(thread === undefined || isQuick
      ? matchHere(pattern, encoding, totalBytes - from)
      : matchThere(thread, request, encoding)),
    timeLeft: () => deadline - performance.now(),
    pace,
  });

  const counter = createLineCounter(source, encoding.newline, pace);
  const listing = await list(createLineReader(source, totalBytes, encoding), counter, found.matches, {
    ...request,
    from: Math.min(from, totalBytes),
    to: found.stoppedAt ?? totalBytes,
  });
  const stoppedBy = listing.stoppedBy ?? (found.stoppedAt === undefined ? undefined : 'time');
  const nextOffset = listing.stoppedBy === undefined ? found.stoppedAt : listing.end;
  const gap = gapBytes(source);
  return {
    content: listing.lines.join('\n'),
    matchCount: listing.matchCount,
    hasMore: nextOffset !== undefined,
    ...(stoppedBy === undefined ? {} : { stoppedBy }),
    ...(nextOffset === undefined ? {} : { nextOffset }),
    totalBytes,
    encoding: encoding.name,
    ...(gap === 0 ? {} : { note: `${notKept(gap)}; lines are counted and searched without them.` }),
  };
}

type Matching = Pick<Search, 'buffers' | 'match'>;

function matchHere(pattern: Pattern, encoding: Encoding, byteCount: number): Matching {
  const size = Math.max(0, Math.min(byteCount, LIMITS.searchPieceBytes));
  return { buffers: [Buffer.allocUnsafe(size)], match: createMatchLines(pattern, encoding) };
}

function matchThere(thread: SearchThread, { pattern, signal }: SearchRequest, { name }: Encoding): Matching {
  return {
    buffers: [thread.createBuffer(), thread.createBuffer()],
    match: (block, turn) => thread.match({ pattern, encoding: name, block, turn }, signal),
  };
}

interface Bounds extends Pick<SearchRequest, 'contextLines' | 'maxMatches' | 'maxBytes'> {
  readonly from: number;
  /** Nothing behind this has been searched, so nothing behind it is shown. */
  readonly to: number;
}

/** `end` is behind the last line shown. */
async function list(reader: LineReader, counter: LineCounter, matches: readonly Match[], bounds: Bounds) {
  const { from, contextLines, maxBytes = LIMITS.searchResultBytes } = bounds;
  const lines: string[] = [];
  let bytes = 0;
  let end = 0;
  let matchCount = 0;
  let counted = { offset: 0, lines: 0 };
  for (const [index, match] of matches.entries()) {
    if (matchCount === bounds.maxMatches) return { lines, matchCount, end, stoppedBy: 'matches' as const };
    if (index === 0) counted = { offset: from, lines: (await counter.count(0, from)).ended };
    const { ended } = await counter.count(counted.offset, match.lineStart);
    counted = { offset: match.lineStart, lines: counted.lines + ended };
    const group = groupOf(reader, match, {
      lineNumber: counted.lines + 1,
      before: reader.startsBefore(match.lineStart, Math.max(from, end), contextLines),
      nextMatch: matches[index + 1]?.lineStart ?? bounds.to,
      contextLines,
    });
    const size = group.lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
    if (matchCount > 0 && bytes + size > maxBytes)
      return { lines, matchCount, end, stoppedBy: 'bytes' as const };
    const isApart = lines.length > 0 && group.start > end;
    if (isApart && contextLines > 0) lines.push('--');
    lines.push(...group.lines);
    bytes += size;
    end = group.end;
    matchCount++;
  }
  return { lines, matchCount, end, stoppedBy: undefined };
}

interface Surroundings {
  readonly lineNumber: number;
  /** The beginnings of the lines before it. */
  readonly before: readonly number[];
  readonly nextMatch: number;
  readonly contextLines: number;
}

/** A match with what is around it, up to the next match. */
function groupOf(reader: LineReader, match: Match, around: Surroundings) {
  const { lineNumber, before, nextMatch, contextLines } = around;
  const lines: string[] = [];
  const add = (line: Line, number: number, sign: string, focus?: number): void => {
    lines.push(`${number}${sign} ${reader.show(line, focus)}`);
  };
  for (const [index, start] of before.entries()) {
    const line = reader.lineAt(start);
    if (line !== undefined) add(line, lineNumber - before.length + index, '-');
  }
  let line = reader.lineAt(match.lineStart);
  let end = match.lineStart;
  for (let after = 0; line !== undefined && after <= contextLines; after++) {
    if (after > 0 && line.start >= nextMatch) break;
    add(line, lineNumber + after, after === 0 ? ':' : '-', after === 0 ? match.focus : undefined);
    end = line.next;
    line = reader.lineAt(line.next);
  }
  return { lines, start: before[0] ?? match.lineStart, end };
}
