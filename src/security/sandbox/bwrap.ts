/** A profile as the options of bubblewrap. Pure: data in, argv out. */
import { dirname } from 'node:path';
import { list } from '../list.ts';
import { type Mount, type Profile, SANDBOX_FDS, SANDBOX_FILE } from './profile.ts';

/** `disablesUserns`: 0.8 and newer can. */
export function bwrapOptions(
  profile: Profile,
  options: { readonly disablesUserns: boolean; readonly hasSeccomp: boolean },
): string[] {
  const isHost = profile.root === 'host';
  return [
    ...list('--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try'),
    ...(profile.network ? [] : ['--unshare-net']),
    ...(options.disablesUserns ? ['--disable-userns'] : []),
    ...list('--cap-drop ALL --die-with-parent'),
    ...(isHost ? ['--ro-bind', '/', '/'] : []),
    ...list('--dev /dev --proc /proc'),
    ...profile.procTrees.flatMap(emptyOptions),
    ...(profile.coversProc ? ['--ro-bind', '/proc/sys', '/proc/sys'] : []),
    ...profile.procFiles.flatMap((path) => ['--ro-bind', '/dev/null', path]),
    ...memoryOptions('/dev/shm', profile.shmBytes),
    ...list('--remount-ro /dev'),
    ...profile.mounts.flatMap(mountOptions),
    ...(hasOwnRun(profile) ? ['--file', String(SANDBOX_FDS.empty), SANDBOX_FILE] : []),
    ...(isHost ? [] : ['--remount-ro', '/']),
    ...(options.hasSeccomp ? ['--seccomp', String(SANDBOX_FDS.seccomp)] : []),
  ];
}

/** Elsewhere the file would be left on the host. */
const hasOwnRun = ({ mounts }: Profile): boolean =>
  mounts.some(({ kind, path }) => kind === 'empty' && path === dirname(SANDBOX_FILE));

function mountOptions(mount: Mount): string[] {
  switch (mount.kind) {
    case 'readable':
      return ['--ro-bind', mount.from ?? mount.path, mount.path];
    case 'writable':
      return ['--bind', mount.from ?? mount.path, mount.path];
    case 'memory':
      return memoryOptions(mount.path, mount.bytes);
    case 'empty':
      return emptyOptions(mount.path);
    case 'blank':
      return ['--ro-bind', '/dev/null', mount.path];
    case 'link':
      return ['--symlink', mount.target, mount.path];
  }
}

function memoryOptions(path: string, bytes: number | undefined): string[] {
  return [...(bytes === undefined ? [] : ['--size', String(bytes)]), '--perms', '1777', '--tmpfs', path];
}

/** Not remounted read-only: that takes ten times as long, and one page of memory is all that could be had. */
function emptyOptions(path: string): string[] {
  return ['--perms', '0555', '--size', '4096', '--tmpfs', path];
}
