import { describe, expect, it } from 'vitest';
import { LIMITS } from './limits.ts';
import { compilePattern } from './pattern.ts';

const refusal = (source: string): unknown => {
  try {
    compilePattern('name_pattern', source);
  } catch (error) {
    return error;
  }
  return undefined;
};

describe('compilePattern', () => {
  it.each([
    ['plain text', 'plain text'],
    ['foo\\.bar', 'foo.bar'],
    ['a\\\\b', 'a\\b'],
    ['日本語', '日本語'],
    ['', ''],
    ['a.b', undefined],
    ['\\d', undefined],
    ['(?i)abc', undefined],
    ['x{2}', undefined],
  ])('takes %j as the literal %j', (source, literal) => {
    expect(compilePattern('p', source).literal).toBe(literal);
  });

  it.each([
    ['foo', 'a foo b', 2],
    ['foo', 'bar', undefined],
    ['fo+$', 'a foo', 2],
    ['(?i)ERROR', 'an Error', 3],
    ['^b', 'ab', undefined],
    ['\\bword\\b', 'a word.', 2],
    ['[あ-ん]+', 'x ひらがな', 2],
    ['', 'anything', 0],
  ])('%j in %j is found at %j', (source, text, index) => {
    const pattern = compilePattern('p', source);
    expect({ found: pattern.test(text), index: pattern.find(text) }).toEqual({
      found: index !== undefined,
      index,
    });
  });

  it.each(['(', '[a', '*', '(?=x)', '(?<!x)y', '(a)\\1', 'a{1001}', '(a{1000}){1000}', '\\', 'trailing\\'])(
    'refuses %j, names the parameter and gives the reason',
    (source) => {
      expect(refusal(source)).toMatchObject({
        code: 'PARAM_002',
        message: expect.stringMatching(/^name_pattern is not a valid regular expression: ./),
        details: { parameter: 'name_pattern' },
      });
    },
  );

  it('refuses a pattern that is too long or repeats too much', () => {
    expect(refusal('a'.repeat(LIMITS.patternLength))).toBeUndefined();
    expect(refusal('a'.repeat(LIMITS.patternLength + 1))).toMatchObject({ code: 'PARAM_002' });
    expect(refusal('.{1000}'.repeat(5))).toMatchObject({
      code: 'PARAM_002',
      message: expect.stringContaining('repeats too much'),
    });
  });

  it.each(['(a+)+$', '(a|a)*b', '(.*)(.*)(.*)[^a]x', '(?:a|b)*a(?:a|b){500}$'])(
    'answers %j within a second of processor time on text of the length it asks for',
    (source) => {
      const pattern = compilePattern('p', source);
      const text = 'ab'.repeat(Math.min(pattern.textLength, 1_000_000) / 2);
      const before = process.cpuUsage();
      pattern.test(text);
      expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
    },
  );
});
