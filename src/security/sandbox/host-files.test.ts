import { chmodSync, chownSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lacks } from '../../../test/setup/needs.ts';
import { isReachable } from './host-files.ts';
import { createHost, type Host, UNCOVERED } from './sandbox.fixture.ts';

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

describe('what a command can get to', () => {
  test('is all below directories that everybody may search, there or not', () => {
    const host = createHost(UNCOVERED);
    expect(isReachable(host.write('a/b/file'))).toBe(true);
    expect(isReachable(join(host.root, 'not/there'))).toBe(true);
    expect(isReachable('/')).toBe(true);
  });

  test('is also what lies in a directory of its own that is shut: it can be opened', () => {
    const host = createHost(UNCOVERED);
    const file = host.write('a/b/file');
    chmodSync(join(host.root, 'a/b'), 0o000);
    expect(isReachable(file)).toBe(true);
    chmodSync(join(host.root, 'a/b'), 0o700);
  });

  test.skipIf(lacks(!isRoot, 'only root makes directories of another user')).for([
    [0o700, NOBODY, false],
    [0o750, NOBODY, false],
    [0o750, 0, true],
    [0o740, 0, false],
    [0o705, 0, false],
    [0o711, NOBODY, true],
    [0o744, NOBODY, false],
  ] as const)(
    'of a directory of another user with the mode %o and the group %i: %s',
    ([mode, group, isOpen]) => {
      const host = createHost(UNCOVERED);
      const file = shut(host, mode, group);
      expect(isReachable(file)).toBe(isOpen);
      const known = new Map<string, boolean>();
      expect([isReachable(file, known), isReachable(file, known)]).toEqual([isOpen, isOpen]);
      // The directory itself lies in one of ours.
      expect(isReachable(join(host.root, 'other'))).toBe(true);
    },
  );
});

function shut(host: Host, mode: number, group: number): string {
  const file = host.write('other/deep/er/file');
  chownSync(join(host.root, 'other'), NOBODY, group);
  chmodSync(join(host.root, 'other'), mode);
  return file;
}
