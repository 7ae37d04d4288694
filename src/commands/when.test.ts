import { expect, test } from 'vitest';
import { introduction } from './introduce.ts';
import { wrapText } from './paint.ts';
import { many, parseSpan, parseTime, showBytes, showTime } from './when.ts';

const GIB = 1024 ** 3;

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1024, '1 KiB'],
  [1536, '1.5 KiB'],
  [36 * 1024, '36 KiB'],
  [9.96 * 1024, '10 KiB'],
  [75 * GIB, '75 GiB'],
  [75.2 * GIB, '75 GiB'],
  [1000 * 1024, '1 MiB'],
])('%d bytes are shown as %s', (bytes, shown) => {
  expect(showBytes(bytes)).toBe(shown);
});

test.each([
  [0, '0 files'],
  [1, '1 file'],
  [2, '2 files'],
])('%d: %s', (count, shown) => {
  expect(many(count, 'file')).toBe(shown);
});

test('a time that is shown can be typed', () => {
  const shown = showTime('2026-11-15T10:00:00.000Z');
  expect(shown).toBe('2026-11-15 10:00:00Z');
  expect(parseTime(shown)).toBe(Date.UTC(2026, 10, 15, 10));
});

test.each(['3y', 'soon', '', '1', '-1d', '30 d', '2026-13-01'])('%j is neither a span nor a time', (text) => {
  expect([parseSpan(text), parseTime(text)]).toEqual([undefined, undefined]);
});

test.each([
  ['one two three', 7, ['one two', 'three']],
  ['/a/b:/c/d', 5, ['/a/b:', '/c/d']],
  ['abcdefgh', 3, ['abc', 'def', 'gh']],
  ['', 5, ['']],
])('%j in %d columns', (text, columns, lines) => {
  expect(wrapText(text, columns)).toEqual(lines);
});

test('a person who starts it by hand reads what to type, in 80 columns', () => {
  const text = introduction({ program: 'mcp-shell-server', columns: 80 });
  expect(text).toMatch(/mcp-shell-server install claude-code[^]*--http[^]*doctor[^]*Ctrl-C ends it/);
  expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
});
