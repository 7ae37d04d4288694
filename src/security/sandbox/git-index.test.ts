import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lacks, needs } from '../../../test/setup/needs.ts';
import { findGitlinks } from './git-index.ts';
import { createHost } from './sandbox.fixture.ts';

/** Of version 2, with a hash of 20 bytes. */
function entryOf(name: string): Buffer {
  const bytes = Buffer.alloc((62 + name.length + 8) & ~7);
  bytes.writeUInt32BE(0xe000, 24);
  bytes.writeUInt16BE(Math.min(name.length, 0xfff), 60);
  bytes.write(name, 62);
  return bytes;
}

function indexOf(entries: readonly Buffer[]): Buffer {
  const header = Buffer.from('DIRC\0\0\0\x02\0\0\0\0', 'latin1');
  header.writeUInt32BE(entries.length, 8);
  return Buffer.concat([header, ...entries, Buffer.alloc(20)]);
}

const COMMIT = '1234567890123456789012345678901234567890';

describe.skipIf(needs('git'))('the repositories that an index names', () => {
  const PATHS = ['a', 'deep/er/sub', 'deep/er/sub-2', 'm/ü', 'zz'];

  test.for<[string, string[], string]>([
    ['version 2', [], COMMIT],
    ['version 3', ['update-index', '--skip-worktree', 'file-1'], COMMIT],
    ['version 4', ['update-index', '--index-version', '4'], COMMIT],
    ['a split index', ['update-index', '--split-index'], COMMIT],
    ['a split index with a change', ['update-index', '--split-index', '--chmod=+x', 'file-1'], COMMIT],
    ['one with extensions', ['update-index', '--force-untracked-cache'], COMMIT],
    ['hashes of 32 bytes', [], COMMIT.padEnd(64, '0')],
  ])('are found in %s', ([, change, commit]) => {
    const host = createHost();
    const git = (...args: string[]): string =>
      execFileSync('git', args, { cwd: host.workspace, encoding: 'utf8' });
    git('init', '-q', ...(commit.length === 64 ? ['--object-format=sha256'] : []));
    for (let index = 0; index < 30; index++) host.write(`home/project/file-${index}`, 'x'.repeat(index));
    git('add', '.');
    for (const path of PATHS) git('update-index', '--add', '--cacheinfo', `160000,${commit},${path}`);
    if (change.length > 0) git(...change);
    // Those that nothing uses.
    for (let index = 0; index < 20; index++) host.write(`home/project/.git/sharedindex.zz${index}`, '');
    const { names, isWhole } = findGitlinks(join(host.workspace, '.git/index'));
    expect({ names: names.filter((path) => PATHS.includes(path)), isWhole }).toEqual({
      names: PATHS,
      isWhole: true,
    });
  });

  test.for([
    ['sha1', 2],
    ['sha1', 4],
    ['sha256', 2],
    ['sha256', 4],
  ] as const)('are none in an empty index with %s, of version %i', ([format, version]) => {
    const host = createHost();
    const git = (...args: string[]): string =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a', ...args], {
        cwd: host.workspace,
        encoding: 'utf8',
      });
    const index = join(host.workspace, '.git/index');
    git('init', '-q', `--object-format=${format}`);
    git('commit', '-q', '--allow-empty', '-m', 'first');
    host.write('home/project/file');
    git('add', '.');
    git('update-index', '--index-version', `${version}`);
    git('commit', '-q', '-m', 'second');
    expect(findGitlinks(index)).toEqual({ names: [], isWhole: true });
    git('rm', '-q', 'file');
    expect(findGitlinks(index)).toEqual({ names: [], isWhole: true });
    git('commit', '-q', '-m', 'third');
    expect(findGitlinks(index)).toEqual({ names: [], isWhole: true });
  });

  test.for([0, 7, 31, 32, 63, 64, 99, 200])(
    'are found where a split index replaces the file at position %i by one',
    (position) => {
      const host = createHost();
      const git = (...args: string[]): string =>
        execFileSync('git', args, { cwd: host.workspace, encoding: 'utf8' });
      git('init', '-q');
      git('config', 'splitIndex.maxPercentChange', '100');
      const nameOf = (index: number): string => `file-${String(index).padStart(3, '0')}`;
      for (let index = 0; index < 201; index++) host.write(`home/project/${nameOf(index)}`, 'x');
      git('add', '.');
      git('update-index', '--split-index');
      for (const each of [3, 64, 128]) if (each !== position) git('update-index', '--chmod=+x', nameOf(each));
      git('rm', '-q', '--cached', nameOf(5));
      git('update-index', '--cacheinfo', `160000,${COMMIT},${nameOf(position)}`);
      const index = join(host.workspace, '.git/index');
      const { names, isWhole } = findGitlinks(index);
      expect({ names, isWhole }).toEqual({ names: [nameOf(position)], isWhole: true });
      // It is in the other file alone.
      expect(readFileSync(index).includes(nameOf(position))).toBe(false);
    },
  );

  test.skipIf(lacks(!existsSync('/proc/self/io'), 'the kernel does not count what is read'))(
    'are found in one that is padded, most of which is not read',
    () => {
      const host = createHost();
      const path = join(host.workspace, 'index');
      const padding = 300 * 1024 * 1024;
      const extension = Buffer.from('ZZZZ\0\0\0\0', 'latin1');
      extension.writeUInt32BE(padding, 4);
      writeFileSync(path, Buffer.concat([indexOf([entryOf('sub')]).subarray(0, -20), extension]));
      truncateSync(path, padding);
      const bytesRead = (): number =>
        Number(/^rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
      const before = bytesRead();
      expect(findGitlinks(path)).toEqual({ names: ['sub'], isWhole: true });
      expect(bytesRead() - before).toBeLessThan(padding / 4);
    },
  );

  test('may be others where there are more entries than are read, or such as are not understood', () => {
    const host = createHost();
    const path = join(host.workspace, 'index');
    const entry = entryOf('x'.repeat(4000));
    writeFileSync(path, indexOf(Array.from({ length: 17_000 }, () => entry)));
    expect(findGitlinks(path)).toMatchObject({ isWhole: false });
    const odd = entryOf('odd');
    odd[62 + 3] = 1;
    writeFileSync(path, indexOf([odd, entryOf('sub')]));
    expect(findGitlinks(path)).toMatchObject({ isWhole: false });
    // In a split index the name of a replaced one is elsewhere.
    writeFileSync(path, indexOf([entryOf('')]));
    expect(findGitlinks(path)).toMatchObject({ isWhole: false });
    // Read together with others, it would take too long.
    writeFileSync(path, indexOf([entryOf('sub')]));
    expect(findGitlinks(path, { bytes: 0 })).toEqual({ names: [], isWhole: false });
  });

  test('are also those of an index behind a link', () => {
    const host = createHost();
    writeFileSync(join(host.workspace, 'other'), indexOf([entryOf('sub')]));
    expect(findGitlinks(host.link('home/project/index', 'other')).names).toEqual(['sub']);
  });

  test.for([
    ['none', undefined],
    ['an empty file', Buffer.alloc(0)],
    ['another file', Buffer.from('hello \0\0\xe0\0')],
    ['one that was cut', Buffer.from('DIRC\0\0\0\x02\0\0\0\x09\0\0\xe0\0', 'latin1')],
    ['one that lies', Buffer.from(`DIRC\0\0\0\x04\xff\xff\xff\xff${'\0\0\xe0\0'.repeat(99)}`, 'latin1')],
  ] as const)('are none, or any, in %s', ([, bytes]) => {
    const host = createHost();
    const index = join(host.workspace, 'index');
    if (bytes !== undefined) writeFileSync(index, bytes);
    expect(() => findGitlinks(index)).not.toThrow();
  });
});
