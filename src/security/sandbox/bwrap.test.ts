import { describe, expect, test } from 'vitest';
import { PRESET_NAMES, PRESETS } from '../../base/config/presets.ts';
import { bwrapOptions } from './bwrap.ts';
import type { Mount, Profile } from './profile.ts';
import { createHost } from './sandbox.fixture.ts';

const MIB = 1024 * 1024;

function profileOf(changes: Partial<Profile> = {}): Profile {
  return {
    root: 'host',
    mounts: [],
    pinned: [],
    kept: [],
    writable: [],
    network: true,
    coversProc: false,
    procTrees: [],
    procFiles: [],
    shmBytes: 256 * MIB,
    ...changes,
  };
}

const NEW = { disablesUserns: true, hasSeccomp: true };
const OLD = { disablesUserns: false, hasSeccomp: false };

/** One line for each option with its values, as a person would type them. */
function typed(options: readonly string[]): string[] {
  const lines: string[] = [];
  for (const word of options) {
    if (word.startsWith('--')) lines.push(word);
    else lines[lines.length - 1] += ` ${word}`;
  }
  return lines;
}

const optionsOf = (profile: Profile, options = NEW): string[] => typed(bwrapOptions(profile, options));

describe('the options of bubblewrap', () => {
  test('around the host’s root', () => {
    expect(
      optionsOf(
        profileOf({
          mounts: [
            { kind: 'empty', path: '/home' },
            { kind: 'writable', path: '/tmp', from: '/state/tmp' },
            { kind: 'writable', path: '/home/me/project' },
            { kind: 'readable', path: '/home/me/project/.git/config' },
            { kind: 'blank', path: '/home/me/.netrc' },
          ],
        }),
      ),
    ).toEqual([
      '--unshare-user',
      '--unshare-pid',
      '--unshare-ipc',
      '--unshare-uts',
      '--unshare-cgroup-try',
      '--disable-userns',
      '--cap-drop ALL',
      '--die-with-parent',
      '--ro-bind / /',
      '--dev /dev',
      '--proc /proc',
      `--size ${256 * MIB}`,
      '--perms 1777',
      '--tmpfs /dev/shm',
      '--remount-ro /dev',
      '--perms 0555',
      '--size 4096',
      '--tmpfs /home',
      '--bind /state/tmp /tmp',
      '--bind /home/me/project /home/me/project',
      '--ro-bind /home/me/project/.git/config /home/me/project/.git/config',
      '--ro-bind /dev/null /home/me/.netrc',
      '--seccomp 5',
    ]);
  });

  test('around an empty root, without a network', () => {
    expect(
      optionsOf(
        profileOf({
          root: 'empty',
          network: false,
          shmBytes: 64 * MIB,
          mounts: [
            { kind: 'readable', path: '/usr' },
            { kind: 'link', path: '/bin', target: 'usr/bin' },
            { kind: 'readable', path: '/etc/passwd', from: '/etc/real' },
            { kind: 'memory', path: '/tmp', bytes: 256 * MIB },
          ],
        }),
        OLD,
      ),
    ).toEqual([
      '--unshare-user',
      '--unshare-pid',
      '--unshare-ipc',
      '--unshare-uts',
      '--unshare-cgroup-try',
      '--unshare-net',
      '--cap-drop ALL',
      '--die-with-parent',
      '--dev /dev',
      '--proc /proc',
      `--size ${64 * MIB}`,
      '--perms 1777',
      '--tmpfs /dev/shm',
      '--remount-ro /dev',
      '--ro-bind /usr /usr',
      '--symlink usr/bin /bin',
      '--ro-bind /etc/real /etc/passwd',
      `--size ${256 * MIB}`,
      '--perms 1777',
      '--tmpfs /tmp',
      '--remount-ro /',
    ]);
  });

  test('for root cover what of /proc it owns, after /proc is mounted', () => {
    const options = optionsOf(
      profileOf({ coversProc: true, procTrees: ['/proc/irq'], procFiles: ['/proc/kcore'] }),
    );
    const from = options.indexOf('--proc /proc');
    expect(options.slice(from, from + 6)).toEqual([
      '--proc /proc',
      '--perms 0555',
      '--size 4096',
      '--tmpfs /proc/irq',
      '--ro-bind /proc/sys /proc/sys',
      '--ro-bind /dev/null /proc/kcore',
    ]);
  });

  test('keep memory without a limit without one', () => {
    const options = optionsOf(profileOf({ mounts: [{ kind: 'memory', path: '/tmp', bytes: undefined }] }));
    expect(options.slice(options.indexOf('--remount-ro /dev') + 1).slice(0, 2)).toEqual([
      '--perms 1777',
      '--tmpfs /tmp',
    ]);
  });

  test('keep the order of mounts, since a later one covers an earlier one', () => {
    const kinds: Mount[] = Array.from({ length: 40 }, (_, index) =>
      index % 3 === 0
        ? { kind: 'empty', path: `/m/${index}` }
        : { kind: index % 3 === 1 ? 'readable' : 'writable', path: `/m/${index}` },
    );
    const points = bwrapOptions(profileOf({ mounts: kinds }), NEW).filter((word) => word.startsWith('/m/'));
    expect([...new Set(points)]).toEqual(kinds.map(({ path }) => path));
  });

  test('take a path as it is, whatever is in it', () => {
    for (const path of ['/a b', '/--bind', '/$(id)', '/new\nline', '/ü', "/quo'te", '/-']) {
      expect(bwrapOptions(profileOf({ mounts: [{ kind: 'writable', path }] }), NEW).join('\0')).toContain(
        ['--bind', path, path].join('\0'),
      );
    }
  });

  const always = [
    '--unshare-user',
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--cap-drop ALL',
    '--die-with-parent',
    '--proc /proc',
    '--dev /dev',
    '--remount-ro /dev',
  ];
  test.for(PRESET_NAMES)('of the preset %s leave nothing out', (preset) => {
    const host = createHost();
    const options = optionsOf(host.profile({ preset }));
    expect(options).toEqual(expect.arrayContaining(always));
    expect(options.includes('--unshare-net')).toBe(!PRESETS[preset].network);
    expect(options.includes('--ro-bind / /')).toBe(preset === 'development');
    expect(options.includes('--remount-ro /')).toBe(preset !== 'development');
    expect(options.includes(`--bind ${host.workspace} ${host.workspace}`)).toBe(true);
    // Nothing of the host's is writable but what was asked for.
    const writable = options.filter((line) => line.startsWith('--bind '));
    expect(writable).toEqual([`--bind ${host.workspace} ${host.workspace}`]);
    expect(options.filter((line) => line.startsWith('--dev-bind'))).toEqual([]);
  });

  test('name a seccomp descriptor only where there is a filter', () => {
    expect(optionsOf(profileOf(), { ...NEW, hasSeccomp: false }).join(' ')).not.toContain('--seccomp');
    expect(optionsOf(profileOf(), { ...OLD, hasSeccomp: true })).toContain('--seccomp 5');
    expect(optionsOf(profileOf(), OLD).join(' ')).not.toContain('--disable-userns');
  });
});
