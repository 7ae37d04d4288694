import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { findExchangedMount, findUnexpectedMount, parseMounts } from './mounts.ts';

/** The table of the host: one disk, another for homes, and memory. */
const HOST = [
  '22 1 254:0 / / rw,relatime - ext4 /dev/vda rw',
  '23 22 254:1 / /home rw,relatime shared:5 - ext4 /dev/vdb rw',
  '24 22 0:30 / /dev/shm rw - tmpfs tmpfs rw',
  '26 22 0:21 / /proc rw - proc proc rw',
  '25 22 0:40 /vol/data /mnt/data rw master:1 propagate_from:2 - btrfs /dev/vdc rw,subvol=/vol/data',
].join('\n');

const table = (...lines: string[]): string => `${lines.join('\n')}\n`;
/** One line as the kernel writes it. */
const mounted = (point: string, root: string, device = '254:1', type = 'ext4'): string =>
  `90 80 ${device} ${root} ${point} ro,nosuid - ${type} /dev/x rw`;
/** A /proc of its own, by which the new root is known. */
const LAST = mounted('/proc', '/', '0:99', 'proc');

function findIn(inside: string, pinned: readonly { path: string; source: string | undefined }[]) {
  return findUnexpectedMount(inside, { pinned }, HOST);
}

describe('the kernel’s table', () => {
  test('is read with and without optional fields', () => {
    expect(parseMounts(HOST)).toEqual([
      { root: '/', point: '/', type: 'ext4', device: '254:0', options: 'rw' },
      { root: '/', point: '/home', type: 'ext4', device: '254:1', options: 'rw' },
      { root: '/', point: '/dev/shm', type: 'tmpfs', device: '0:30', options: 'rw' },
      { root: '/', point: '/proc', type: 'proc', device: '0:21', options: 'rw' },
      {
        root: '/vol/data',
        point: '/mnt/data',
        type: 'btrfs',
        device: '0:40',
        options: 'rw,subvol=/vol/data',
      },
    ]);
  });

  test.for([
    [String.raw`/with\040space`, '/with space'],
    [String.raw`/tab\011and\012line`, '/tab\tand\nline'],
    [String.raw`/back\134slash`, '/back\\slash'],
    [String.raw`/not\134040space`, String.raw`/not\040space`],
    [String.raw`/hash\043`, '/hash#'],
    ['/ünïcode', '/ünïcode'],
    [String.raw`/ü\040ö`, '/ü ö'],
    [String.raw`/\303\274`, '/ü'],
    [String.raw`/end\04`, String.raw`/end\04`],
  ])('has %s for %s', ([written = '', path]) => {
    const [entry] = parseMounts(mounted(written, written));
    expect(entry).toMatchObject({ point: path, root: path });
  });

  test('is read where a path has a dash between spaces', () => {
    const point = String.raw`/a\040-\040b`;
    expect(parseMounts(mounted(point, '/x'))).toEqual([
      { root: '/x', point: '/a - b', type: 'ext4', device: '254:1', options: 'rw' },
    ]);
  });

  test('of this machine is read to its last line', () => {
    const text = readFileSync('/proc/self/mountinfo', 'utf8');
    expect(parseMounts(text)).toHaveLength(text.trimEnd().split('\n').length);
  });

  test('may be empty or broken', () => {
    expect(parseMounts('')).toEqual([]);
    expect(parseMounts('\n\nnonsense\n1 2 3\n')).toEqual([]);
  });
});

describe('mounts that are still being made', () => {
  test('are waited for', () => {
    expect(findIn('', [])).toBeNull();
    expect(findIn(table(mounted('/home/me/project', '/me/project')), [])).toBeNull();
    expect(
      findIn(table(mounted('/home/me/project', '/me/evil')), [{ path: '/home/me/project', source: '/x' }]),
    ).toBeNull();
  });

  test('are done with the last one', () => {
    expect(findIn(table(LAST), [])).toBeUndefined();
  });
});

