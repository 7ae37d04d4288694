/**
 * Minimal roots as they were found: two hundred programs are looked for in six directories each, which takes longer
 * than all the rest of a profile. They are looked for again when something came or went where they lie.
 */
import type { SecuritySettings } from '../../base/settings.ts';
import { list } from '../list.ts';
import { stampOf } from './host-files.ts';
import { minimalRoot, programRoot } from './minimal-root.ts';
import type { Mount } from './profile.ts';

/** Where they lie; what is only written to keeps its place, and copies of it are stamped one by one. */
const DIRECTORIES = list(`
  / /bin /sbin /lib /usr /usr/bin /usr/sbin /usr/lib /usr/share /usr/local/bin /usr/local/sbin
  /usr/local/lib /etc /etc/alternatives /etc/ssl /etc/pki
`);
/** Links lead to anywhere. */
const KEPT_MS = 60_000;
const MAX_KEPT = 16;

export function createRoots(directories: readonly string[] = DIRECTORIES) {
  const known = new Map<
    string,
    { readonly mounts: readonly Mount[]; readonly stamp: string; readonly atMs: number }
  >();
  return {
    /** Nothing where the host's own root is shown. */
    of(root: SecuritySettings['root'], programs: readonly string[]): readonly Mount[] {
      if (root === 'host') return [];
      const key = JSON.stringify([root, ...(root === 'programs' ? programs : [])]);
      const stamp = directories.map(stampOf).join('\n');
      const last = known.get(key);
      if (last?.stamp === stamp && performance.now() - last.atMs < KEPT_MS) return last.mounts;
      const mounts = root === 'programs' ? programRoot(programs) : minimalRoot();
      known.delete(key);
      known.set(key, { mounts, stamp, atMs: performance.now() });
      for (const oldest of [...known.keys()].slice(0, -MAX_KEPT)) known.delete(oldest);
      return mounts;
    },
    /** What was found is looked for again: something was wrong with it. */
    forget: (): void => known.clear(),
  };
}
