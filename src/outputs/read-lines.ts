/** Lines by number. */
import { LIMITS } from '../base/limits.ts';
import { createLineCounter } from './line-count.ts';
import { createLineReader, getLineEncoding } from './lines.ts';
import { grouped, notKept } from './phrases.ts';
import { createPace, gapBytes } from './scan.ts';
import type { ByteSource } from './types.ts';

export interface LinesRequest {
  /** From 1; negative counts from the end, so -1 is the last line. */
  readonly startLine: number;
  readonly lineCount: number;
  /** Of the content, in bytes; the first line is shown even where it is longer. */
  readonly maxBytes: number;
  readonly encoding: string;
  readonly signal?: AbortSignal;
}

export interface Lines {
  /** Without the newline of the last line. */
  readonly content: string;
  /** The numbers of the first and the last line of the content; absent where it has none. */
  readonly firstLine?: number;
  readonly lastLine?: number;
  readonly totalLines: number;
  readonly totalBytes: number;
  /** Whether there are more lines after these. */
  readonly isTruncated: boolean;
  readonly encoding: string;
  readonly nextStartLine?: number;
  readonly note?: string;
}

export async function readLines(source: ByteSource, request: LinesRequest): Promise<Lines> {
  const encoding = getLineEncoding(request.encoding);
  const pace = createPace(request.signal);
  const totalBytes = source.size();
  const counter = createLineCounter(source, encoding.newline, pace);
  const counted = await counter.count(0, totalBytes);
  const totalLines = counted.ended + (counted.isOpen ? 1 : 0);
  const first = firstLineNumber(request.startLine, totalLines);
  const start = await counter.find(first, totalBytes);
  const reader = createLineReader(source, totalBytes, encoding);

  const shown: string[] = [];
  let bytes = 0;
  let longLines = 0;
  let line = start === undefined ? undefined : reader.lineAt(start);
  while (line !== undefined && shown.length < request.lineCount) {
    const text = reader.show(line);
    bytes += Buffer.byteLength(text) + 1;
    if (bytes > request.maxBytes && shown.length > 0) break;
    if (line.end - line.start > LIMITS.lineBytes) longLines++;
    shown.push(text);
    await pace();
    line = reader.lineAt(line.next);
  }

  const next = first + shown.length;
  const note = noteOn(longLines, gapBytes(source));
  return {
    content: shown.join('\n'),
    ...(shown.length > 0 ? { firstLine: first, lastLine: next - 1 } : {}),
    totalLines,
    totalBytes,
    isTruncated: line !== undefined,
    encoding: encoding.name,
    ...(line === undefined ? {} : { nextStartLine: next }),
    ...(note === undefined ? {} : { note }),
  };
}

function firstLineNumber(startLine: number, totalLines: number): number {
  return startLine < 0 ? Math.max(1, totalLines + startLine + 1) : Math.max(1, startLine);
}

function noteOn(longLines: number, gap: number): string | undefined {
  const notes: string[] = [];
  if (longLines > 0) {
    const size = grouped(LIMITS.lineBytes);
    notes.push(`Lines longer than ${size} bytes are cut; offset and size read them whole.`);
  }
  if (gap > 0) notes.push(`${notKept(gap)}; lines are counted without them.`);
  return notes.length === 0 ? undefined : notes.join(' ');
}
