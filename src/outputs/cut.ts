/**
 * Where text may be cut: between characters, so that pieces put together again are the text.
 */
import { createDecoder, type Encoding } from './encoding.ts';
import { lastIndexOfNewline } from './scan.ts';
import type { ByteSource } from './types.ts';
import { characterAcross, UTF8_MAX_BYTES } from './utf8.ts';

/** How far a cut may move to come to lie between lines. */
export const LINE_REACH_BYTES = 4096;

/** The UTF-8 character that lies across this offset. */
function characterAround(source: ByteSource, offset: number): { start: number; end: number } | undefined {
  const from = Math.max(0, offset - (UTF8_MAX_BYTES - 1));
  const bytes = source.read(from, offset - from + UTF8_MAX_BYTES - 1);
  const across = characterAcross(bytes, offset - from);
  return across && { start: from + across.start, end: from + across.end };
}

/** The first place at or after `offset` where a character begins. */
export function alignStart(source: ByteSource, offset: number, encoding: Encoding): number {
  if (encoding.cut === 'utf-8') return characterAround(source, offset)?.end ?? offset;
  return offset + (offset % encoding.newline.length);
}

export interface Stretch {
  readonly from: number;
  readonly to: number;
  /** Where the text itself ends. */
  readonly last: number;
}

/**
 * The last place at or before `to` where a piece that begins at `from` may end. It is later than `to` where not even
 * one character would fit, since a reader that continues from there must make progress.
 */
export function alignEnd(source: ByteSource, stretch: Stretch, encoding: Encoding): number {
  const { from, to, last } = stretch;
  if (to >= last || encoding.cut === 'anywhere') return Math.min(to, last);
  if (encoding.cut === 'stateful') return alignStatefulEnd(source, stretch, encoding);
  const across = characterAround(source, to);
  if (across === undefined) return to;
  return across.start > from ? across.start : Math.min(across.end, last);
}

/** A newline where one is in reach: in ISO-2022-JP that is where it is sure to be back in ASCII. */
function alignStatefulEnd(source: ByteSource, { from, to, last }: Stretch, encoding: Encoding): number {
  const bytes = source.read(from, to - from);
  const newline = lastIndexOfNewline(bytes, encoding.newline);
  if (newline !== -1 && bytes.length - newline <= Math.max(LINE_REACH_BYTES, bytes.length / 2)) {
    return from + newline + encoding.newline.length;
  }
  for (let length = bytes.length; length > Math.max(0, bytes.length - 8); length--) {
    if (holdsNothingBack(bytes.subarray(0, length), encoding)) return from + length;
  }
  for (let length = 1; length <= 8 && from + length <= last; length++) {
    if (holdsNothingBack(source.read(from, length), encoding)) return from + length;
  }
  return Math.min(Math.max(to, from + 1), last);
}

/** At its end a decoder turns a character that it still waits for into U+FFFD. */
function holdsNothingBack(bytes: Buffer, encoding: Encoding): boolean {
  const decoder = createDecoder(encoding.name);
  decoder.decode(bytes, { stream: true });
  return decoder.decode() === '';
}
