import { chmodSync, linkSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { separateLinks } from './hard-links.ts';
import { createHost } from './sandbox.fixture.ts';

describe('a protected file with a second name', () => {
  test('becomes a file of its own, with its mode, times and content', () => {
    const host = createHost();
    const path = host.write('home/project/.git/config', 'mine');
    chmodSync(path, 0o640);
    utimesSync(path, 1000, 2000);
    const other = join(host.workspace, 'notes.txt');
    linkSync(path, other);
    separateLinks([path], [host.workspace]);
    writeFileSync(other, 'evil');
    expect(readFileSync(path, 'utf8')).toBe('mine');
    const { nlink, mode, mtimeMs } = statSync(path);
    expect({ nlink, mode: mode & 0o777, mtimeMs }).toEqual({ nlink: 1, mode: 0o640, mtimeMs: 2_000_000 });
  });

  test('does so in a directory, but not what is installed there', () => {
    const host = createHost();
    const names = ['pre-commit', 'deep/er/script', 'node_modules/x/index.js'];
    for (const name of names)
      linkSync(host.write(`home/project/hooks/${name}`), join(host.workspace, name.replaceAll('/', '-')));
    separateLinks([join(host.workspace, 'hooks')], [host.workspace]);
    expect(names.map((name) => statSync(join(host.workspace, 'hooks', name)).nlink)).toEqual([1, 1, 2]);
  });

  test('is left alone where no command can write, or where it has one name', () => {
    const host = createHost();
    const outside = host.write('home/outside');
    linkSync(outside, join(host.home, 'outside-2'));
    const single = host.write('home/project/single');
    const { ino } = statSync(single);
    symlinkSync(outside, join(host.workspace, 'link'));
    separateLinks([outside, single, join(host.workspace, 'link'), '/nowhere'], [host.workspace]);
    expect(statSync(outside).nlink).toBe(2);
    expect(statSync(single).ino).toBe(ino);
  });

  test('lets nothing run where it cannot be copied', () => {
    const host = createHost();
    const path = host.write('home/project/.mcp.json', 'x'.repeat(17 * 1024 * 1024));
    linkSync(path, join(host.workspace, 'other'));
    expect(() => separateLinks([path], [host.workspace])).toThrow(/second name \(a hard link\)/);
    expect(statSync(path).nlink).toBe(2);
  });
});
