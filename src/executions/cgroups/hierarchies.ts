/**
 * Which cgroup trees there are and where in each of them this process is. Version 2 is one tree; version 1 has one for
 * each controller or a few together; a machine may have both at once, and a controller then belongs to one of them.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { readUtf8 } from '../../base/files.ts';
import { parseMounts } from '../mounts.ts';

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
  const mounts = parseMounts(mountInfo);
  return cgroups.split('\n').flatMap((line) => {
    const [, names, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (names === undefined || path === undefined) return [];
    const controllers = names.split(',').filter((name) => name !== '');
    const version = controllers.length === 0 ? 2 : 1;
    for (const { type, root, point, options } of mounts) {
      const offered = options.split(',');
      if (type !== TYPES[version] || !controllers.every((name) => offered.includes(name))) continue;
      const below = pathBelow(root, path);
      if (below !== undefined) return { version, controllers, own: join(point, below), mount: point };
    }
    return [];
  });
}

const TYPES = { 1: 'cgroup', 2: 'cgroup2' };

function pathBelow(root: string, path: string): string | undefined {
  // Outside of what the namespace shows.
  if (path.startsWith('/..')) return undefined;
  if (root === '/' || root === path) return root === path ? '/' : path;
  return path.startsWith(`${root}/`) ? path.slice(root.length) : undefined;
}

/** Small files of the kernel; undefined where there is none, or none for us. */
export const readText = (path: string): string | undefined => attempt(() => readUtf8(path).trim());

export function readWords(path: string): string[] {
  return (readText(path) ?? '').split(/\s+/).filter((word) => word !== '');
}

export function listDirectories(path: string): string[] {
  const entries = attempt(() => readdirSync(path, { withFileTypes: true })) ?? [];
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
}
