/**
 * Which cgroup trees there are and where in each of them this process is. Version 2 is one tree; version 1 has one for
 * each controller or a few together; a machine may have both at once, and a controller then belongs to one of them.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Hierarchy {
  readonly version: 1 | 2;
  /** What can be limited or measured there. */
  readonly controllers: readonly string[];
  /** The directory of the group that this process is in. */
  readonly own: string;
  readonly mount: string;
}

export function findHierarchies(): Hierarchy[] {
  if (process.platform !== 'linux') return [];
  const cgroups = readText('/proc/self/cgroup');
  const mounts = readText('/proc/self/mountinfo');
  if (cgroups === undefined || mounts === undefined) return [];
  return parseHierarchies(cgroups, mounts)
    .filter(({ own }) => existsSync(own))
    .map((found) =>
      found.version === 1
        ? found
        : { ...found, controllers: readWords(join(found.own, 'cgroup.controllers')) },
    );
}

/** From the texts of /proc/self/cgroup and /proc/self/mountinfo. The controllers of version 2 stand in a file. */
export function parseHierarchies(cgroups: string, mountInfo: string): Hierarchy[] {
  const mounts = mountInfo.split('\n').flatMap((line) => parseMount(line) ?? []);
  return cgroups.split('\n').flatMap((line) => {
    const [, names, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (names === undefined || path === undefined) return [];
    const controllers = names.split(',').filter((name) => name !== '');
    const version = controllers.length === 0 ? 2 : 1;
    for (const mount of mounts) {
      if (mount.version !== version || !controllers.every((name) => mount.options.includes(name))) continue;
      const below = pathBelow(mount.root, path);
      if (below !== undefined)
        return { version, controllers, own: join(mount.point, below), mount: mount.point };
    }
    return [];
  });
}

interface Mount {
  readonly version: 1 | 2;
  /** The group that is seen at the mount point: a container may be shown its own part only. */
  readonly root: string;
  readonly point: string;
  readonly options: readonly string[];
}

function parseMount(line: string): Mount | undefined {
  const [, root, point, type, options] =
    /^\S+ \S+ \S+ (\S+) (\S+) .*?- (cgroup2?) \S+ (\S+)$/.exec(line) ?? [];
  if (root === undefined || point === undefined || options === undefined) return undefined;
  return {
    version: type === 'cgroup2' ? 2 : 1,
    root: unescape(root),
    point: unescape(point),
    options: options.split(','),
  };
}

/** Spaces and the like are written as octal numbers there. */
function unescape(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, code: string) =>
    String.fromCodePoint(Number.parseInt(code, 8)),
  );
}

function pathBelow(root: string, path: string): string | undefined {
  // Outside of what the namespace shows.
  if (path.startsWith('/..')) return undefined;
  if (root === '/' || root === path) return root === path ? '/' : path;
  return path.startsWith(`${root}/`) ? path.slice(root.length) : undefined;
}

/** Small files of the kernel; undefined where there is none, or none for us. */
export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

export function readWords(path: string): string[] {
  return (readText(path) ?? '').split(/\s+/).filter((word) => word !== '');
}

export function listDirectories(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [entry.name] : [],
    );
  } catch {
    return [];
  }
}
