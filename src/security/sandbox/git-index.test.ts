import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { needs } from '../../../test/setup/needs.ts';
import { findGitlinks } from './git-index.ts';
import { createHost } from './sandbox.fixture.ts';

const COMMIT = '1234567890123456789012345678901234567890';

describe.skipIf(needs('git'))('the repositories that an index names', () => {
  const PATHS = ['a', 'deep/er/sub', 'deep/er/sub-2', 'm/ü', 'zz'];

  test.for<[string, string[], string]>([
    ['version 2', [], COMMIT],
    ['version 3', ['update-index', '--skip-worktree', 'file-1'], COMMIT],
    ['version 4', ['update-index', '--index-version', '4'], COMMIT],
    ['a split index', ['update-index', '--split-index'], COMMIT],
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
    expect(findGitlinks(join(host.workspace, '.git/index')).filter((path) => PATHS.includes(path))).toEqual(
      PATHS,
    );
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