describe('a mount of the host’s', () => {
  const pin = { path: '/home/me/project/.git', source: '/home/me/project/.git' };

  test('that shows what it should is fine', () => {
    expect(findIn(table(mounted(pin.path, '/me/project/.git'), LAST), [pin])).toBeUndefined();
  });

  test.for([
    ['another directory', mounted(pin.path, '/me/evil')],
    ['a directory below', mounted(pin.path, '/me/project/.git/hooks')],
    ['a directory above', mounted(pin.path, '/me/project')],
    ['another disk', mounted(pin.path, '/me/project/.git', '254:0')],
    ['memory', mounted(pin.path, '/', '0:99', 'tmpfs')],
    ['nothing at all', ''],
    ['the right thing in another place', mounted('/home/me/evil/.git', '/me/project/.git')],
  ])('that shows %s is found', ([, line = '']) => {
    expect(findIn(table(line, LAST), [pin])).toBe(pin.path);
  });

  test('may be shown in another place than its own', () => {
    const elsewhere = { path: '/tmp/sub', source: '/home/me/.state/tmp/sub' };
    expect(findIn(table(mounted('/tmp/sub', '/me/.state/tmp/sub'), LAST), [elsewhere])).toBeUndefined();
    expect(findIn(table(mounted('/tmp/sub', '/tmp/sub', '254:0'), LAST), [elsewhere])).toBe('/tmp/sub');
  });

  test('is compared by what is on top, as is the last of several', () => {
    const right = mounted(pin.path, '/me/project/.git');
    const wrong = mounted(pin.path, '/me/evil');
    expect(findIn(table(right, wrong, LAST), [pin])).toBe(pin.path);
    expect(findIn(table(wrong, right, LAST), [pin])).toBeUndefined();
  });

  test('is the whole of a disk, a part of one, or a volume', () => {
    for (const [source, root, device] of [
      ['/home', '/', '254:1'],
      ['/', '/', '254:0'],
      ['/usr/lib', '/usr/lib', '254:0'],
      ['/homes/x', '/homes/x', '254:0'],
      ['/mnt/data', '/vol/data', '0:40'],
      ['/mnt/data/set', '/vol/data/set', '0:40'],
      ['/dev/shm/a b', String.raw`/a\040b`, '0:30'],
    ] as const) {
      const inside = table(mounted('/shown', root, device), LAST);
      expect(findIn(inside, [{ path: '/shown', source }]), source).toBeUndefined();
    }
  });

  test('on a mount point that was mounted over counts as the later one', () => {
    const host = `${HOST}\n26 22 254:7 / /home rw - ext4 /dev/vde rw`;
    const inside = table(mounted('/shown', '/me', '254:7'), LAST);
    const pinned = [{ path: '/shown', source: '/home/me' }];
    expect(findUnexpectedMount(inside, { pinned }, host)).toBeUndefined();
  });

  test('is the first of several that is wrong', () => {
    const pins = ['a', 'b', 'c'].map((name) => ({ path: `/home/${name}`, source: `/home/${name}` }));
    const inside = table(mounted('/home/a', '/a'), mounted('/home/b', '/x'), mounted('/home/c', '/x'), LAST);
    expect(findIn(inside, pins)).toBe('/home/b');
  });
});

describe('a mount with nothing of the host’s', () => {
  const pin = { path: '/home/me/.ssh', source: undefined };

  test.for([
    ['memory', mounted(pin.path, '/', '0:99', 'tmpfs'), undefined],
    ['the file of which nothing can be read', mounted(pin.path, '/null', '0:6', 'devtmpfs'), undefined],
    ['a directory of the host’s', mounted(pin.path, '/me/.ssh'), pin.path],
    ['nothing', '', pin.path],
  ] as const)('shows %s', ([, line, expected]) => {
    expect(findIn(table(line, LAST), [pin])).toBe(expected);
  });
});

describe('what was exchanged since', () => {
  const options = [
    '--bind',
    '/home/me/project',
    '/home/me/project',
    '--ro-bind',
    '/x/empty',
    '/home/me/.netrc',
  ];
  const covers = ['--perms', '0555', '--size', '4096', '--tmpfs', '/home/me/.aws'];
  const work = mounted('/home/me/project', '/me/project');
  const file = mounted('/home/me/.netrc', '/x/empty', '254:0');
  const cover = mounted('/home/me/.aws', '/', '0:77', 'tmpfs');
  const find = (...lines: string[]): string | undefined =>
    findExchangedMount(table(...lines), { options: [...options, ...covers] }, HOST);

  test.for<[what: string, found: string | undefined, lines: string[]]>([
    ['nothing', undefined, [work, file, cover]],
    ['a cover is gone', '/home/me/.netrc', [work, cover]],
    ['a directory is no longer covered', '/home/me/.aws', [work, file]],
    ['it was moved away', '/home/me/project', [mounted('/home/me/project', '/me/project.old'), file, cover]],
    [
      'it was removed',
      '/home/me/project',
      [mounted('/home/me/project', '/me/project//deleted'), file, cover],
    ],
    ['a copy was removed', '/home/me/.netrc', [work, mounted('/home/me/.netrc', '/x/empty//deleted'), cover]],
    [
      'it is on another disk',
      '/home/me/project',
      [mounted('/home/me/project', '/me/project', '254:9'), file, cover],
    ],
  ])('%s', ([, found, lines]) => {
    expect(find(...lines)).toBe(found);
  });
});
