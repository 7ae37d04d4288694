import { describe, expect, test } from 'vitest';
import { LIMITS } from '../base/limits.ts';
import type { Answer } from '../tools/tool.ts';
import { fitAnswer } from './answer-size.ts';

const MIB = 1024 * 1024;

/** As a client receives it. */
const bytesOf = ({ data, text, more, meta }: Answer<unknown>): number =>
  Buffer.byteLength(JSON.stringify({ data, text, more, meta }));

function printed(character: string, count: number, meta = false): Answer<unknown> {
  const text = character.repeat(count);
  return {
    data: { content: text, size: count },
    text,
    ...(meta && { meta: { text } }),
    async shorter(share) {
      const less = Math.floor(share * count);
      return less < 1 ? undefined : printed(character, less, meta);
    },
  };
}

describe('an answer that is too long for clients is shortened, and holds nearly as much as it can', () => {
  test.each([
    ['plain text', 'x', 10 * MIB, false],
    ['line ends, which JSON writes as two', '\n', 3 * MIB, false],
    ['control characters, which take six', '\u0001', MIB, false],
    ['characters of three bytes', '漢', 2 * MIB, false],
    ['characters of four', '😀', 2 * MIB, false],
    ['halves of a character, which take six', '\ud83d', MIB, false],
    ['the same a third time', 'x', 4 * MIB, true],
    ['more than a JSON text could hold', '\u0001', 50 * MIB, true],
  ])('%s', async (_, character, count, meta) => {
    const bytes = bytesOf(await fitAnswer(printed(character, count, meta)));
    expect(bytes).toBeLessThanOrEqual(LIMITS.answerBytes);
    expect(bytes).toBeGreaterThan(0.8 * LIMITS.answerBytes);
  });
});

test('one of which less is not shorter at once is shortened until it is', async () => {
  // The beginning is all that is long.
  const text = '\u0001'.repeat(MIB) + 'x'.repeat(6 * MIB);
  const answer = (count: number): Answer<unknown> => ({
    data: {},
    text: text.slice(0, count),
    shorter: async (share) => answer(Math.floor(share * 20 * MIB)),
  });
  const bytes = bytesOf(await fitAnswer(answer(text.length)));
  expect(bytes).toBeLessThanOrEqual(LIMITS.answerBytes);
  expect(bytes).toBeGreaterThan(LIMITS.answerBytes / 2);
});

test.each([
  ['small', 'x', 100],
  ['as long as it may be', 'x', 4 * MIB - 100],
  ['of control characters', '\u0001', Math.floor((4 * MIB) / 6) - 100],
])('one that is not too long stays as it is: %s', async (_, character, count) => {
  const answer = printed(character, count);
  expect(await fitAnswer(answer)).toBe(answer);
});

test('what makes it long may lie anywhere in it, as deep as JSON can be', async () => {
  let deep: unknown = '\u0001'.repeat(2 * MIB);
  for (let depth = 0; depth < 100_000; depth++) deep = [deep];
  const short = { data: { none: true }, text: 'none' };
  const long = (answer: Partial<Answer<unknown>>): Answer<unknown> => ({
    data: {},
    text: '',
    ...answer,
    shorter: async () => short,
  });
  for (const answer of [
    { data: { deep } },
    { data: { list: Array.from({ length: MIB }, () => 'xxxxxx') } },
    { data: { ['x'.repeat(9 * MIB)]: 1 } },
    { more: ['', 'x'.repeat(9 * MIB)] },
    { meta: { text: 'x'.repeat(9 * MIB) } },
  ])
    expect(await fitAnswer(long(answer))).toBe(short);
});

describe('where there is no less of it, its place is taken by an error that says so', () => {
  const long = { data: {}, text: 'x'.repeat(9 * MIB) };
  test.each<[string, Answer<unknown>['shorter']]>([
    ['without a shorter one', undefined],
    ['with none in the end', async () => undefined],
    ['with one that is not shorter', async () => ({ ...long, shorter: async () => long })],
  ])('%s', async (_, shorter) => {
    await expect(fitAnswer({ ...long, shorter })).rejects.toMatchObject({
      code: 'RESOURCE_005',
      message: expect.stringMatching(/^The call was carried out, but its answer of 94\d{5} bytes is longer/),
    });
  });
});
