import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../../../test/support/root.ts';
import { asShown } from '../shown-text.ts';
import { EXTRACTS, type Extract, extractFailure, extractResults } from './extract.ts';
import { atPointer } from './extract-json.ts';
import { countResults, renderItems, summarize } from './render.ts';

/** What the tools printed, recorded; those of jest, go, eslint, docker and kubectl are written by hand. */
const recorded = (name: string): string =>
  asShown(readFileSync(join(ROOT, 'test/fixtures/results', name), 'utf8'));

function read(name: string, kind: Extract): string[] {
  const results = extractResults(recorded(name), kind);
  return results === undefined ? [] : [countResults(results), ...renderItems(results)];
}

const VITEST = [
  'a.test.ts:4 sum > fails on purpose: expected 2 to be 3 // Object.is equality',
  'a.test.ts:7 throws: boom: not today',
  'b.test.ts:2 compares objects: expected { a: 1 } to deeply equal { a: 2 }',
];
const PYTEST = [
  'test_a.py:8 test_bad: assert [1, 2] == [1, 3]',
  'test_a.py:12 TestThing::test_raises: ValueError: no: good',
  'test_a.py:16 test_param[2]: assert 2 == 1',
  'test_a.py:24 test_error: RuntimeError: fixture broke',
];
const missing = "Cannot find module './missing.ts' imported from /home/me/project/c.test.ts";

describe('results of tests', () => {
  test.each<[string, string[]]>([
    [
      'vitest.txt',
      [
        '4 of 5 tests failed, 1 skipped (vitest)',
        `c.test.ts:1 c.test.ts: Error: ${missing}`,
        'a.test.ts:4 sum > fails on purpose: AssertionError: expected 2 to be 3 // Object.is equality',
        'a.test.ts:7 throws: Error: boom: not today',
        'b.test.ts:2 compares objects: AssertionError: expected { a: 1 } to deeply equal { a: 2 }',
      ],
    ],
    [
      'vitest-junit.xml',
      ['4 of 5 tests failed, 1 skipped (junit)', ...VITEST, `c.test.ts:1 c.test.ts: ${missing}`],
    ],
    [
      'vitest.tap',
      [
        '4 of 5 tests failed, 1 skipped (tap)',
        '/home/me/project/a.test.ts:4 fails on purpose: expected 2 to be 3 // Object.is equality',
        '/home/me/project/a.test.ts:7 throws: boom: not today',
        '/home/me/project/b.test.ts:2 compares objects: expected { a: 1 } to deeply equal { a: 2 }',
        `/home/me/project/c.test.ts:1 c.test.ts: ${missing}`,
      ],
    ],
    [
      'node-test.tap',
      [
        '2 of 4 tests failed, 2 skipped (tap)',
        '/home/me/n.test.mjs:2 bad: Expected values to be strictly equal:',
        '/home/me/n.test.mjs:2 inner bad: inner',
      ],
    ],
    [
      'jest.txt',
      [
        '3 of 5 tests failed, 1 skipped (jest)',
        'src/sum.test.js:4 sum › fails on purpose: expect(received).toBe(expected) // Object.is equality',
        'src/sum.test.js:7 throws: boom: not today',
        "src/broken.test.js:1 Test suite failed to run: Cannot find module './missing' from 'src/broken.test.js'",
      ],
    ],
    ['pytest.txt', ['4 of 6 tests failed, 1 skipped (pytest)', ...PYTEST]],
    ['pytest-q.txt', ['4 of 6 tests failed, 1 skipped (pytest)', ...PYTEST]],
    [
      'pytest-junit.xml',
      [
        '4 of 6 tests failed, 1 skipped (junit)',
        'test_a.py:8 test_bad: assert [1, 2] == [1, 3]',
        'test_a.py:12 test_raises: ValueError: no: good',
        'test_a.py:16 test_param[2]: assert 2 == 1',
        'test_a.py:24 test_error: failed on setup with "RuntimeError: fixture broke"',
      ],
    ],
    [
      'go-test.txt',
      [
        '3 tests failed (go test)',
        'add_test.go:9 TestAdd: Add(1, 1) = 2, want 3',
        'add_test.go:24 TestTable/negative: got -1: want 1',
        'example.com/calc/broken: it could not be built',
      ],
    ],
    [
      'go-test-v.txt',
      [
        '2 of 4 tests failed, 1 skipped (go test)',
        'add_test.go:9 TestAdd: Add(1, 1) = 2, want 3',
        'add_test.go:24 TestTable/negative: got -1: want 1',
      ],
    ],
    [
      'cargo-test.txt',
      [
        '2 of 3 tests failed, 1 skipped (cargo test)',
        'src/lib.rs:8 tests::panics: boom',
        'src/lib.rs:6 tests::fails: assertion `left == right` failed: sum',
      ],
    ],
  ])('%s', (name, expected) => {
    expect(read(name, 'tests')).toEqual(expected);
    expect(read(name, 'auto')).toEqual(expected);
  });

  test.each([
    ['Test Files  2 passed (2)\n      Tests  7 passed (7)\n', '0 of 7 tests failed (vitest)'],
    ['Tests:       3 passed, 3 total\n', '0 of 3 tests failed (jest)'],
    ['============ 5 passed, 2 warnings in 0.12s ============\n', '0 of 5 tests failed (pytest)'],
    [
      'test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n',
      '0 of 2 tests failed (cargo test)',
    ],
    ['1..1\nok 1 - fine\n', '0 of 1 tests failed (tap)'],
    ['<testsuite><testcase name="a"/></testsuite>', '0 of 1 tests failed (junit)'],
  ])('of a run without failures: %j', (text, expected) => {
    const results = extractResults(text, 'auto');
    expect(results && countResults(results)).toBe(expected);
    expect(extractFailure(text)).toBeUndefined();
  });

  test('several tests with one error of Vitest share it', () => {
    const text =
      ' RUN  v4\n FAIL  unit  src/a.test.ts > one\n FAIL  unit  src/a.test.ts > two\nError: x\n ❯ src/a.test.ts:3:1\n';
    expect(renderItems(extractResults(text, 'tests') ?? { kind: 'json', values: [] })).toEqual([
      'src/a.test.ts:3 one: Error: x',
      'src/a.test.ts:3 two: Error: x',
    ]);
  });
});

