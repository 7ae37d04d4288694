/**
 * A range of bytes as text. Ranges read one after another, each from the last one's `nextOffset`, give the whole text:
 * no character is split, and nothing is skipped but what was not kept.
 */
import { alignEnd, alignStart, LINE_REACH_BYTES } from './cut.ts';
import { type Encoding, getEncoding } from './encoding.ts';
import { describeGap } from './phrases.ts';
import { gapAt, indexOfNewline } from './scan.ts';
import type { ByteSource } from './types.ts';

export interface RangeRequest {
  /** Negative: from the end. */
  readonly offset: number;
  /** In bytes; a character that is longer than this is still returned whole. */
  readonly size: number;
  readonly encoding: string;
}

export interface Range {
  readonly content: string;
  /** Where the content really begins. */
  readonly offset: number;
  /** How many bytes of the output the content stands for. */
  readonly sizeBytes: number;
  readonly totalBytes: number;
  /** Whether there is more after it. */
  readonly isTruncated: boolean;
  readonly encoding: string;
  /** Where to read on; absent at the end. */
  readonly nextOffset?: number;
  /** What a reader should know about the content, such as bytes that were not kept. */
  readonly note?: string;
}

export function readRange(source: ByteSource, request: RangeRequest): Range {
  const encoding = getEncoding(request.encoding);
  const totalBytes = source.size();
  const asked = absoluteOffset(request.offset, totalBytes);
  const gapHere = gapAt(source, asked);
  const nextGap = gapHere ?? source.gaps().find((gap) => gap.from > asked);
  const last = gapHere === undefined ? (nextGap?.from ?? totalBytes) : asked;
  const isFromEnd = request.offset < 0;
  const offset =
    gapHere === undefined ? Math.min(startOf(source, { asked, last, isFromEnd }, encoding), last) : asked;
  const stretch = { from: offset, to: Math.min(offset + request.size, last), last };
  const end = gapHere === undefined ? alignEnd(source, stretch, encoding) : asked;
  const bytes = source.read(offset, end - offset);
  const gap = end === last ? nextGap : undefined;
  const next = gap?.to ?? end;
  return {
    content: encoding.decode(bytes),
    offset,
    sizeBytes: bytes.length,
    totalBytes,
    isTruncated: next < totalBytes,
    encoding: encoding.name,
    ...(next < totalBytes && { nextOffset: next }),
    ...(gap !== undefined && { note: describeGap(gap) }),
  };
}

/** Negative counts from the end; nothing is before the beginning. Beyond the end stays there: nothing is to be read. */
export function absoluteOffset(offset: number, totalBytes: number): number {
  return offset < 0 ? Math.max(0, totalBytes + offset) : offset;
}

function startOf(
  source: ByteSource,
  { asked, last, isFromEnd }: { readonly asked: number; readonly last: number; readonly isFromEnd: boolean },
  encoding: Encoding,
): number {
  if (encoding.cut !== 'stateful' || !isFromEnd) return alignStart(source, asked, encoding);
  // From the end one cannot know whether this is the middle of a character, but a line's beginning never is.
  if (asked === 0) return 0;
  const reach = source.read(asked, Math.min(LINE_REACH_BYTES, (last - asked) / 2));
  const newline = indexOfNewline(reach, encoding.newline, asked % encoding.newline.length);
  return newline === -1 ? alignStart(source, asked, encoding) : asked + newline + encoding.newline.length;
}
