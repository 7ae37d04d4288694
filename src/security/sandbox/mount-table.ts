/**
 * What is mounted where: one mount a place, outer places before inner ones. And pins: what is mounted inside a writable
 * directory has every directory in between mounted on itself, since it could otherwise be moved away, with the mount
 * below it, and replaced.
 */
import { dirname } from 'node:path';
import { kindOf } from './look.ts';
import type { Mount } from './profile.ts';

export interface MountTable {
  /** The last of one place counts. */
  put(mounts: readonly Mount[]): void;
  remove(isGone: (path: string) => boolean): void;
  /** Whether a path can be written to, as the mounts around it are. */
  isWritable(path: string): boolean;
  /** `placeOf` says where a directory lies that has another path on the host. */
  pin(placeOf?: (path: string) => string | undefined): void;
  list(): Mount[];
}

export function createMountTable(): MountTable {
  const mounts = new Map<string, Mount>();

  /** The mount that a path lies in; a place itself counts where it is mounted. */
  function around(path: string): Mount | undefined {
    for (let place = path; ; place = dirname(place)) {
      const mount = mounts.get(place);
      if (mount !== undefined || place === dirname(place)) return mount;
    }
  }

  const isOpen = (mount: Mount | undefined): boolean =>
    mount?.kind === 'writable' || mount?.kind === 'memory';

  return {
    put(added) {
      for (const mount of added) mounts.set(mount.path, mount);
    },
    remove(isGone) {
      for (const path of mounts.keys()) if (isGone(path)) mounts.delete(path);
    },
    isWritable: (path) => isOpen(around(path)),
    pin(placeOf = () => undefined) {
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
          if (around(parent)?.kind !== 'writable') continue;
          const place = placeOf(parent);
          if (place !== undefined) mounts.set(parent, { kind: 'writable', path: parent, from: place });
          else if (kindOf(parent) === 'directory') mounts.set(parent, { kind: 'writable', path: parent });
        }
      }
    },
    list() {
      const byDepth: Mount[][] = [];
      for (const mount of mounts.values()) (byDepth[depth(mount.path)] ??= []).push(mount);
      return byDepth.flat();
    },
  };
}

const depth = (path: string): number => path.split('/').length;
