/**
 * Where UTF-8 characters begin and end, for cutting between them. What is not valid is grouped as decoders do it (the
 * longest beginning of a character that could still have become one), so that text decoded in pieces is the same as
 * text decoded whole.
 */
import { isUtf8 } from 'node:buffer';

/** The longest character. */
export const UTF8_MAX_BYTES = 4;

/** The character (or the beginning of one) that lies across `index`; undefined where one may cut there. */
export function characterAcross(
  bytes: Uint8Array,
  index: number,
): { start: number; end: number } | undefined {
  for (let start = index - 1; start >= 0 && start > index - UTF8_MAX_BYTES; start--) {
    const byte = bytes[start] ?? 0;
    if (byte >= 0x80 && byte < 0xc0) continue;
    const end = start + sequenceLength(bytes, start);
    return end > index ? { start, end } : undefined;
  }
  return undefined;
}

/** A character that has begun, in valid text: `code` is the lowest that it can still become. */
export interface Begun {
  /** As `nextInCharacter` says; 0 between characters. */
  readonly missing: number;
  readonly code: number;
}

/** With one byte more; undefined where that cannot follow. */
export function addByte({ missing, code }: Begun, byte: number): Begun | undefined {
  const next = nextInCharacter(missing, byte);
  if (next === undefined) return undefined;
  const bits = missing > 0 ? byte & 0x3f : byte < 0x80 ? byte : byte & (0x7f >> (bytesMissing(next) + 1));
  return { missing: next, code: code + bits * 64 ** bytesMissing(next) };
}

/** How many codes it can still become. */
export function possibleCodes({ missing }: Begun): number {
  return 64 ** bytesMissing(missing);
}

function bytesMissing(missing: number): number {
  return missing < 4 ? missing : missing < 6 ? 2 : 3;
}

/**
 * Reading valid text byte by byte: what is still missing of a character after each byte, 0 where it is complete;
 * undefined where the byte cannot follow. 1 to 3 are so many bytes, higher numbers the same with a narrower next one.
 */
export function nextInCharacter(missing: number, byte: number): number | undefined {
  return CHARACTER_STEPS[missing]?.find(({ from, to }) => from <= byte && byte <= to)?.next;
}

const CHARACTER_STEPS = [
  [
    { from: 0x00, to: 0x7f, next: 0 },
    { from: 0xc2, to: 0xdf, next: 1 },
    { from: 0xe0, to: 0xe0, next: 4 },
    { from: 0xed, to: 0xed, next: 5 },
    { from: 0xe1, to: 0xef, next: 2 },
    { from: 0xf0, to: 0xf0, next: 6 },
    { from: 0xf1, to: 0xf3, next: 3 },
    { from: 0xf4, to: 0xf4, next: 7 },
  ],
  [{ from: 0x80, to: 0xbf, next: 0 }],
  [{ from: 0x80, to: 0xbf, next: 1 }],
  [{ from: 0x80, to: 0xbf, next: 2 }],
  [{ from: 0xa0, to: 0xbf, next: 1 }],
  [{ from: 0x80, to: 0x9f, next: 1 }],
  [{ from: 0x90, to: 0xbf, next: 2 }],
  [{ from: 0x80, to: 0x8f, next: 2 }],
] as const;

/** How many bytes belong to no valid character. */
export function countInvalidBytes(bytes: Uint8Array): number {
  if (isUtf8(bytes)) return 0;
  let invalid = 0;
  for (let index = 0; index < bytes.length; ) {
    const lead = bytes[index] ?? 0;
    if (lead < 0x80) {
      index++;
      continue;
    }
    const length = sequenceLength(bytes, index);
    if (length !== expectedLength(lead)) invalid += length;
    index += length;
  }
  return invalid;
}

/** The length of the character at `start`, or of what is there of it; 1 for a byte that can begin none. */
function sequenceLength(bytes: Uint8Array, start: number): number {
  const lead = bytes[start] ?? 0;
  const expected = expectedLength(lead);
  for (let length = 1; length < expected; length++) {
    const byte = bytes[start + length];
    if (byte === undefined || !canFollow(lead, length, byte)) return length;
  }
  return Math.max(1, expected);
}

/** 0 for a byte that can begin no character. */
function expectedLength(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}

/** The second byte is narrower after some leads: no overlong forms, no surrogates, nothing above U+10FFFF. */
function canFollow(lead: number, position: number, byte: number): boolean {
  if (byte < 0x80 || byte > 0xbf) return false;
  if (position > 1) return true;
  if (lead === 0xe0) return byte >= 0xa0;
  if (lead === 0xed) return byte <= 0x9f;
  if (lead === 0xf0) return byte >= 0x90;
  if (lead === 0xf4) return byte <= 0x8f;
  return true;
}
