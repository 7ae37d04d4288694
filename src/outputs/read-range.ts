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
  const totalBytes = source.size;
  const asked = absoluteOffset(request.offset, totalBytes);
  const gapHere = gapAt(source, asked);
  if (gapHere !== undefined) {
    const next = gapHere.to < totalBytes ? gapHere.to : undefined;
    return describe(asked, '', 0, totalBytes, encoding, next, describeGap(gapHere));
  }
  const nextGap = source.gaps.find((gap) => gap.from > asked);
  const last = nextGap?.from ?? totalBytes;
  const offset = Math.min(startOf(source, request.offset, asked, last, encoding), last);
  const end = alignEnd(source, offset, Math.min(offset + request.size, last), last, encoding);
  const bytes = source.read(offset, end - offset);
  if (nextGap !== undefined && end === last) {
    const next = nextGap.to < totalBytes ? nextGap.to : undefined;
    return describe(
      offset,
      encoding.decode(bytes),
      bytes.length,
      totalBytes,
      encoding,
      next,
      describeGap(nextGap),
    );
  }
  const next = end < totalBytes ? end : undefined;
  return describe(offset, encoding.decode(bytes), bytes.length, totalBytes, encoding, next, undefined);
}

/** Negative counts from the end; nothing is before the beginning. Beyond the end stays there: nothing is to be read. */
export function absoluteOffset(offset: number, totalBytes: number): number {
  return offset < 0 ? Math.max(0, totalBytes + offset) : offset;
}

function startOf(
  source: ByteSource,
  requested: number,
  asked: number,
  last: number,
  encoding: Encoding,
): number {
  if (encoding.cut !== 'stateful' || requested >= 0) return alignStart(source, asked, encoding);
  // From the end one cannot know whether this is the middle of a character, but a line's beginning never is.
  if (asked === 0) return 0;
  const reach = source.read(asked, Math.min(LINE_REACH_BYTES, (last - asked) / 2));
  const newline = indexOfNewline(reach, encoding.newline, asked % encoding.newline.length);
  return newline === -1 ? alignStart(source, asked, encoding) : asked + newline + encoding.newline.length;
}

function describe(
  offset: number,
  content: string,
  sizeBytes: number,
  totalBytes: number,
  encoding: Encoding,
  nextOffset: number | undefined,
  note: string | undefined,
): Range {
  return {
    content,
    offset,
    sizeBytes,
    totalBytes,
    isTruncated: nextOffset !== undefined,
    encoding: encoding.name,
    ...(nextOffset === undefined ? {} : { nextOffset }),
    ...(note === undefined ? {} : { note }),
  };
}
