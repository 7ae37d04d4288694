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
    const end = start + sequenceAt(bytes, start).length;
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
    // Nearly all of most outputs.
    if ((bytes[index] ?? 0) < 0x80) {
      index++;
      continue;
    }
    const { length, isWhole } = sequenceAt(bytes, index);
    if (!isWhole) invalid += length;
    index += length;
  }
  return invalid;
}

/** The character at `start`, or what is there of it; one byte where that can begin none. */
function sequenceAt(bytes: Uint8Array, start: number): { length: number; isWhole: boolean } {
  let missing = 0;
  for (let at = start; at < bytes.length; at++) {
    const next = nextInCharacter(missing, bytes[at] ?? 0);
    if (next === undefined) return { length: Math.max(1, at - start), isWhole: false };
    if (next === 0) return { length: at - start + 1, isWhole: true };
    missing = next;
  }
  return { length: bytes.length - start, isWhole: false };
}
