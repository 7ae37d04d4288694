/**
 * The processes of one execution. Four ways of finding them, because each alone is escaped by something: the
 * cgroup's list, the process group and session of the leader, everything descended from those, and the marker that
 * every process inherits in its environment.
 */
import type { ExecutionGroup } from './cgroups/cgroups.ts';
import { type Look, lookOnce } from './look.ts';
import {
  findProcess,
  hasEmptyEnvironment,
  holdsPipe,
  isAlive,
  listChildren,
  type ProcessEntry,
  type ProcessIdentity,
} from './process-table.ts';

export interface TreeSpec {
  readonly leader: ProcessIdentity;
  /** "NAME=value" in the environment of everything the execution started. */
  readonly marker: string;
  readonly group: ExecutionGroup | undefined;
  /** The leader is the wall: its child is the first process of a namespace, in which is all the rest. */
  readonly isWalled?: boolean;
}

export interface ProcessTree {
  readonly leader: ProcessIdentity;
  /** Everything alive that belongs to the execution; `look` is one that several trees share. */
  members(look?: Look): ProcessEntry[];
  /** The wall's own processes: a polite signal to them would end all the others at once. */
  isWall(entry: ProcessEntry): boolean;
  /** Members as far as their memory is concerned; cheaper where there is a cgroup. */
  residents(): ProcessEntry[];
  /** What is left after the leader ended; cheap where nothing is, which is nearly always. */
  leftovers(): ProcessEntry[];
  /** Orphans that are probably of this tree and not certainly: they hold its output, or have no environment at all. */
  findSuspects(pipes: ReadonlySet<string>): ProcessEntry[];
  /** Whether `members` leaves nobody out, whatever they did to get away. */
  readonly isComplete: boolean;
  /** Sends a signal to every member. */
  signal(signal: NodeJS.Signals): void;
  /** Sends a signal to the leader alone, if it is still the same process. */
  signalLeader(signal: NodeJS.Signals): boolean;
  /** Ends everything in the cgroup at once, where there is one. */
  killGroup(): void;
  release(): void;
}

export function createTree(spec: TreeSpec): ProcessTree {
  const { leader, group, isWalled = false } = spec;
  // The number of a leader that was dead before we looked may be anybody's group by now.
  const knowsNumbers = findProcess(leader.pid)?.startTime === leader.startTime;

  function members(look: Look = lookOnce()): ProcessEntry[] {
    const all = look.entries;
    const found = new Map<number, ProcessEntry>();
    const leaderNow = all.find((entry) => entry.pid === leader.pid);
    // Where the leader's number belongs to somebody else now, so does a group of that number.
    const numberIsOurs =
      knowsNumbers && (leaderNow === undefined || leaderNow.startTime === leader.startTime);
    const ancestors = ancestorsIn(all);
    const inGroup = new Set(group?.members() ?? []);
    const waiting: ProcessEntry[] = [];
    for (const entry of all) {
      if (isForbidden(entry) || ancestors.has(entry.pid)) continue;
      // Nothing that was there before the leader can have come from it.
      if (entry.startTime < leader.startTime) continue;
      const isOurs =
        (numberIsOurs && (entry.groupId === leader.pid || entry.sessionId === leader.pid)) ||
        inGroup.has(entry.pid) ||
        look.hasMarker(entry, spec.marker);
      if (isOurs) found.set(entry.pid, entry);
      else waiting.push(entry);
    }
    addDescendants(found, waiting);
    return [...found.values()].filter((entry) => !entry.isZombie);
  }

  const isWall = (entry: ProcessEntry): boolean =>
    isWalled && (entry.pid === leader.pid || entry.parentPid === leader.pid);

  /** The command's own process: the first child of the namespace's first process. */
  function commandBehindWall(): ProcessIdentity | undefined {
    for (const init of listChildren(leader.pid) ?? []) {
      const command = listChildren(init)?.[0];
      const entry = command === undefined ? undefined : findProcess(command);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  function leftovers(): ProcessEntry[] {
    // The namespace ends with its first process, and that one with the leader.
    if (isWalled) return [];
    const pids = group?.members();
    if (pids === undefined) return hasSuspects(leader) ? members() : [];
    return pids.length > 0 || hasGroup(leader.pid) ? members() : [];
  }

  return {
    leader,
    members,
    residents: () => group?.members()?.flatMap((pid) => findProcess(pid) ?? []) ?? members(),
    leftovers,
    isWall,
    isComplete: group !== undefined || isWalled,
    findSuspects: (pipes) => findSuspects(leader, pipes),
    signal(signal) {
      for (const entry of members()) if (!isWall(entry)) sendSignal(entry, signal);
    },
    signalLeader(signal) {
      const target = isWalled && signal !== 'SIGKILL' ? commandBehindWall() : leader;
      return target !== undefined && sendSignal(target, signal);
    },
    killGroup: () => group?.kill(),
    release: () => group?.remove(),
  };
}

/** Signals a process if it is still the one that was meant, and never ourselves, our parent or init. */
export function sendSignal(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (isForbidden(identity) || !isAlive(identity)) return false;
  try {
    return process.kill(identity.pid, signal);
  } catch {
    return false;
  }
}

function isForbidden({ pid }: { readonly pid: number }): boolean {
  return !(pid > 1) || pid === process.pid || pid === process.ppid;
}

/** Ourselves and those we descend from: whatever the marks say, they are not of a tree that we started. */
function ancestorsIn(all: readonly ProcessEntry[]): Set<number> {
  const parents = new Map(all.map((entry) => [entry.pid, entry.parentPid]));
  const ancestors = new Set<number>();
  for (let pid = process.pid; pid > 0 && !ancestors.has(pid); pid = parents.get(pid) ?? 0) ancestors.add(pid);
  return ancestors;
}

function addDescendants(found: Map<number, ProcessEntry>, candidates: ProcessEntry[]): void {
  let rest = candidates;
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    rest = rest.filter((entry) => {
      if (!found.has(entry.parentPid)) return true;
      found.set(entry.pid, entry);
      return false;
    });
  }
}

/** True where a process group of this number has a member, zombies included. */
function hasGroup(pid: number): boolean {
  try {
    return process.kill(-pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/**
 * Orphans that are younger than the leader. They are handed to the nearest reaper, which is one of our ancestors, so
 * that a handful of files tells whether anything can have escaped; the environment of every process costs 20 times as
 * much. Undefined where the kernel does not list children.
 */
function findOrphans(leader: ProcessIdentity): ProcessEntry[] | undefined {
  const orphans: ProcessEntry[] = [];
  for (let pid = process.ppid, depth = 0; pid > 0 && depth < 64; depth++) {
    const children = listChildren(pid);
    if (children === undefined) return undefined;
    for (const child of children) {
      const entry = findProcess(child);
      if (entry !== undefined && entry.startTime >= leader.startTime && !entry.isZombie) orphans.push(entry);
    }
    pid = findProcess(pid)?.parentPid ?? 0;
  }
  return orphans;
}

/** Without a cgroup: is there anything at all that could have escaped? */
function hasSuspects(leader: ProcessIdentity): boolean {
  // As the first process of a container we are the reaper ourselves, and our children are not all orphans.
  if (process.pid === 1 || hasGroup(leader.pid)) return true;
  return findOrphans(leader)?.length !== 0;
}

function findSuspects(leader: ProcessIdentity, pipes: ReadonlySet<string>): ProcessEntry[] {
  const orphans = findOrphans(leader) ?? [];
  return orphans.filter(
    (entry) => !isForbidden(entry) && (hasEmptyEnvironment(entry.pid) || holdsPipe(entry.pid, pipes)),
  );
}
