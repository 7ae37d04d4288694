import { describe, expect, test } from 'vitest';
import { compareLines, compareResults } from './compare.ts';
import type { Results } from './results.ts';

describe('lines of two runs', () => {
  test.each<[string, string, string, string[], string[], boolean]>([
    ['that are equal', 'a\nb\n', 'a\nb\n', [], [], true],
    ['with one more', 'a\n', 'a\nb\n', [], ['2: b'], false],
    ['with one fewer', 'a\nb\na\n', 'a\nb\n', ['3: a'], [], false],
    ['with a change', 'a\nx\nb\n', 'a\ny\nb\n', ['2: x'], ['2: y'], false],
    ['in another order', 'a\nb\n', 'b\na\n', [], [], false],
    ['of which one is empty', '', 'a\n', [], ['1: a'], false],
    ['without a last newline', 'a', 'a\n', [], [], true],
  ])('%s', (_, earlier, later, removed, added, isSameOrder) => {
    expect(compareLines(earlier, later, false)).toEqual({ removed, added, isSameOrder });
  });

  test.each([
    ['12:30:01 start', '12:31:59 start'],
    ['2026-11-16T10:00:00.123Z ok', '2026-11-17 11:00 ok'],
    ['done in 1.5s', 'done in 23 ms'],
    ['<object at 0x7ffb4bce0ed0>', '<object at 0x7fa6ff016a50>'],
  ])('times and addresses are ignored on request: %s', (earlier, later) => {
    expect(compareLines(earlier, later, true).added).toEqual([]);
    expect(compareLines(earlier, later, false).added).toHaveLength(1);
  });

  test.each([
    ['exit 1', 'exit 2'],
    ['3 files', '4 files'],
    ['port 8080', 'port 8081'],
  ])('other numbers are not: %s', (earlier, later) => {
    expect(compareLines(earlier, later, true).added).toHaveLength(1);
  });
});

describe('results of two runs', () => {
  const tests = (...names: string[]): Results => ({
    kind: 'tests',
    tool: 'x',
    failed: names.length,
    failures: names.map((name, line) => ({ name, file: 'a.ts', line })),
  });

  test('are compared by the names of tests, wherever they stand', () => {
    expect(compareResults(tests('a', 'b', 'c'), tests('d', 'c'))).toEqual({
      summary: '2 failures fewer, 1 new',
      gone: ['a.ts:0 a', 'a.ts:1 b'],
      fresh: ['a.ts:0 d'],
    });
  });

  test('are compared by the messages of diagnostics', () => {
    const of = (line: number, message: string): Results => ({
      kind: 'diagnostics',
      tool: 'x',
      errors: 1,
      warnings: 0,
      items: [{ file: 'a.ts', line, severity: 'error', message }],
    });
    expect(compareResults(of(1, 'm'), of(9, 'm'))?.summary).toBe('0 diagnostics fewer, 0 new');
    expect(compareResults(of(1, 'm'), of(1, 'n'))?.summary).toBe('1 diagnostic fewer, 1 new');
  });

  test('of different kinds are not compared', () => {
    expect(compareResults(tests('a'), { kind: 'json', values: [] })).toBeUndefined();
    expect(compareResults(undefined, tests('a'))).toBeUndefined();
  });
});
