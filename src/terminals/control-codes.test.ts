import { describe, expect, test } from 'vitest';
import { readControlCodes, readHex } from './control-codes.ts';

describe('written-out control characters', () => {
  test.for([
    ['^C', '03'],
    ['^c', '03'],
    ['^[', '1b'],
    ['^@', '00'],
    ['^_', '1f'],
    ['^?', '7f'],
    ['^^', '1e'],
    ['\\x03', '03'],
    ['\\xff', 'ff'],
    ['\\e[A', '1b5b41'],
    ['\\t', '09'],
    ['\\r\\n', '0d0a'],
    ['\\0', '00'],
    ['\\033', '1b'],
    ['\\u00e9', 'c3a9'],
    ['\\u{1F600}', 'f09f9880'],
    ['a^Cb', '610362'],
    [':wq\\r', '3a77710d'],
    ['é^C', 'c3a903'],
  ])('%s', ([text = '', hex]) => {
    expect(readControlCodes(text).toString('hex')).toBe(hex);
  });

  test.for([
    // Left to right, once: a backslash that was made is not read again.
    ['\\\\n', '\\n'],
    ['\\\\x03', '\\x03'],
    ['\\^C', '^C'],
    ['\\^^C', '^\x03'],
    ['\\q', '\\q'],
    ['\\x3', '\\x3'],
    ['\\u12', '\\u12'],
    ['\\u{110000}', '\\u{110000}'],
    ['^1', '^1'],
    ['100%', '100%'],
    ['', ''],
    ['\\', '\\'],
    ['^', '^'],
  ])('%s stays what it says', ([text = '', expected]) => {
    expect(readControlCodes(text).toString()).toBe(expected);
  });
});

describe('bytes in hexadecimal', () => {
  test('are read exactly', () => {
    expect(readHex('1bff80')?.toString('hex')).toBe('1bff80');
    expect(readHex('1B 5b 41')?.toString('hex')).toBe('1b5b41');
  });

  test.for(['', 'a', 'abc', '0x1b', 'zz', '1b-5b', ' '])('%j are refused', (text) => {
    expect(readHex(text)).toBeUndefined();
  });
});
