import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSignatures, isFresh, type Signed } from './profile-cache.ts';
import { createHost } from './sandbox.fixture.ts';

test('is another one when something comes, goes or is replaced where it matters', () => {
  const host = createHost();
  host.makeRepository('home/project');
  const signatureOf = createSignatures();
  const sign = (): string =>
    signatureOf({ roots: [host.workspace], repositories: [], others: [], names: [] });
  const seen = new Set([sign()]);
  const changes = [
    () => writeFileSync(join(host.workspace, '.mcp.json'), ''),
    () => mkdirSync(join(host.workspace, '.vscode')),
    () => writeFileSync(join(host.workspace, '.vscode/tasks.json'), ''),
    () => writeFileSync(join(host.workspace, '.git/commondir'), ''),
    () => rmSync(join(host.workspace, '.git'), { recursive: true }),
    // A worktree has a file here, and nothing can be below it.
    () => writeFileSync(join(host.workspace, '.git'), 'gitdir: elsewhere'),
  ];
  for (const change of changes) {
    change();
    seen.add(sign());
  }
  expect(seen.size).toBe(changes.length + 1);
  expect(sign()).toBe(sign());
});

test('a root may be a file', () => {
  const host = createHost();
  const file = host.write('home/file');
  expect(() =>
    createSignatures()({ roots: [file], repositories: [file], others: [], names: [] }),
  ).not.toThrow();
});

test('is good for a moment only', () => {
  const atMs = performance.now();
  const before = (ms: number): Signed => ({ signature: 'a', atMs: atMs - ms });
  expect(isFresh(before(0), 'a', 'host')).toBe(true);
  expect(isFresh(before(0), 'b', 'host')).toBe(false);
  expect(isFresh(before(2000), 'a', 'host')).toBe(false);
  expect(isFresh(before(2000), 'a', 'programs')).toBe(true);
  expect(isFresh(before(60_000), 'a', 'programs')).toBe(false);
  expect(isFresh(undefined, 'a', 'host')).toBe(false);
});
