/**
 * The fast ways of searching and counting against the plain one: split into lines, decode each, ask RE2. Texts and
 * patterns are made at random, from a seed that a failure names.
 */
import { RE2JS } from 're2js';
import { describe, expect, it } from 'vitest';
import { useTestDirectory } from '../../test/support/outputs.ts';
import { compilePattern } from '../base/pattern.ts';
import { createAutomaton } from './automaton.ts';
import { getEncoding } from './encoding.ts';
import { readLines } from './read-lines.ts';
import { requiredText } from './required-text.ts';
import { searchLines } from './search.ts';
import type { Gap } from './types.ts';

const directory = useTestDirectory();

type Random = (below: number) => number;

function createRandom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function pick<T>(random: Random, values: readonly T[]): T {
  return values[random(values.length)] as T;
}

const ATOMS = [
  'a',
  'b',
  'ab',
  'abc',
  '1',
  ' ',
  '.',
  '\\d',
  '\\w',
  '\\W',
  '\\s',
  '[ab]',
  '[^a]',
  '[^b\\s]',
  '[^a]',
  '\\r',
  'é',
  '日',
  '[k-ø]',
  '[^é-本]',
  'k',
  's',
];
const EDGES = ['^', '$', '\\b', '\\B', '\\A', '\\z'];

function makePattern(random: Random, depth = 3): string {
  const parts = Array.from({ length: 1 + random(4) }, () => {
    if (random(5) === 0) return pick(random, EDGES);
    const isGroup = depth > 0 && random(3) === 0;
    const atom = isGroup ? `(?:${makePattern(random, depth - 1)})` : pick(random, ATOMS);
    return `${atom}${pick(random, ['', '', '', '*', '+', '?', '{2}', '{1,3}', '*?'])}`;
  });
  const text = parts.join('');
  return random(4) === 0 ? `${text}|${pick(random, ATOMS)}b` : text;
}

const PIECES = [
  'a',
  'b',
  'ab',
  'abc',
  '1',
  ' ',
  '_',
  '-',
  'A',
  'B',
  '\n',
  '\n',
  '\r\n',
  '\r',
  'é',
  '日',
  '本',
  'ſ',
  '\u212a',
  'ø',
  'ÿ',
  '😀',
  '\u{10ffff}',
];

function makeText(random: Random, encoding: BufferEncoding): Buffer {
  const alphabet = PIECES.slice(0, random(2) === 0 ? 14 : PIECES.length);
  const parts = Array.from({ length: random(60) }, () => Buffer.from(pick(random, alphabet), encoding));
  if (random(4) === 0) parts.splice(random(parts.length + 1), 0, Buffer.from([0xff, 0xc3]));
  return Buffer.concat(parts);
}

interface ModelLine {
  readonly start: number;
  readonly next: number;
  readonly text: string;
}

/** Lines from an offset on, in each stretch that was kept. */
function linesOf(bytes: Buffer, stretches: readonly Gap[], from: number, encoding: string): ModelLine[] {
  const lines: ModelLine[] = [];
  for (const stretch of stretches) {
    for (let at = Math.max(from, stretch.from); at < stretch.to; ) {
      const newline = bytes.subarray(0, stretch.to).indexOf(10, at);
      const end = newline === -1 ? stretch.to : newline;
      const text = getEncoding(encoding).decode(bytes.subarray(at, end)).replace(/\r$/, '');
      const next = newline === -1 ? end : end + 1;
      lines.push({ start: at, next, text });
      at = next;
    }
  }
  return lines;
}

interface ModelSearch {
  readonly pattern: string;
  readonly from: number;
  readonly contextLines: number;
  readonly encoding: string;
}

function searchModel(bytes: Buffer, stretches: readonly Gap[], search: ModelSearch): string {
  const compiled = RE2JS.compile(search.pattern);
  const lines = linesOf(bytes, stretches, search.from, search.encoding);
  const before = stretches.flatMap((one) =>
    one.from < search.from ? [{ ...one, to: Math.min(one.to, search.from) }] : [],
  );
  const isCut = stretches.some((one) => one.from < search.from && search.from < one.to);
  const earlier = linesOf(bytes, before, 0, search.encoding);
  const isMidLine = isCut && earlier.length > 0 && bytes[search.from - 1] !== 10;
  const first = earlier.length - (isMidLine ? 1 : 0) + 1;
  const matching = new Set(lines.flatMap(({ text }, index) => (compiled.test(text) ? [index] : [])));
  const shown: string[] = [];
  let last = -1;
  for (const [index, line] of lines.entries()) {
    const isNear = [...matching].some((match) => Math.abs(match - index) <= search.contextLines);
    if (!isNear) continue;
    if (search.contextLines > 0 && last !== -1 && last !== index - 1) shown.push('--');
    shown.push(`${first + index}${matching.has(index) ? ':' : '-'} ${line.text}`);
    last = index;
  }
  return shown.join('\n');
}

