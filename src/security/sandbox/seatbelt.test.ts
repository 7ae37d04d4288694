import { expect, test } from 'vitest';
import type { Mount, Profile } from './profile.ts';
import { seatbeltProfile } from './seatbelt.ts';

function textOf(mounts: readonly Mount[], network = true): string[] {
  const profile: Profile = {
    root: 'host',
    mounts,
    pinned: [],
    kept: [],
    writable: [],
    network,
    coversProc: false,
    procTrees: [],
    procFiles: [],
    shmBytes: 0,
  };
  return seatbeltProfile(profile).split('\n');
}

const BEFORE = [
  '(version 1)',
  '(allow default)',
  '(deny file-write*)',
  '(allow file-write* (literal "/dev/null"))',
  '(allow file-write* (literal "/dev/zero"))',
  '(allow file-write* (literal "/dev/tty"))',
  '(allow file-write* (literal "/dev/dtracehelper"))',
  '(allow file-write* (literal "/dev/stdout"))',
  '(allow file-write* (literal "/dev/stderr"))',
  '(allow file-write* (regex #"^/dev/(ttys|fd/)"))',
];
const AFTER = [
  '(deny process-info* (target others))',
  '(allow process-info* (target same-sandbox))',
  '(deny signal (target others))',
  '(allow signal (target same-sandbox))',
  '',
];
const between = (lines: readonly string[]): string[] => lines.slice(BEFORE.length, -AFTER.length);

test('a profile is rules in the order of its mounts, the last of which decides', () => {
  const lines = textOf([
    { kind: 'memory', path: '/tmp' },
    { kind: 'writable', path: '/Users/me/project' },
    { kind: 'readable', path: '/Users/me/project/.git/hooks' },
    { kind: 'empty', path: '/Users/me/.ssh' },
    { kind: 'blank', path: '/Users/me/.netrc' },
    { kind: 'readable', path: '/Users/me/.ssh/known_hosts' },
    { kind: 'link', path: '/bin', target: 'usr/bin' },
  ]);
  expect(lines).toEqual([
    ...BEFORE,
    '(allow file-read* file-write* (subpath "/tmp"))',
    '(allow file-read* file-write* (subpath "/Users/me/project"))',
    '(allow file-read* (subpath "/Users/me/project/.git/hooks"))',
    '(deny file-write* (subpath "/Users/me/project/.git/hooks"))',
    '(deny file-read* file-write* (subpath "/Users/me/.ssh"))',
    '(deny file-read* file-write* (subpath "/Users/me/.netrc"))',
    '(allow file-read* (subpath "/Users/me/.ssh/known_hosts"))',
    '(deny file-write* (subpath "/Users/me/.ssh/known_hosts"))',
    ...AFTER,
  ]);
});

test('without a network nothing but sockets of the machine’s own', () => {
  expect(between(textOf([], false))).toEqual([
    '(deny network*)',
    '(allow network* (local unix-socket))',
    '(deny system-socket)',
  ]);
  expect(between(textOf([]))).toEqual([]);
});

test('what would be another file inside cannot be read: there is no mounting', () => {
  expect(between(textOf([{ kind: 'readable', path: '/Users/me/.npmrc', from: '/state/copy' }]))).toEqual([
    '(deny file-read* file-write* (subpath "/Users/me/.npmrc"))',
  ]);
  expect(between(textOf([{ kind: 'readable', path: '/etc/x', from: '/etc/x' }]))).toEqual([
    '(allow file-read* (subpath "/etc/x"))',
    '(deny file-write* (subpath "/etc/x"))',
  ]);
});

test.for([
  ['/a "b"', String.raw`"/a \"b\""`],
  ['/a\\b', String.raw`"/a\\b"`],
  ['/a\\"b', String.raw`"/a\\\"b"`],
  ['/a")(allow file-write* (subpath "/', String.raw`"/a\")(allow file-write* (subpath \"/"`],
  ['/with space (and) brackets', '"/with space (and) brackets"'],
  ['/ünïcode', '"/ünïcode"'],
])('a path is one string, whatever is in it: %s', ([path = '', quoted]) => {
  expect(between(textOf([{ kind: 'empty', path }]))).toEqual([
    `(deny file-read* file-write* (subpath ${quoted}))`,
  ]);
});
