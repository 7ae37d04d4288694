import { execFileSync } from 'node:child_process';
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

  test('does so in a directory with subdirectories of git, but not where git keeps objects, nor samples', () => {
    const host = createHost();
    host.write('home/project/modules/a/HEAD');
    const names = [
      'modules/a/hooks/x',
      'hooks/objects/x',
      'modules/a/objects/x',
      'hooks/x.sample',
      'apart/x',
    ];
    for (const name of names)
      linkSync(host.write(`home/project/top/${name}`), join(host.workspace, name.replaceAll('/', '-')));
    host.write('home/project/top/modules/a/HEAD');
    const top = join(host.workspace, 'top');
    const separated = separateLinks([top], [host.workspace], [join(top, 'apart')]);
    expect(separated).toEqual({ isAny: true, hasMore: false });
    expect(names.map((name) => statSync(join(top, name)).nlink)).toEqual([1, 1, 2, 2, 2]);
    expect(separateLinks([top], [host.workspace])).toEqual({ isAny: true, hasMore: false });
    expect(separateLinks([top], [host.workspace])).toEqual({ isAny: false, hasMore: false });
  });

  test('keeps its names where all of them are protected', () => {
    const host = createHost();
    const path = host.write('home/project/bin/rustc', 'x'.repeat(17 * 1024 * 1024));
    linkSync(path, join(host.workspace, 'bin/cargo'));
    const bin = join(host.workspace, 'bin');
    expect(separateLinks([bin, path], [host.workspace])).toEqual({ isAny: false, hasMore: false });
    expect(statSync(path).nlink).toBe(2);
    linkSync(path, join(host.workspace, 'mine'));
    expect(() => separateLinks([bin], [host.workspace])).toThrow(/second name/);
  });

  test('is not looked for among very many: the answer says so', () => {
    const host = createHost();
    const hooks = host.makeDirectory('home/project/hooks');
    execFileSync('bash', ['-c', 'touch {1..20000}'], { cwd: hooks });
    expect(separateLinks([hooks], [host.workspace])).toEqual({ isAny: false, hasMore: true });
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