describe('searching is the same as asking RE2 about each line', () => {
  it.each(Array.from({ length: 25 }, (_, seed) => seed))('seed %d', async (seed) => {
    const random = createRandom(seed);
    for (let round = 0; round < 25; round++) {
      const encoding = pick(random, ['utf-8', 'utf-8', 'latin1', 'windows-1252'] as const);
      const head = makeText(random, encoding === 'utf-8' ? 'utf8' : 'latin1');
      const tail = random(3) === 0 ? makeText(random, 'utf8') : Buffer.alloc(0);
      const gapBytes = tail.length === 0 ? 0 : 1 + random(50);
      const bytes = Buffer.concat([head, Buffer.alloc(gapBytes), tail]);
      const stretches =
        gapBytes === 0
          ? [{ from: 0, to: bytes.length }]
          : [
              { from: 0, to: head.length },
              { from: head.length + gapBytes, to: bytes.length },
            ];
      const source =
        gapBytes === 0
          ? directory.source(head)
          : directory.source(head, { totalBytes: bytes.length, bytes: tail });
      const pattern = `${pick(random, ['', '', '(?i)', '(?s)'])}${makePattern(random)}`;
      const search = {
        pattern,
        encoding,
        contextLines: random(3),
        from: random(2) * random(bytes.length + 1),
      };
      const limits = { maxMatches: 1000, deadlineMs: 60_000, maxBytes: 1e9 };
      const found = await searchLines(source, { ...limits, ...search, fromOffset: search.from });
      const where = { seed, round, ...search, bytes: bytes.toString('latin1') };
      expect({ ...where, content: found.content }).toEqual({
        ...where,
        content: searchModel(bytes, stretches, search),
      });
    }
  });

  it('with a text that a match must have only where every match has it', () => {
    const random = createRandom(7);
    let found = 0;
    const wrong: [pattern: string, text: string, tested: string][] = [];
    for (let round = 0; round < 3000; round++) {
      const source = `(?:)${makePattern(random)}`;
      const pattern = compilePattern('p', source);
      const program = pattern.program();
      const text = program && requiredText(program);
      if (text === undefined) continue;
      found++;
      for (let line = 0; line < 10; line++) {
        const tested = makeText(random, 'utf8').toString('utf8').replaceAll('\n', '');
        if (pattern.test(tested) && !tested.includes(text)) wrong.push([source, text, tested]);
      }
    }
    expect(wrong).toEqual([]);
    expect(found).toBeGreaterThan(500);
  });

  it('for a pattern that needs so many states that it is given up', async () => {
    const random = createRandom(3);
    const line = (): string => Array.from({ length: 80 }, () => pick(random, ['a', 'b'])).join('');
    const lines = Array.from({ length: 3000 }, line);
    const bytes = Buffer.from(lines.join('\n'));
    const search = { pattern: 'a[ab]{17}b[ab]{19}aaa$', encoding: 'utf-8', contextLines: 0, from: 0 };
    const program = compilePattern('p', search.pattern).program();
    expect(program && createAutomaton(program, 'utf-8')).toBeDefined();
    const limits = { maxMatches: 10_000, deadlineMs: 60_000, maxBytes: 1e9, fromOffset: 0 };
    const found = await searchLines(directory.source(bytes), { ...limits, ...search });
    expect(found.content).toBe(searchModel(bytes, [{ from: 0, to: bytes.length }], search));
    expect(found.matchCount).toBeGreaterThan(10);
  });
});

describe('lines by number are the same as those of the text', () => {
  it.each([0, 1])('seed %d, with and without what was counted before', async (seed) => {
    const random = createRandom(seed);
    const lines = Array.from({ length: 250_000 }, () => 'x'.repeat(random(seed === 0 ? 3 : 20)));
    const source = directory.source(`${lines.join('\n')}\n`);
    const lineIndex = { newlines: [] };
    const indexed = {
      ...source,
      size: () => source.size(),
      gaps: () => source.gaps(),
      lineIndex,
    };
    for (let round = 0; round < 30; round++) {
      const startLine = random(2) === 0 ? -1 - random(250_000) : 1 + random(250_000);
      const request = { startLine, lineCount: 3, maxBytes: 1000, encoding: 'utf-8' };
      const at = startLine < 0 ? lines.length + startLine : startLine - 1;
      const expected = {
        content: lines.slice(at, at + 3).join('\n'),
        firstLine: at + 1,
        totalLines: lines.length,
      };
      for (const one of [source, indexed]) expect(await readLines(one, request)).toMatchObject(expected);
    }
    expect(lineIndex.newlines).toHaveLength(Math.floor(source.size() / 1024 / 1024));
  });
});
