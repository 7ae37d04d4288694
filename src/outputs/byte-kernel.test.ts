import { describe, expect, it } from 'vitest';
import { LIMITS } from '../base/limits.ts';
import { byteKernel } from './byte-kernel.ts';
import { createFindText } from './find-text.ts';
import { countNewlines } from './scan.ts';

const NEWLINE = Buffer.from('\n');

/** Few different bytes, so that they meet often. */
function makeBytes(length: number, seed: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let state = seed;
  for (let index = 0; index < length; index++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[index] = [10, 97, 98, 255][state >>> 30] ?? 0;
  }
  return bytes;
}

function countPlainly(bytes: Buffer): number {
  return bytes.reduce((count, byte) => count + Number(byte === 10), 0);
}

describe('byteKernel', () => {
  it('is there', () => {
    expect(byteKernel()).toBeDefined();
  });

  it('counts a byte in any number of bytes, wherever they lie', () => {
    const kernel = byteKernel();
    const lengths = [0, 1, 15, 16, 17, 4079, 4080, 4081, 8160, 65_535, 100_001, LIMITS.searchPieceBytes + 33];
    for (const [seed, length] of lengths.entries()) {
      const bytes = makeBytes(length, seed);
      expect(kernel?.count(bytes, 10)).toBe(countPlainly(bytes));
      expect(countNewlines(bytes, NEWLINE)).toBe(countPlainly(bytes));
    }
    const full = Buffer.alloc(LIMITS.searchPieceBytes, 10);
    expect(kernel?.count(full, 10)).toBe(full.length);
    // In its own memory, at an odd place.
    const memory = kernel?.memory ?? Buffer.alloc(0);
    makeBytes(50_000, 99).copy(memory);
    const part = memory.subarray(7, 40_000);
    expect(kernel?.count(part, 10)).toBe(countPlainly(part));
  });

  it.each(['ab', 'aba', '\nab', 'abab', 'aabb\nab', 'b'.repeat(7), `${'ab'.repeat(20)}a`])(
    'finds %j everywhere that it is, and nowhere else',
    (text) => {
      const needle = Buffer.from(text);
      for (const length of [0, 1, needle.length, 31, 1000, 70_000]) {
        const bytes = makeBytes(length, length);
        if (length > needle.length) needle.copy(bytes, length - needle.length);
        const findText = createFindText(needle);
        const expected: number[] = [];
        for (let at = bytes.indexOf(needle); at !== -1; at = bytes.indexOf(needle, at + 1)) expected.push(at);
        const found: number[] = [];
        for (let at = findText(bytes, 0); at !== -1; at = findText(bytes, at + 1)) found.push(at);
        expect(found).toEqual(expected);
      }
    },
  );

  it('does not find what an earlier text left behind the end', () => {
    const findText = createFindText(Buffer.from('needle'));
    expect(findText(Buffer.from('hay needle'), 0)).toBe(4);
    expect(findText(Buffer.from('hay need'), 0)).toBe(-1);
    expect(findText(Buffer.from('hay '), 0)).toBe(-1);
  });
});
