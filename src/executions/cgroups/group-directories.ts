/**
 * The directories in which this server makes its groups: one in each tree that has something to offer. Nothing that
 * others rely on is changed: controllers are only ever added, and our own group keeps the limits that it has.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { succeeds } from '../../base/attempt.ts';
import { errnoOf } from '../../base/errors.ts';
import { findProcess, isAlive } from '../process-table.ts';
import type { GroupDirectory } from './control-files.ts';
import { enforcementOf, type TreeLimits, writeLimits } from './controls.ts';
import { createGroup, type ExecutionGroup, removeQuietly, removeWithInner, tryWrite } from './group.ts';
import { type Hierarchy, listDirectories, readText, readWords } from './hierarchies.ts';
import { OWN_SCOPE } from './user-scope.ts';

export interface Place {
  readonly version: 1 | 2;
  readonly directory: string;
  /** What groups in it can be limited by. */
  readonly controllers: readonly string[];
  /** Names of the files that a group in it has, once they are known. */
  readonly files?: ReadonlySet<string>;
}

/** Empty directories of servers that were killed; what is still populated cannot be removed. */
export function removeAbandoned(parent: string): void {
  for (const name of listDirectories(parent)) {
    const [, pid, startTime] = /^mcp-shell-(\d+)-(\d+)(?:-server)?$/.exec(name) ?? [];
    if (pid === undefined || isAlive({ pid: Number(pid), startTime: Number(startTime) })) continue;
    removeWithInner(join(parent, name));
  }
}

/** Makes the directory; undefined where that is not ours to do. */
export function makePlace(hierarchy: Hierarchy, name: string, wanted: readonly string[]): Place | undefined {
  return hierarchy.version === 1 ? makeSplit(hierarchy, name, wanted) : makeUnified(hierarchy, name, wanted);
}

/** A group that is in all of these places at once. */
export function makeGroup(places: readonly Place[], name: string, limits: TreeLimits): ExecutionGroup {
  const directories = makeDirectories(places, name);
  for (const directory of directories) writeLimits(directory, limits);
  const held = enforcementOf(directories, limits);
  return createGroup(directories, () => held);
}

export function makeDirectories(places: readonly Place[], name: string): GroupDirectory[] {
  return places.map((place): GroupDirectory => {
    const path = join(place.directory, name);
    try {
      mkdirSync(path);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error;
      restorePlace(place);
      mkdirSync(path);
    }
    return { path, version: place.version, files: place.files };
  });
}

/** A server that cannot see our process may have removed it as a dead one's. */
function restorePlace({ directory, version, controllers }: Place): void {
  mkdirSync(directory);
  if (version === 2) enable(directory, controllers);
}

function makeSplit(hierarchy: Hierarchy, name: string, wanted: readonly string[]): Place | undefined {
  const controllers = hierarchy.controllers.filter((controller) => wanted.includes(controller));
  const directory = join(hierarchy.own, name);
  if (controllers.length === 0 || !tryMake(directory)) return undefined;
  // Before Linux 5.11 a group inside another did not count against it.
  if (controllers.includes('memory')) tryWrite(join(directory, 'memory.use_hierarchy'), '1');
  return { version: 1, directory, controllers };
}

/**
 * A group hands controllers down only while it has no processes itself, and ours has one: this server. It is the
 * machine's first group, which may have both; or the server steps aside, if nobody else is in there; or ours is made
 * beside our own. Where none of it can be done, a group below our own still has a list of members.
 */
function makeUnified(hierarchy: Hierarchy, name: string, wanted: readonly string[]): Place | undefined {
  const { mount } = hierarchy;
  // A server that has stepped aside already: we ourselves, or the one that started this wrapper.
  const own = hierarchy.own.replace(/\/mcp-shell-\d+-\d+-server$/, '');
  const available = hierarchy.controllers.filter((controller) => wanted.includes(controller));
  if (available.length > 0) {
    const place =
      (handsDown(own, name, available) ? makeWithin(own, name, available) : undefined) ??
      (own === mount ? undefined : makeBeside(own, name, available));
    if (place !== undefined) return place;
  }
  const directory = join(own, name);
  return tryMake(directory) ? { version: 2, directory, controllers: [] } : undefined;
}

function makeWithin(parent: string, name: string, wanted: readonly string[]): Place | undefined {
  const directory = join(parent, name);
  if (!tryMake(directory)) return undefined;
  const controllers = enable(directory, wanted);
  if (controllers.length > 0) return { version: 2, directory, controllers };
  removeQuietly(directory);
  return undefined;
}

/** What limits our own group limits this one as well: it is not a way out. */
function makeBeside(own: string, name: string, wanted: readonly string[]): Place | undefined {
  removeAbandoned(dirname(own));
  const place = makeWithin(dirname(own), name, wanted);
  if (place === undefined) return undefined;
  for (const file of ['memory.max', 'memory.high', 'memory.swap.max', 'pids.max', 'cpu.max']) {
    const limit = readText(join(own, file));
    if (limit === undefined || limit.startsWith('max') || tryWrite(join(place.directory, file), limit))
      continue;
    removeQuietly(place.directory);
    return undefined;
  }
  return place;
}

/** A login shell that reads the user's files forks meanwhile. */
const STEP_ROUNDS = 5;

/** Whether groups in our own get the controllers, once everything that we may do for it is done. */
function handsDown(own: string, name: string, wanted: readonly string[]): boolean {
  if (isFree(own)) return enable(own, wanted).length > 0;
  const inside = readWords(join(own, 'cgroup.procs')).map(Number);
  const isOurs = (pid: number): boolean =>
    pid === process.pid || findProcess(pid)?.parentPid === process.pid || OWN_SCOPE.test(own);
  if (!inside.every(isOurs)) return false;
  const aside = join(own, `${name}-server`);
  if (!tryMake(aside)) return false;
  for (let round = 0; round < STEP_ROUNDS && !isFree(own); round++) {
    for (const pid of readWords(join(own, 'cgroup.procs')).map(Number).filter(isOurs))
      tryWrite(join(aside, 'cgroup.procs'), String(pid));
  }
  if (isFree(own) && enable(own, wanted).length > 0) return true;
  for (const pid of inside) tryWrite(join(own, 'cgroup.procs'), String(pid));
  removeQuietly(aside);
  return false;
}

/** The machine's first group, which has no type, or one without processes. */
function isFree(directory: string): boolean {
  return !existsSync(join(directory, 'cgroup.type')) || readText(join(directory, 'cgroup.procs')) === '';
}

/** Hands controllers down to the groups inside; those that it then does. Only for a group that is free. */
function enable(directory: string, controllers: readonly string[]): string[] {
  const file = join(directory, 'cgroup.subtree_control');
  const all = controllers.map((controller) => `+${controller}`);
  // Together, or each that can be: real-time processes, for one, stand in the way of cpu. Not where a process came in
  // meanwhile: pids and cpu are then handed down to its threads, and the groups inside can have no processes any more.
  if (!tryWrite(file, all.join(' ')) && isFree(directory)) for (const one of all) tryWrite(file, one);
  const enabled = readWords(file);
  return controllers.filter((controller) => enabled.includes(controller));
}

/** It may be there already, from another part of this process. */
const tryMake = (directory: string): boolean => succeeds(() => mkdirSync(directory, { recursive: true }));
