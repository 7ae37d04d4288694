/**
 * What is mounted where: one mount a place, outer places before inner ones. And pins: what is mounted inside a writable
 * directory has every directory in between mounted on itself, since it could otherwise be moved away, with the mount
 * below it, and replaced.
 */
import { dirname, join, relative } from 'node:path';
import { kindOf } from './host-files.ts';
import type { Mount } from './profile.ts';
import { makePlain } from './state-files.ts';

export function createMountTable() {
  const mounts = new Map<string, Mount>();

  /** The mount that a path lies in; a place itself counts where it is mounted. */
  function around(path: string): Mount | undefined {
    for (let place = path; ; place = dirname(place)) {
      const mount = mounts.get(place);
      if (mount !== undefined || place === dirname(place)) return mount;
    }
  }

  return {
    /** The last of one place counts. */
    put(added: readonly Mount[]): void {
      for (const mount of added) mounts.set(mount.path, mount);
    },
    remove(isGone: (path: string) => boolean): void {
      for (const path of mounts.keys()) if (isGone(path)) mounts.delete(path);
    },
    /** Whether a path can be written to, as the mounts around it are. */
    isWritable(path: string): boolean {
      const kind = around(path)?.kind;
      return kind === 'writable' || kind === 'memory';
    },
    /** Whether something else than the host's directory is around a path. */
    isOther(path: string): boolean {
      const mount = around(path);
      return mount?.kind === 'memory' || (mount?.kind === 'writable' && mount.from !== undefined);
    },
    pin(): void {
      const places = [...mounts.keys()];
      for (const path of places) {
        const between: string[] = [];
        for (
          let parent = dirname(path);
          !mounts.has(parent) && parent !== dirname(parent);
          parent = dirname(parent)
        )
          between.unshift(parent);
        // Outer ones first: an inner one may only be looked at when those around it are known to be no links.
        for (const parent of between) {
          const outer = around(parent);
          if (outer?.kind !== 'writable') continue;
          // Only what is right inside a mount with another source lies there: a workspace below /tmp does not.
          if (outer.from !== undefined) {
            const from = makePlain(join(outer.from, relative(outer.path, parent)));
            mounts.set(parent, { kind: 'writable', path: parent, from });
          } else if (kindOf(parent) === 'directory') mounts.set(parent, { kind: 'writable', path: parent });
        }
      }
    },
    list(): Mount[] {
      const byDepth: Mount[][] = [];
      for (const mount of mounts.values()) (byDepth[depth(mount.path)] ??= []).push(mount);
      return byDepth.flat();
    },
  };
}

const depth = (path: string): number => path.split('/').length;
