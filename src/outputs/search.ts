/**
 * Searching an output on the server, so that it need not pass through anybody's context: lines that match, with the
 * lines around them, as grep shows them. It never holds the output, and stops after a while and says where to go on.
 */
import { LIMITS } from '../base/limits.ts';
import { compilePattern } from '../base/pattern.ts';
import { findMatches, type Match } from './find-matches.ts';
import { createLineReader, getLineEncoding, type Line, type LineReader } from './lines.ts';
import { absoluteOffset } from './read-range.ts';
import { countLines, createPace, gapBytes } from './scan.ts';
import type { ByteSource } from './types.ts';
import { notKept } from './words.ts';

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

export async function searchLines(source: ByteSource, request: SearchRequest): Promise<SearchResult> {
  const pattern = compilePattern('pattern', request.pattern);
  const encoding = getLineEncoding(request.encoding);
  const pace = createPace(request.signal);
  const deadline = performance.now() + request.deadlineMs;
  const totalBytes = source.size;
  const from = absoluteOffset(request.fromOffset, totalBytes);
  const counted = await countLines(source, 0, Math.min(from, totalBytes), encoding.newline, pace);
  const found = await findMatches({
    source,
    pattern,
    encoding,
    from,
    to: totalBytes,
    firstLineNumber: counted.ended + 1,
    contextLines: request.contextLines,
    // One more than asked for, to know whether there are more.
    maxMatches: request.maxMatches + 1,
    isOverdue: () => performance.now() > deadline,
    pace,
  });

  const listing = list(createLineReader(source, totalBytes, encoding), found.matches, {
    contextLines: request.contextLines,
    maxMatches: request.maxMatches,
    maxBytes: request.maxBytes ?? LIMITS.searchResultBytes,
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

interface Bounds {
  readonly contextLines: number;
  readonly maxMatches: number;
  readonly maxBytes: number;
  /** Nothing behind this has been searched, so nothing behind it is shown. */
  readonly to: number;
}

interface Listing {
  readonly lines: string[];
  readonly matchCount: number;
  /** Behind the last line shown. */
  readonly end: number;
  readonly stoppedBy: 'matches' | 'bytes' | undefined;
}

function list(reader: LineReader, matches: readonly Match[], bounds: Bounds): Listing {
  const lines: string[] = [];
  let bytes = 0;
  let end = 0;
  let matchCount = 0;
  for (const [index, match] of matches.entries()) {
    if (matchCount === bounds.maxMatches) return { lines, matchCount, end, stoppedBy: 'matches' };
    const group = groupOf(
      reader,
      match,
      matches[index + 1]?.lineStart ?? bounds.to,
      end,
      bounds.contextLines,
    );
    const size = group.lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
    if (matchCount > 0 && bytes + size > bounds.maxBytes)
      return { lines, matchCount, end, stoppedBy: 'bytes' };
    const isApart = lines.length > 0 && group.start > end;
    if (isApart && bounds.contextLines > 0) lines.push('--');
    lines.push(...group.lines);
    bytes += size;
    end = group.end;
    matchCount++;
  }
  return { lines, matchCount, end, stoppedBy: undefined };
}

interface Group {
  readonly lines: string[];
  readonly start: number;
  readonly end: number;
}

/** A match with what is around it, from `shownTo` up to the next match. */
function groupOf(
  reader: LineReader,
  match: Match,
  nextMatch: number,
  shownTo: number,
  contextLines: number,
): Group {
  const before = match.before.filter((start) => start >= shownTo);
  const lines: string[] = [];
  const add = (line: Line, number: number, sign: string, focus?: number): void => {
    lines.push(`${number}${sign} ${reader.show(line, focus)}`);
  };
  for (const [index, start] of before.entries()) {
    const line = reader.lineAt(start);
    if (line !== undefined) add(line, match.lineNumber - before.length + index, '-');
  }
  let line = reader.lineAt(match.lineStart);
  let end = match.lineStart;
  for (let after = 0; line !== undefined && after <= contextLines; after++) {
    if (after > 0 && line.start >= nextMatch) break;
    add(line, match.lineNumber + after, after === 0 ? ':' : '-', after === 0 ? match.focus : undefined);
    end = line.next;
    line = reader.lineAt(line.next);
  }
  return { lines, start: before[0] ?? match.lineStart, end };
}
