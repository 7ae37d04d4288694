import { describe, expect, test } from 'vitest';
import { useTestDirectory } from '../../test/support/outputs.ts';
import type { Extract } from '../outputs/views.ts';
import { comparePart, type Extracted, extractPart } from './extract-output.ts';

const directory = useTestDirectory();
const { signal } = new AbortController();

const extract = (
  text: string,
  kind: Extract,
  { path, maxBytes = 8192 }: { path?: string; maxBytes?: number } = {},
): Promise<Extracted> => extractPart(directory.source(text), { kind, path, maxBytes, signal });

const compare = (earlier: string, later: string, kind?: Extract, maxBytes = 8192): Promise<Extracted> =>
  comparePart(directory.source(later), directory.source(earlier), {
    kind,
    ignoresTimes: false,
    maxBytes,
    signal,
  });

const failures = (...names: string[]): string =>
  `${names.map((name) => `FAILED a.py::${name} - x\n`).join('')}${names.length} failed, 1 passed in 0.1s\n`;

describe('extracting', () => {
  test('gives the same as data and as text', async () => {
    expect(await extract(failures('b'), 'tests')).toEqual({
      data: {
        extracted: {
          kind: 'tests',
          tool: 'pytest',
          passed: 1,
          failed: 1,
          skipped: 0,
          failures: [{ name: 'b', file: 'a.py', message: 'x' }],
        },
        total_size: 46,
        is_truncated: false,
      },
      text: 'a.py b: x',
      next: '1 of 2 tests failed (pytest)',
    });
  });

  test('shows as many as fit, and says so', async () => {
    const names = Array.from({ length: 100 }, (_, at) => `test_${at}`);
    const { data, text, next } = await extract(failures(...names), 'tests', { maxBytes: 200 });
    const shown = text.split('\n').length;
    expect(data.extracted?.['failures']).toHaveLength(shown);
    expect(data).toMatchObject({ is_truncated: true, extracted: { failed: 100 } });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(200);
    expect(next).toContain(`the first ${shown} are shown`);
  });

  test.each<[Extract, string]>([
    ['tests', 'test results'],
    ['diagnostics', 'diagnostics'],
    ['table', 'table'],
    ['json', 'JSON'],
    ['auto', 'known results'],
  ])('says that there is no %s', async (kind, name) => {
    const { data, next } = await extract('hello\n', kind);
    expect(data.extracted).toBeUndefined();
    expect(next).toContain(`no ${name} found`);
  });

  test.each<[string, string | undefined, unknown, string]>([
    ['{"a":{"b":[1]}}', '/a/b', [1], '[1]'],
    ['{"a":1}\n{"a":2}', '/a', [1, 2], '[1,2]'],
    ['{"a":1}\n{"b":2}', '/b', 2, '2'],
    ['x\n{"a":null}', undefined, { a: null }, '{"a":null}'],
  ])('reads JSON %j at %j', async (source, path, value, shown) => {
    const { data, text } = await extract(source, 'json', path === undefined ? {} : { path });
    expect([data.extracted, text]).toEqual([{ kind: 'json', value }, shown]);
  });

  test('describes JSON that is too long, so that a path can be chosen', async () => {
    const long = JSON.stringify({
      name: 'x',
      items: Array.from({ length: 2000 }, (_, at) => ({ at })),
      n: null,
    });
    const { data, text, next } = await extract(long, 'json', { maxBytes: 1000 });
    expect(data.extracted).toEqual({
      kind: 'json',
      outline: { name: 'string', items: 'array of 2000', n: 'null' },
    });
    expect(JSON.parse(text)).toEqual(data.extracted?.['outline']);
    expect(next).toContain('path (a JSON Pointer)');
  });

  test('looks at both ends of a long output, and says so', async () => {
    const { data, next } = await extract(`${'some line\n'.repeat(600_000)}${failures('b')}`, 'tests');
    expect(next).toBe('1 of 2 tests failed (pytest)');
    expect(data.note).toContain('were not looked at');
  });
});

describe('comparing', () => {
  test('names lines that only one of them has, and failures that are gone or new', async () => {
    const { data, text, next } = await compare(failures('a', 'b', 'c'), failures('c', 'd'));
    expect(text.split('\n')).toEqual([
      '- 1: FAILED a.py::a - x',
      '- 2: FAILED a.py::b - x',
      '- 4: 3 failed, 1 passed in 0.1s',
      '+ 2: FAILED a.py::d - x',
      '+ 3: 2 failed, 1 passed in 0.1s',
    ]);
    expect(next).toBe('2 failures fewer, 1 new; 3 lines only before, 2 only now');
    expect(data.differences).toEqual({
      summary: next,
      removed: text
        .split('\n')
        .slice(0, 3)
        .map((line) => line.slice(2)),
      added: text
        .split('\n')
        .slice(3)
        .map((line) => line.slice(2)),
    });
  });

  test('names failures alone where those are asked for', async () => {
    const { text, next } = await compare(failures('a', 'b', 'c'), failures('c', 'd'), 'tests');
    expect([text, next]).toEqual(['- a.py a: x\n- a.py b: x\n+ a.py d: x', '2 failures fewer, 1 new']);
    expect((await compare('a\n', 'b\n', 'tests')).next).toContain('no test results to compare');
  });

  test.each([
    ['a\n', 'a\n', 'no line differs'],
    ['a\nb\n', 'b\na\n', 'the same lines in another order'],
  ])('%j with %j: %s', async (earlier, later, summary) => {
    expect((await compare(earlier, later)).next).toBe(summary);
  });

  test('shows as many as fit', async () => {
    const lines = Array.from({ length: 500 }, (_, at) => `line ${at}\n`).join('');
    const { data, text } = await compare(lines, 'x\n', undefined, 300);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(300);
    expect(data.is_truncated).toBe(true);
  });
});
