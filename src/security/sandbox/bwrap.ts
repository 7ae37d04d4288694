/** A profile as the options of bubblewrap. Pure: data in, argv out. */
import { type Mount, type Profile, WALL_FDS } from './profile.ts';

export interface BwrapFeatures {
  /** 0.8 and newer. */
  readonly disablesUserns: boolean;
}

/** Of the /proc that root could write to, though it has no capabilities: its owner is uid 0, and so is a root's command. */
const PROC_TREES = ['sys', 'irq', 'bus', 'fs', 'acpi', 'scsi'];

export function bwrapOptions(
  profile: Profile,
  options: { readonly features: BwrapFeatures; readonly hasSeccomp: boolean },
): string[] {
  const isHost = profile.root === 'host';
  return [
    '--unshare-user',
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup-try',
    ...(profile.network ? [] : ['--unshare-net']),
    ...(options.features.disablesUserns ? ['--disable-userns'] : []),
    '--cap-drop',
    'ALL',
    '--die-with-parent',
    ...(isHost ? ['--ro-bind', '/', '/'] : []),
    '--dev',
    '/dev',
    '--proc',
    '/proc',
    ...PROC_TREES.flatMap((name) => ['--ro-bind-try', `/proc/${name}`, `/proc/${name}`]),
    ...profile.procFiles.flatMap((path) => ['--ro-bind', '/dev/null', path]),
    '--size',
    String(profile.shmBytes),
    '--perms',
    '1777',
    '--tmpfs',
    '/dev/shm',
    '--remount-ro',
    '/dev',
    ...profile.mounts.flatMap(mountOptions),
    // Only now: what is mounted below them needed a place to be mounted on.
    ...profile.mounts.flatMap((mount) => (mount.kind === 'empty' ? ['--remount-ro', mount.path] : [])),
    ...(isHost ? [] : ['--remount-ro', '/']),
    ...(options.hasSeccomp ? ['--seccomp', String(WALL_FDS.seccomp)] : []),
    '--json-status-fd',
    String(WALL_FDS.status),
    '--block-fd',
    String(WALL_FDS.block),
  ];
}

function mountOptions(mount: Mount): string[] {
  switch (mount.kind) {
    case 'readable':
      return ['--ro-bind', mount.from ?? mount.path, mount.path];
    case 'writable':
      return ['--bind', mount.from ?? mount.path, mount.path];
    case 'memory':
      return [
        ...(mount.bytes === undefined ? [] : ['--size', String(mount.bytes)]),
        '--perms',
        '1777',
        '--tmpfs',
        mount.path,
      ];
    case 'empty':
      return ['--perms', '0755', '--tmpfs', mount.path];
    case 'blank':
      return ['--ro-bind', '/dev/null', mount.path];
    case 'link':
      return ['--symlink', mount.target, mount.path];
  }
}