const PYTHON = [
  'bad.py:1:1 error I001: Import block is un-sorted or un-formatted',
  'bad.py:1:8 error F401: `os` imported but unused',
  'bad.py:3:5 error F841: Local variable `x` is assigned to but never used',
  'bad.py:6:7 error F821: Undefined name `undefined_name`',
];
const TSC = [
  "ts/a.ts:1:7 error TS2322: Type 'string' is not assignable to type 'number'.",
  'ts/a.ts:3:1 error TS2554: Expected 2 arguments, but got 1.',
  "ts/a.ts:4:57 error TS2322: Type 'string' is not assignable to type 'number'.",
];

describe('diagnostics', () => {
  test.each<[string, string[]]>([
    ['tsc.txt', ['3 errors, 0 warnings in 1 file (tsc)', ...TSC]],
    ['tsc-pretty.txt', ['3 errors, 0 warnings in 1 file (tsc)', ...TSC]],
    [
      'gcc.txt',
      [
        '2 errors, 3 warnings in 1 file (gcc)',
        'a.c:2:39 error: incompatible types when initializing type ‘int *’ using type ‘double’',
        'a.c:2:53 warning -Wformat=: format ‘%s’ expects argument of type ‘char *’, but argument 2 has type ‘int’',
        'a.c:2:70 error: ‘foo’ undeclared (first use in this function)',
        'a.c:2:35 warning -Wunused-variable: unused variable ‘p’',
        'a.c:2:22 warning -Wunused-variable: unused variable ‘unused’',
      ],
    ],
    [
      'rustc.txt',
      [
        '2 errors, 0 warnings in 1 file (rustc)',
        'bad.rs:1:26 error E0308: mismatched types',
        'bad.rs:1:42 error E0425: cannot find function `foo` in this scope',
      ],
    ],
    ['ruff.txt', ['4 errors, 0 warnings in 1 file (ruff)', ...PYTHON]],
    ['ruff-concise.txt', ['4 errors, 0 warnings in 1 file (ruff)', ...PYTHON]],
    [
      'mypy.txt',
      [
        '3 errors, 0 warnings in 1 file (mypy)',
        'bad.py:4 error return-value: Incompatible return value type (got "int", expected "str")',
        'bad.py:5 error arg-type: Argument 1 to "f" has incompatible type "str"; expected "int"',
        'bad.py:6 error name-defined: Name "undefined_name" is not defined',
      ],
    ],
    [
      'eslint.txt',
      [
        '3 errors, 1 warning in 2 files (eslint)',
        "/home/me/project/src/a.js:1:7 error no-unused-vars: 'unused' is assigned a value but never used",
        '/home/me/project/src/a.js:12:15 warning no-console: Unexpected console statement',
        '/home/me/project/src/a.js:14:1 error: Parsing error: Unexpected token }',
        '/home/me/project/src/b.ts:3:3 error @typescript-eslint/no-explicit-any: Unexpected any. Specify a different type',
      ],
    ],
    [
      'eslint-unix.txt',
      [
        '1 error, 1 warning in 1 file (eslint)',
        "/home/me/project/src/a.js:1:7 error no-unused-vars: 'unused' is assigned a value but never used.",
        '/home/me/project/src/a.js:12:15 warning no-console: Unexpected console statement.',
      ],
    ],
  ])('%s', (name, expected) => {
    expect(read(name, 'diagnostics')).toEqual(expected);
    expect(read(name, 'auto')).toEqual(expected);
  });
});

