import {
  chmodSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { gatherMounts } from './gather.ts';
import type { Mount } from './profile.ts';
import { createHost } from './sandbox.fixture.ts';

function hostWithPrograms() {
  const host = createHost();
  const copies = join(host.state, 'roots');
  const programs = ['cat', 'ls', 'sed', 'wc'].map((name): Mount => {
    const from = host.write(`programs/${name}`, `#!${name}`);
    chmodSync(from, 0o4755);
    return { kind: 'readable', path: `/usr/bin/${name}`, from };
  });
  const copyOf = (mounts: readonly Mount[], path: string): string => {
    const mount = mounts.find((one) => one.path === path);
    if (mount === undefined || !('from' in mount) || mount.from === undefined) throw new Error(path);
    return mount.from;
  };
  return { host, copies, programs, copyOf };
}

describe('many mounts of one directory', () => {
  test('become one, with the same files in it', () => {
    const { copies, programs, copyOf } = hostWithPrograms();
    const lib: Mount = { kind: 'readable', path: '/usr/lib/x' };
    const gathered = gatherMounts([...programs, lib], copies);
    expect(gathered.map(({ path }) => path)).toEqual(['/usr/bin', '/usr/lib/x']);
    const copy = copyOf(gathered, '/usr/bin');
    expect(readdirSync(copy).toSorted()).toEqual(['cat', 'ls', 'sed', 'wc']);
    expect(readFileSync(join(copy, 'sed'), 'utf8')).toBe('#!sed');
    // No set-uid bit comes along.
    expect(statSync(join(copy, 'sed')).mode & 0o7777).toBe(0o755);
  });

  test('are copied once, and again when one of them changed', () => {
    const { host, copies, programs, copyOf } = hostWithPrograms();
    const before = copyOf(gatherMounts(programs, copies), '/usr/bin');
    expect(copyOf(gatherMounts(programs, copies), '/usr/bin')).toBe(before);
    const replaced = host.write('new', 'another');
    renameSync(replaced, join(host.root, 'programs/ls'));
    const after = copyOf(gatherMounts(programs, copies), '/usr/bin');
    expect(after).not.toBe(before);
    expect(readFileSync(join(after, 'ls'), 'utf8')).toBe('another');
    // Something may still run with the old ones.
    expect(readFileSync(join(before, 'ls'), 'utf8')).toBe('#!ls');
  });

  test('that were copied long ago are removed', () => {
    const { host, copies, programs, copyOf } = hostWithPrograms();
    const before = copyOf(gatherMounts(programs, copies), '/usr/bin');
    const key = join(before, '../..');
    utimesSync(key, 0, 0);
    writeFileSync(join(host.root, 'programs/ls'), 'another');
    gatherMounts(programs, copies);
    expect(readdirSync(copies)).toHaveLength(1);
    expect(lstatSync(key, { throwIfNoEntry: false })).toBeUndefined();
  });

  test('stay as they are where they are few, or the place is mounted itself', () => {
    const { host, copies, programs } = hostWithPrograms();
    const few = programs.slice(0, 3);
    expect(gatherMounts(few, copies)).toEqual(few);
    const covered: Mount[] = [{ kind: 'readable', path: '/usr/bin', from: host.root }, ...programs];
    expect(gatherMounts(covered, copies)).toEqual(covered);
    expect(lstatSync(copies, { throwIfNoEntry: false })).toBeUndefined();
  });

  test('stay as they are where there is no room for copies', () => {
    const { host, programs } = hostWithPrograms();
    const blocked = host.write('a-file');
    expect(gatherMounts(programs, join(blocked, 'roots'))).toEqual(programs);
  });
});

describe('what is not copied', () => {
  test('is mounted on a place that is there: large programs, directories in memory, writable ones', () => {
    const { host, copies, programs, copyOf } = hostWithPrograms();
    const large: Mount = {
      kind: 'readable',
      path: '/usr/bin/node',
      from: host.write('programs/node', 'x'.repeat(9 * 1024 * 1024)),
    };
    const memory: Mount = { kind: 'memory', path: '/usr/bin/m' };
    const empty: Mount = { kind: 'empty', path: '/usr/bin/e' };
    const blank: Mount = { kind: 'blank', path: '/usr/bin/b' };
    const writable: Mount = { kind: 'writable', path: '/usr/bin/w', from: host.workspace };
    host.makeDirectory('home/project');
    const kept = [large, memory, empty, blank, writable];
    const gathered = gatherMounts([...programs, ...kept], copies);
    expect(gathered.slice(1)).toEqual(kept);
    const copy = copyOf(gathered, '/usr/bin');
    const kinds = Object.fromEntries(
      ['node', 'm', 'e', 'b', 'w'].map((name) => [name, statSync(join(copy, name)).isDirectory()]),
    );
    expect(kinds).toEqual({ node: false, m: true, e: true, b: false, w: true });
    expect(statSync(join(copy, 'node')).size).toBe(0);
  });
});

describe('directories of /etc', () => {
  test('come with what is in them, links as they are', () => {
    const { host, copies, copyOf } = hostWithPrograms();
    host.write('alternatives/deep/file', 'text');
    host.link('alternatives/vi', '/usr/bin/vim');
    const files = ['passwd', 'group', 'hosts'].map(
      (name): Mount => ({ kind: 'readable', path: `/etc/${name}`, from: host.write(`etc-${name}`, name) }),
    );
    const alternatives: Mount = {
      kind: 'readable',
      path: '/etc/alternatives',
      from: join(host.root, 'alternatives'),
    };
    const link: Mount = { kind: 'link', path: '/etc/mtab', target: '/proc/mounts' };
    const gathered = gatherMounts([...files, alternatives, link], copies);
    expect(gathered.map(({ path }) => path)).toEqual(['/etc']);
    const copy = copyOf(gathered, '/etc');
    expect(readFileSync(join(copy, 'alternatives/deep/file'), 'utf8')).toBe('text');
    expect(readlinkSync(join(copy, 'alternatives/vi'))).toBe('/usr/bin/vim');
    expect(readlinkSync(join(copy, 'mtab'))).toBe('/proc/mounts');
  });
});
