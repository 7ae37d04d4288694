/**
 * A cgroup for each execution, where the kernel lets us make one. Its member list is the one list of processes that no
 * setsid, double fork or cleared environment escapes, and its limits are the only ones that nothing outruns. Needs a
 * directory that we may create at our own group: root has one, and so has a scope that systemd delegates to its user.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findProcess } from '../process-table.ts';
import type { Enforcement, Held, TreeLimits } from './controls.ts';
import { type ExecutionGroup, removeQuietly } from './group.ts';
import { makePlace, type Place, removeAbandoned } from './group-directories.ts';
import { findHierarchies } from './hierarchies.ts';
import { createPool } from './pool.ts';
import { tryPlaces } from './trial.ts';
import { planMove } from './user-scope.ts';

export type { Enforcement, GroupUsage, Held, TreeLimits } from './controls.ts';
export { type ExecutionGroup, openGroup } from './group.ts';

export type Cgroups = ReturnType<typeof createCgroups>;

type Found = NonNullable<ReturnType<typeof tryOut>>;

const NOTHING: Enforcement = { memory: undefined, processes: undefined, cpu: undefined };

export function createCgroups() {
  let found: Found | undefined | null;
  const pool = createPool();
  let isMoving = false;
  let moved: Promise<void> | undefined;

  /** Asked for once, and in the background: commands that come before are measured. */
  function settle(): Promise<void> {
    if (moved !== undefined) return moved;
    const move = planMove();
    isMoving = move !== undefined;
    moved = Promise.resolve(move?.())
      // Refused, or too late: then the groups that there are, are tried.
      .catch(() => true)
      .then((isTogether) => {
        if (isTogether === false) found = null;
        isMoving = false;
      });
    return moved;
  }

  /** The first use tries it out, with a real process; a refusal is remembered. */
  function find(): Found | undefined {
    void settle();
    if (isMoving) return undefined;
    if (found === undefined) found = tryOut() ?? null;
    return found ?? undefined;
  }

  return {
    /** An empty group with those of the limits that are held; undefined where there can be none. */
    create(name: string, limits: TreeLimits = {}): ExecutionGroup | undefined {
      const places = find();
      if (places === undefined) return undefined;
      const chosen = choosePlaces(places, limits);
      try {
        return pool.take(chosen, name, limits);
      } catch {
        for (const { directory } of chosen) removeQuietly(join(directory, name));
        return undefined;
      }
    },
    /** Which limits the kernel keeps, as tried with a process. */
    held: (): Enforcement => find()?.held ?? NOTHING,
    /** Resolves when it is known whether systemd gives us a group; until then there are none. Takes 5 s at most. */
    settled: settle,
    dispose(): void {
      if (found === undefined || found === null) return;
      pool.dispose();
      const { main, memory, processes, cpu, cpuTime } = found;
      for (const place of [main, memory, processes, cpu, cpuTime]) {
        if (place !== undefined) removeQuietly(place.directory);
      }
    },
  };
}

/** The list of members, and what limits need: a memory group outlives its directory for as long as its page cache. */
function choosePlaces(places: Found, limits: TreeLimits): Place[] {
  const { main, memory, processes, cpu, cpuTime } = places;
  const isLimited = Object.values(limits).some((limit) => limit !== undefined);
  const chosen = [
    main,
    limits.processes === undefined ? undefined : processes,
    limits.memoryBytes === undefined ? undefined : memory,
    limits.cpuPercent === undefined ? undefined : cpu,
    isLimited && main.version === 1 ? cpuTime : undefined,
  ];
  return [...new Set(chosen.filter((place) => place !== undefined))];
}

const CONTROLLERS = ['memory', 'pids', 'cpu', 'cpuacct'];

function tryOut() {
  const self = findProcess(process.pid);
  if (self === undefined) return undefined;
  const name = `mcp-shell-${self.pid}-${self.startTime}`;
  const hierarchies = findHierarchies();
  for (const { own } of hierarchies) removeAbandoned(own);
  const places: Place[] = [];
  const having = (controller: string): Place | undefined =>
    places.find((place) => place.controllers.includes(controller));
  const settle = (version: 1 | 2): void => {
    const chosen = hierarchies.filter((hierarchy) => hierarchy.version === version);
    const made = chosen.flatMap((hierarchy) => makePlace(hierarchy, name, CONTROLLERS) ?? []);
    const proven = tryPlaces(made);
    places.push(...proven);
    for (const { directory } of made) {
      if (!proven.some((place) => place.directory === directory)) removeQuietly(directory);
    }
  };

  // A process joins version 1 at no cost, and with the pids controller a group can be ended there as surely.
  settle(1);
  const offers = hierarchies.flatMap(({ version, controllers }) => (version === 2 ? controllers : []));
  const isMissing = (controller: string): boolean => having(controller) === undefined;
  if (isMissing('pids') || CONTROLLERS.some((one) => isMissing(one) && offers.includes(one))) settle(2);

  const [memory, processes, cpu, cpuTime] = CONTROLLERS.map(having);
  // Where groups have their list of members.
  const main = processes?.version === 1 ? processes : places.find(canKill);
  if (main === undefined) {
    for (const { directory } of places) removeQuietly(directory);
    return undefined;
  }
  const held: Enforcement = { memory: nameOf(memory), processes: nameOf(processes), cpu: nameOf(cpu) };
  // What is used of the processor is measured apart in version 1 only.
  return { main, memory, processes, cpu, cpuTime, held };
}

/** Since Linux 5.14. */
function canKill({ version, directory }: Place): boolean {
  return version === 2 && existsSync(join(directory, 'cgroup.kill'));
}

const nameOf = (place: Place | undefined): Held => place && `cgroup v${place.version}`;
