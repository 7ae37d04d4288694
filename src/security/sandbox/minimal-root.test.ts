import { existsSync, lstatSync, readdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lacks } from '../../../test/setup/needs.ts';
import { isInside } from '../../base/config/paths.ts';
import { minimalRoot, programRoot } from './minimal-root.ts';
import type { Mount } from './profile.ts';

const PROGRAM_DIRECTORIES = ['/bin', '/sbin', '/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin'];

const isBound = (mount: Mount): mount is Mount & { kind: 'readable' } => mount.kind === 'readable';
/** Mounts in directories of programs, or such directories themselves. */
const programsOf = (mounts: readonly Mount[]): string[] =>
  mounts
    .filter(isBound)
    .filter(({ path }) => PROGRAM_DIRECTORIES.some((place) => isInside(path, realpathSync(place))))
    .map(({ path }) => path);

describe.each([
  ['of all programs', minimalRoot()],
  ['of named programs', programRoot(['sh', 'ls', 'git', 'python3', 'node'])],
])('a root %s', (_, mounts) => {
  test('is made of what is there, and read-only', () => {
    expect(mounts.filter(({ kind }) => kind !== 'readable' && kind !== 'link')).toEqual([]);
    expect(mounts.filter(isBound).filter(({ path, from }) => !existsSync(from ?? path))).toEqual([]);
  });

  test('has each place once, and nothing of homes, state or what runs', () => {
    const paths = mounts.map(({ path }) => path);
    expect(new Set(paths).size).toBe(paths.length);
    for (const path of paths) expect(path).toMatch(/^\/(?:usr|etc|bin|sbin|lib\w*|nix|gnu)(?:\/|$)/);
    expect(paths).not.toContain('/etc');
    for (const secret of ['/etc/shadow', '/etc/sudoers', '/etc/ssh', '/etc/ssl/private']) {
      expect(paths.filter((path) => isInside(secret, path))).toEqual([]);
    }
  });

  test('mounts files and directories and never a link', () => {
    for (const mount of mounts.filter(isBound)) {
      expect(lstatSync(mount.from ?? mount.path).isSymbolicLink(), mount.path).toBe(false);
    }
  });

  test('knows names, users and certificates', () => {
    const paths = mounts.map(({ path }) => path);
    for (const path of ['/etc/passwd', '/etc/group', '/etc/nsswitch.conf', '/etc/ssl/certs'].filter(
      existsSync,
    )) {
      expect(paths).toContain(path);
    }
  });
});

describe('a root of all programs', () => {
  test('has all of /usr, and the links to it', () => {
    const mounts = minimalRoot();
    expect(mounts[0]).toEqual({ kind: 'readable', path: '/usr' });
    const expected = lstatSync('/bin').isSymbolicLink() ? 'link' : 'readable';
    expect(mounts.find(({ path }) => path === '/bin')?.kind).toBe(expected);
  });
});

describe('a root of named programs', () => {
  test('has those and no others', () => {
    const found = programsOf(programRoot(['sh', 'ls', 'env']));
    expect(found.map((path) => basename(path)).toSorted()).toEqual(['env', 'ls', 'sh']);
  });

  test('has no program at all where none is named', () => {
    const mounts = programRoot([]);
    expect(programsOf(mounts)).toEqual([]);
    expect(mounts.filter(({ path }) => ['/usr', '/usr/bin', '/usr/local'].includes(path))).toEqual([]);
  });

  test('has them under the name that was asked for, though that is a link', () => {
    const shell = programRoot(['sh']).find(({ path }) => basename(path) === 'sh');
    expect(shell).toEqual({
      kind: 'readable',
      path: join(realpathSync('/bin'), 'sh'),
      from: realpathSync('/bin/sh'),
    });
  });

  // Where a distribution has them is its own affair; every Node comes with npm and npx.
  const linked = ['npm', 'npx', 'corepack'].flatMap((name) =>
    PROGRAM_DIRECTORIES.map((place) => join(place, name))
      .filter((path) => existsSync(path) && realpathSync(path).includes('/lib/node_modules/'))
      .slice(0, 1),
  );
  test.skipIf(lacks(linked.length === 0, 'no npm in the directories of the system'))(
    'has a link where the file itself is there with what belongs to it',
    () => {
      for (const path of linked) {
        const mounts = programRoot([basename(path)]);
        const target = realpathSync(path);
        expect(mounts.filter((mount) => basename(mount.path) === basename(path))).toEqual([
          { kind: 'link', path: join(realpathSync(dirname(path)), basename(path)), target },
        ]);
        expect(mounts.filter(isBound).some((mount) => isInside(target, mount.path))).toBe(true);
      }
    },
  );

  test('has no mount for what lies inside a directory that is there anyway', () => {
    const inner = ['/usr/lib/git-core/git-diff', '/usr/libexec/git-core/git-diff'].filter(existsSync);
    const paths = programRoot(['git', ...inner]).map(({ path }) => path);
    expect(inner.filter((path) => paths.includes(path))).toEqual([]);
  });

  test('takes a path as well as a name, and each once', () => {
    const paths = programsOf(programRoot(['/bin/sh', 'sh', '/usr/bin/env', 'env', 'env']));
    expect(paths.map((path) => basename(path)).toSorted()).toEqual(['env', 'sh']);
  });

  test('leaves out what is not there or is no file', () => {
    expect(programsOf(programRoot(['no-such-program', '', '.', '..', '/usr/bin', '/', '/gone/x']))).toEqual(
      [],
    );
  });

  test('has the loader and the C library', () => {
    const places = programRoot(['ls'])
      .filter(isBound)
      .map(({ path, from }) => from ?? path);
    const holds = (name: RegExp): boolean =>
      places.some(
        (path) =>
          name.test(basename(path)) ||
          (lstatSync(path).isDirectory() && readdirSync(path).some((entry) => name.test(entry))),
      );
    expect(holds(/^ld-(?:linux|musl)/)).toBe(true);
    expect(holds(/^libc\.(?:so|musl)/)).toBe(true);
  });

  test('has no directory of libraries in which programs lie, where they can be told apart', () => {
    const hasMultiarch = readdirSync('/usr/lib').some((name) => /-linux-(?:gnu|musl)/.test(name));
    const paths = programRoot(['ls']).map(({ path }) => path);
    expect(paths.includes('/usr/lib')).toBe(!hasMultiarch);
    expect(paths).not.toContain('/usr/libexec');
  });

  test('brings what a program cannot do without, and not that of others', () => {
    const core = ['/usr/lib/git-core', '/usr/libexec/git-core'].filter(existsSync);
    const paths = (programs: string[]): string[] => programRoot(programs).map(({ path }) => path);
    expect(core.filter((path) => !paths(['git']).includes(path))).toEqual([]);
    expect(core.filter((path) => paths(['ls']).includes(path))).toEqual([]);
    const manual = ['/usr/lib/man-db', '/usr/libexec/man-db'].filter(existsSync);
    expect(manual.filter((path) => !paths(['man']).includes(path))).toEqual([]);
  });

  test('has no alternatives, by which other programs would be there under their names', () => {
    expect(programRoot(['sh']).map(({ path }) => path)).not.toContain('/etc/alternatives');
  });
});
