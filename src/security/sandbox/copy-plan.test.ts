import { describe, expect, test } from 'vitest';
import { PRESET_NAMES } from '../../base/config/presets.ts';
import { bwrapOptions } from './bwrap.ts';
import { createComparison, type MountCall, planCopy } from './copy-plan.ts';
import { createHost } from './sandbox.fixture.ts';

const BASE = ['--unshare-pid', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'];
const EMPTY = ['--perms', '0555', '--size', '4096', '--tmpfs'];
const MEMORY = ['--size', '1024', '--perms', '1777', '--tmpfs'];

const plan = (...options: string[]) => planCopy([...BASE, ...options], (path) => path === '/proc/sys');
const targetsOf = (mounts: readonly MountCall[] = []): string[] => mounts.map(([, target]) => target);

describe('a copy of a sandbox', () => {
  test('has processes, terminals and covers of its own', () => {
    expect(plan('--disable-userns', '--seccomp', '5')).toEqual({
      options: [...BASE, '--seccomp', '5'],
      mounts: [
        ['proc', '/proc', 'proc', 14, ''],
        ['/proc/sys', '/proc/sys', '', 4096, ''],
        ['', '/proc/sys', '', 4096 + 32 + 15, ''],
        ['devpts', '/dev/pts', 'devpts', 10, 'newinstance,ptmxmode=0666,mode=620'],
      ],
      hasNetwork: true,
      isLastUserNamespace: true,
    });
    expect(plan()?.isLastUserNamespace).toBe(false);
    expect(plan('--unshare-net')?.hasNetwork).toBe(false);
  });

  test('has memory of its own, and the same size of it', () => {
    expect(plan(...MEMORY, '/tmp', '--perms', '1777', '--tmpfs', '/dev/shm')?.mounts.slice(-2)).toEqual([
      ['tmpfs', '/tmp', 'tmpfs', 6, 'mode=1777,size=1024'],
      ['tmpfs', '/dev/shm', 'tmpfs', 6, 'mode=1777'],
    ]);
  });

  test('covers what the original covers in /proc, once', () => {
    const made = plan(
      ...EMPTY,
      '/proc/irq',
      '--ro-bind',
      '/proc/sys',
      '/proc/sys',
      '--ro-bind',
      '/dev/null',
      '/proc/keys',
    );
    expect(targetsOf(made?.mounts)).toEqual([
      '/proc',
      '/dev/pts',
      '/proc/irq',
      '/proc/sys',
      '/proc/sys',
      '/proc/keys',
      '/proc/keys',
    ]);
    expect(made?.mounts.find(([, target]) => target === '/proc/irq')?.[3]).toBe(7);
    expect(made?.options).not.toContain('--remount-ro');
  });

  test('shares empty directories, which nobody can then write to', () => {
    const options = [...EMPTY, '/home', '--bind', '/w', '/home/w', '--file', '9', '/run/x', ...EMPTY, '/run'];
    expect(plan(...options)?.options).toEqual([
      ...BASE,
      ...options,
      '--remount-ro',
      '/home',
      '--remount-ro',
      '/run',
    ]);
    // What covers one of them at the same place is not what is to be made read-only.
    expect(plan(...EMPTY, '/home', '--bind', '/w', '/home')?.options).not.toContain('--remount-ro');
  });

  test.for([
    [[...MEMORY, '/tmp', '--bind', '/w', '/tmp/w']],
    [[...MEMORY, '/tmp', '--bind', '/w', '/tmp']],
    [[...MEMORY, '/tmp', ...EMPTY, '/tmp/hidden']],
    [['--bind', '/w', '/proc/w']],
  ])('cannot be had where what is made anew would cover something: %s', ([options]) => {
    expect(plan(...(options ?? []))).toBeUndefined();
  });

  test('is not attempted where /proc or /dev are not its own', () => {
    expect(planCopy(['--ro-bind', '/', '/', '--dev', '/dev'], () => true)).toBeUndefined();
    expect(planCopy(['--ro-bind', '/', '/', '--proc', '/proc'], () => true)).toBeUndefined();
  });

  test.for(PRESET_NAMES)('of the preset %s shares nothing that can be written', (preset) => {
    const host = createHost();
    const profile = host.profile({ preset, isRoot: true, tmpDirectory: host.makeDirectory('tmp') });
    const options = bwrapOptions(profile, { disablesUserns: true, hasSeccomp: true });
    const made = planCopy(options, () => true);
    const isAnew = (path: string): boolean => targetsOf(made?.mounts).includes(path);
    const memory = options.filter((_, at) => options[at - 1] === '--tmpfs');
    expect(memory.filter((path) => !isAnew(path) && !made?.options.includes(path))).toEqual([]);
  });
});

describe('a table of mounts', () => {
  const line = (id: number, point: string, type = 'ext4'): string =>
    `${id} ${id - 1} 254:0 / ${point} ro,nosuid shared:1 - ${type} /dev/vda rw\n`;
  const original = line(1, '/') + line(2, '/home', 'tmpfs') + line(3, '/w');
  const proc: MountCall = ['proc', '/proc', 'proc', 14, ''];
  const remount: MountCall = ['', '/proc', '', 32, ''];

  test('is that of a faithful copy in any order', () => {
    const made = line(14, '/proc', 'proc');
    const isFaithful = createComparison([proc, remount]);
    expect(isFaithful(original, line(11, '/') + line(12, '/home', 'tmpfs') + line(13, '/w') + made)).toBe(
      true,
    );
    expect(isFaithful(original, line(11, '/') + made + line(13, '/w') + line(12, '/home', 'tmpfs'))).toBe(
      true,
    );
  });

  test.for([
    ['lacks one', line(11, '/') + line(13, '/w') + line(14, '/proc', 'proc')],
    ['lacks what is made anew', line(11, '/') + line(12, '/home', 'tmpfs') + line(13, '/w')],
    [
      'has another kind of it',
      line(11, '/') + line(12, '/home', 'tmpfs') + line(13, '/w') + line(14, '/proc'),
    ],
    [
      'has another one',
      line(11, '/') +
        line(12, '/home', 'tmpfs') +
        line(13, '/w') +
        line(14, '/proc', 'proc') +
        line(15, '/x'),
    ],
    [
      'shows another place',
      line(11, '/') + line(12, '/home', 'tmpfs') + line(13, '/v') + line(14, '/proc', 'proc'),
    ],
    [
      'is writable',
      (line(11, '/') + line(12, '/home', 'tmpfs') + line(13, '/w')).replace('ro,', 'rw,') +
        line(14, '/proc', 'proc'),
    ],
    ['is empty', ''],
  ])('that %s is not', ([, table]) => {
    const isFaithful = createComparison([proc]);
    expect(isFaithful(original, table ?? '')).toBe(false);
    const others = line(21, '/') + line(22, '/home', 'tmpfs') + line(23, '/w');
    const device = (number: number): string => line(24, '/proc', 'proc').replace('254:0', `0:${number}`);
    expect(isFaithful(original, others + device(31))).toBe(true);
    expect(isFaithful(original, table ?? '')).toBe(false);
    // Of the same order as the last one: what is made anew has a device of its own, and nothing else may.
    expect(isFaithful(original, others + device(32))).toBe(true);
    expect(isFaithful(original, others.replace('254:0', '254:1') + device(33))).toBe(false);
    expect(isFaithful(original + line(4, '/y'), others + device(34))).toBe(false);
  });
});
