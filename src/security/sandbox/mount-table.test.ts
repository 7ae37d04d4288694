import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { kindOf } from './host-files.ts';
import { createMountTable } from './mount-table.ts';
import type { Mount } from './profile.ts';
import { createHost } from './sandbox.fixture.ts';

const readable = (path: string): Mount => ({ kind: 'readable', path });
const writable = (path: string): Mount => ({ kind: 'writable', path });

test('one mount a place, the last that was put, and outer places before inner ones', () => {
  const table = createMountTable();
  table.put([readable('/a/b/c'), readable('/a'), writable('/a/b')]);
  table.put([writable('/a')]);
  table.remove((path) => path === '/a/b');
  expect(table.list()).toEqual([writable('/a'), readable('/a/b/c')]);
});

test('what can be written to is decided by the nearest mount around', () => {
  const table = createMountTable();
  table.put([writable('/a'), readable('/a/b'), writable('/a/b/c'), { kind: 'empty', path: '/a/e' }]);
  expect(['/a', '/a/x', '/a/b', '/a/b/x', '/a/b/c/x', '/a/e/x', '/'].map(table.isWritable)).toEqual([
    true,
    true,
    false,
    false,
    true,
    false,
    false,
  ]);
});

/** What was added to a writable workspace with these mounts in it. */
function pinsFor(workspace: string, mounts: readonly Mount[]): string[] {
  const table = createMountTable();
  table.put([writable(workspace), ...mounts]);
  const before = new Set(table.list().map(({ path }) => path));
  table.pin();
  return table
    .list()
    .map(({ path }) => path)
    .filter((path) => !before.has(path));
}

describe('pins', () => {
  test('are the directories between a mount and the workspace, outer ones first', () => {
    const host = createHost();
    const deep = host.write('home/project/a/b/c/file');
    const other = host.write('home/project/a/x/file');
    expect(pinsFor(host.workspace, [readable(deep), readable(other)])).toEqual(
      ['a', 'a/b', 'a/x', 'a/b/c'].map((name) => join(host.workspace, name)),
    );
  });

  test('are not needed right below a workspace, nor outside of it, nor in what is read-only', () => {
    const host = createHost();
    const top = host.write('home/project/.mcp.json');
    const outside = host.write('home/deep/er/file');
    const shut = host.makeDirectory('home/project/shut');
    const inside = host.write('home/project/shut/in/file');
    expect(
      pinsFor(host.workspace, [readable(top), readable(outside), readable(shut), readable(inside)]),
    ).toEqual([]);
  });

  test('lie where the mount around them has its source, and are made there', () => {
    const host = createHost();
    const source = host.makeDirectory('state/tmp');
    const table = createMountTable();
    table.put([{ kind: 'writable', path: '/tmp', from: source }, writable('/tmp/a/b/ws')]);
    table.pin();
    expect(table.list()).toEqual([
      { kind: 'writable', path: '/tmp', from: source },
      { kind: 'writable', path: '/tmp/a', from: join(source, 'a') },
      { kind: 'writable', path: '/tmp/a/b', from: join(source, 'a/b') },
      writable('/tmp/a/b/ws'),
    ]);
    expect(kindOf(join(source, 'a/b'))).toBe('directory');
  });

  test('lie on the host inside a mount of the host’s, though one with another source is around that', () => {
    const host = createHost();
    const source = host.makeDirectory('state/outer');
    const file = host.write('home/project/.git/config');
    const table = createMountTable();
    table.put([
      { kind: 'writable', path: host.root, from: source },
      writable(host.workspace),
      readable(file),
    ]);
    table.pin();
    expect(table.list().slice(1)).toEqual([
      { kind: 'writable', path: host.home, from: join(source, 'home') },
      writable(host.workspace),
      writable(join(host.workspace, '.git')),
      readable(file),
    ]);
  });
});