describe('tables', () => {
  test.each<[string, string[][]]>([
    [
      'df.txt',
      [
        ['Filesystem', 'Size', 'Used', 'Avail', 'Use%', 'Mounted on'],
        ['/dev/vda', '252G', '28G', '75G', '28%', '/'],
        ['tmpfs', '24G', '0', '24G', '0%', '/dev/shm'],
      ],
    ],
    [
      'ps.txt',
      [
        ['USER', 'PID', '%CPU', '%MEM', 'STAT', 'COMMAND'],
        ['root', '1', '1.0', '0.1', 'SLl', '/sbin/init splash quiet'],
        ['root', '2', '0.0', '0.0', 'S', '[kthreadd]'],
      ],
    ],
    [
      'docker-ps.txt',
      [
        ['CONTAINER ID', 'IMAGE', 'COMMAND', 'CREATED', 'STATUS', 'PORTS', 'NAMES'],
        [
          '3f2a9c1d7b10',
          'nginx:1.27',
          '"/docker-entrypoint.…"',
          '2 hours ago',
          'Up 2 hours',
          '0.0.0.0:8080->80/tcp',
          'web',
        ],
        [
          '9d8c7b6a5f4e',
          'postgres:17',
          '"docker-entrypoint.s…"',
          '3 days ago',
          'Up 3 days (healthy)',
          '5432/tcp',
          'db',
        ],
        ['1a2b3c4d5e6f', 'busybox', '"sleep 1"', '4 days ago', 'Exited (0) 4 days ago', '', 'job'],
      ],
    ],
    [
      'kubectl-get.txt',
      [
        ['NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE'],
        ['api-6d4cf56db6-7xk2p', '1/1', 'Running', '0', '3d4h'],
        ['worker-58f7c9d7d-lq8zn', '0/1', 'CrashLoopBackOff', '12 (3m ago)', '41m'],
      ],
    ],
  ])('%s', (name, expected) => {
    const [, ...rows] = read(name, 'auto');
    expect(rows).toEqual(expected.map((row) => row.join('\t')));
  });
});

describe('JSON', () => {
  test.each<[string, unknown[]]>([
    ['{"a": [1, 2]}', [{ a: [1, 2] }]],
    ['3', [3]],
    ['{"a":1}\n{"a":2}\n', [{ a: 1 }, { a: 2 }]],
    ['loading…\n{\n  "a": "}\\"{"\n}\ndone in 3 s\n[1]\n', [{ a: '}"{' }, [1]]],
    ['{not json}\n{"b": {}}', [{ b: {} }]],
  ])('%j', (text, values) => {
    expect(extractResults(text, 'json')).toEqual({ kind: 'json', values });
  });

  test.each<[string, unknown]>([
    ['', { a: { 'b/c': [10, { '~': 1 }] } }],
    ['/a/b~1c/0', 10],
    ['/a/b~1c/1/~0', 1],
    ['/a/none', undefined],
    ['/a/b~1c/length', undefined],
    ['/__proto__', undefined],
    ['/constructor', undefined],
  ])('at the pointer %j', (pointer, expected) => {
    expect(atPointer({ a: { 'b/c': [10, { '~': 1 }] } }, pointer)).toEqual(expected);
  });

  test('a path that is no pointer is refused', () => {
    expect(() => atPointer({}, 'a.b')).toThrow('JSON Pointer');
  });
});

test.each(['', 'hello\n', 'line 1\nline 2\n', 'NAME\n', '{', 'ok then\n', 'FAIL\n'])(
  '%j has no results',
  (text) => {
    for (const kind of EXTRACTS) expect(extractResults(text, kind), kind).toBeUndefined();
  },
);

test('the summary names a few, and says that there are more', () => {
  const results = extractFailure(recorded('pytest.txt'));
  expect(results && summarize(results)).toBe(
    '4 of 6 tests failed, 1 skipped (pytest): test_bad, TestThing::test_raises, test_param[2], …',
  );
});

test.each([
  '[\n'.repeat(200_000),
  `1..1\n${'not ok\n  ---\n'.repeat(50_000)}`,
  'test a ... FAILED\n'.repeat(50_000) + 'test result: FAILED. 0 passed; 1 failed; 0 ignored;\n',
  `${'  ● a\n'.repeat(50_000)}Tests: 1 total\n`,
  `RUN  v1\n${' FAIL  a > b\nx\n'.repeat(50_000)}`,
  `${`FAIL x ${'.'.repeat(1900)}\n`.repeat(300)}Tests: 1 total\n`,
  '<testsuite>' + '<testcase "'.repeat(50_000),
  `A  B\n${' '.repeat(1900)}x\n`.repeat(300),
  `  1:1  error  ${'  '.repeat(900)}x y\n`.repeat(300),
  `${'('.repeat(1000)}${':1'.repeat(450)}\n`.repeat(300),
  `${'1 a, '.repeat(380)}\n`.repeat(300),
])('hostile text %# is looked through', (text) => {
  expect(EXTRACTS.map((kind) => extractResults(text, kind)?.kind ?? kind)).toHaveLength(EXTRACTS.length);
});
