import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { LookBudget } from './git-find.ts';
import { locate, namedByCommand } from './git-programs.ts';
import { createHost } from './sandbox.fixture.ts';

test.for<[string, string]>([
  ['x', '/w/x'],
  ['/x', '/x'],
  ['~', '/h'],
  ['~/x', '/h/x'],
  ['a/~/x', '/w/a/~/x'],
  ['./a//b/../x', '/w/a/x'],
  ['../../../x', '/x'],
  [`~${userInfo().username}/x`, join(userInfo().homedir, 'x')],
  ['~bin/x', '/bin/x'],
  ['%(prefix)/lib/x', '/usr/lib/x'],
  ['%(prefix)/../srv/x', '/srv/x'],
  ['~nobody-of-that-name/x', '/w/~nobody-of-that-name/x'],
])('a configuration that says %s means %s', ([path, expected]) => {
  expect(locate(path, '/w', '/h')).toBe(expected);
});

describe('a command line of any shape', () => {
  test.for<[string, string]>([
    ['many words', 'a/b '.repeat(100_000)],
    ['one word', 'a'.repeat(400_000)],
    ['many parts', 'a/'.repeat(200_000)],
    ['quotes', `'"`.repeat(100_000)],
    ['quotes that stay open', `"\\" `.repeat(100_000)],
    ['the work tree again and again', '$PWD'.repeat(100_000)],
    ['changes of directory', 'cd a; '.repeat(60_000)],
    ['ever deeper changes of directory', 'cd a && ./b && '.repeat(30_000)],
    ['assignments', 'A=b/c:'.repeat(60_000)],
    ['modules', `python3 ${'-m a.b.c '.repeat(50_000)}`],
    ['a module of many parts', `python3 -m ${'a.'.repeat(100_000)}b`],
    ['parents', '../'.repeat(100_000)],
    ['parents of a directory', 'a/../'.repeat(700)],
  ])('is read in a moment: %s', ([, line]) => {
    const host = createHost();
    const budget: LookBudget = { steps: 10_000, links: new Map() };
    const startMs = performance.now();
    const named = namedByCommand(line.slice(0, 128 * 1024), {
      workTree: host.workspace,
      home: host.home,
      budget,
    });
    expect(performance.now() - startMs).toBeLessThan(5000);
    expect(named.length).toBeLessThan(10_000);
  });
});
