/**
 * The processes of one execution. In a sandbox they are in a namespace, and in a cgroup they are on its list: nobody
 * gets away from either. Without both there are four ways of finding them, because each alone is escaped by something:
 * the process group and session of the leader, everything descended from those, orphans among the children of our own
 * ancestors, and the marker that every process inherits in its environment.
 */
import type { ExecutionGroup } from './cgroups/cgroups.ts';
import { ancestorsOf, findOrphans, findOrphansTogether, type Reaper } from './orphans.ts';
import { createLooks, type Look, lookTogether } from './process-scan.ts';
import {
  exists,
  findProcess,
  hasEmptyEnvironment,
  hasEnvironmentEntry,
  holdsPipe,
  isAlive,
  listChildren,
  listDescendants,
  type ProcessEntry,
  type ProcessIdentity,
} from './process-table.ts';

export interface TreeSpec {
  readonly leader: ProcessIdentity;
  /** "NAME=value" in the environment of everything the execution started. */
  readonly marker: string;
  /** Who started the leader, where that was not this process itself. */
  readonly reaper?: Reaper | undefined;
  readonly group: ExecutionGroup | undefined;
  /** The leader is the sandbox: its child is the first process of a namespace, in which is all the rest. */
  readonly isSandboxed?: boolean;
}

export interface ProcessTree {
  readonly leader: ProcessIdentity;
  /**
   * Everything alive that belongs to the execution, found without looking at others' processes where the kernel allows
   * it; in `look`, which several trees may share, by everything that is known of the tree.
   */
  members(look?: Look): ProcessEntry[];
  /** The same, with one look at what may have escaped for all trees that ask at once. */
  membersTogether(): Promise<ProcessEntry[]>;
  /** Of a look that begins after this call: a process that is not in it has ended, or cannot be distinguished from others. */
  membersForCertain(): Promise<ProcessEntry[]>;
  /** The sandbox's own processes: a polite signal to them would end all the others at once. */
  isBubblewrap(entry: ProcessEntry): boolean;
  /** What is left after the leader ended; cheap where nothing is, which is nearly always. */
  leftovers(): Promise<ProcessEntry[]>;
  /** Orphans that are probably of this tree and not certainly: they hold its output, or have no environment at all. */
  findSuspects(pipes: ReadonlySet<string>): Promise<ProcessEntry[]>;
  /** Whether `members` leaves nobody out, whatever they did to get away. */
  readonly isComplete: boolean;
  /** Sends a signal to every member, stopped ones included. */
  signal(signal: NodeJS.Signals): Promise<void>;
  /** Sends a signal to the leader alone, if it is still the same process. */
  signalLeader(signal: NodeJS.Signals): boolean;
  /** Ends everything in the cgroup at once, where there is one. */
  killGroup(): void;
  release(): void;
}

export function createTree(spec: TreeSpec): ProcessTree {
  const { leader, group, marker, isSandboxed = false } = spec;
  // The number of a leader that was dead before we looked may be anybody's group by now.
  const wasAlive = findProcess(leader.pid)?.startTime === leader.startTime;
  /** The first process of the namespace, which may outlive the leader by a moment. */
  let init: ProcessEntry | undefined;

  /** Nothing that was there before the leader can have come from it. */
  const canBeOurs = (entry: ProcessEntry): boolean =>
    !isForbidden(entry) && entry.startTime >= leader.startTime;

  function findLeader(): ProcessEntry | undefined {
    const entry = wasAlive ? findProcess(leader.pid) : undefined;
    return entry?.startTime === leader.startTime ? entry : undefined;
  }

  /** Where the leader's pid belongs to another process now, so does a group of that number. */
  function isNumberOurs(entryOfNumber: ProcessEntry | undefined): boolean {
    return wasAlive && (entryOfNumber === undefined || entryOfNumber.startTime === leader.startTime);
  }

  /** By everything that is known of the tree. */
  function findIn(look: Look): ProcessEntry[] {
    const found = new Map<number, ProcessEntry>();
    const isGroupOurs = isNumberOurs(look.entries.find((entry) => entry.pid === leader.pid));
    // Whatever the marks say, those that we descend from are not of a tree that we started.
    const ancestors = new Set(ancestorsOf(process.pid));
    const inGroup = new Set(group?.members() ?? []);
    const waiting: ProcessEntry[] = [];
    for (const entry of look.entries) {
      if (!canBeOurs(entry) || ancestors.has(entry.pid)) continue;
      const isOurs =
        (isGroupOurs && (entry.groupId === leader.pid || entry.sessionId === leader.pid)) ||
        inGroup.has(entry.pid) ||
        look.hasMarker(entry, marker);
      if (isOurs) found.set(entry.pid, entry);
      else waiting.push(entry);
    }
    addDescendants(found, waiting);
    return aliveOf([...found.values()]);
  }

  /** All of a namespace descends from its first process, which adopts the orphans; undefined where it is not known. */
  function findInNamespace(): ProcessEntry[] | undefined {
    const first = findLeader();
    const inner = first && listChildren(first.pid)?.[0];
    if (inner !== undefined) init = findProcess(inner) ?? init;
    if (first === undefined && init === undefined) return undefined;
    const initNow = init === undefined ? undefined : findProcess(init.pid);
    const isInit = initNow !== undefined && initNow.startTime === init?.startTime;
    return listDescendants([...(first ? [first] : []), ...(isInit ? [initNow] : [])]);
  }

  function listBelow(): ProcessEntry[] | undefined {
    const first = findLeader();
    return listDescendants(first === undefined ? [] : [first]);
  }

  /** With those orphans that say whose they are; they are listed last, since one may have had its parent a moment ago. */
  function withOrphans(
    below: readonly ProcessEntry[] | undefined,
    orphans: readonly ProcessEntry[] | undefined,
  ): ProcessEntry[] | undefined {
    if (below === undefined || orphans === undefined) return undefined;
    const isGroupOurs = isNumberOurs(findProcess(leader.pid));
    const ours = orphans.filter(
      ({ pid, groupId, sessionId }) =>
        (isGroupOurs && (groupId === leader.pid || sessionId === leader.pid)) ||
        hasEnvironmentEntry(pid, marker),
    );
    return [...below, ...(listDescendants(ours) ?? [])].filter(canBeOurs);
  }

  /** Where the kernel knows who is a member; undefined where it does not. */
  function findKnown(): ProcessEntry[] | undefined {
    if (!wasAlive) return undefined;
    return isSandboxed ? findInNamespace() : group?.members()?.flatMap((pid) => findProcess(pid) ?? []);
  }

  function members(look?: Look): ProcessEntry[] {
    if (look !== undefined) return findIn(look);
    const own =
      findKnown() ??
      (wasAlive && !isSandboxed ? withOrphans(listBelow(), findOrphans(leader, spec.reaper)) : undefined);
    return own === undefined ? findIn(createLooks()()) : aliveOf(own);
  }

  async function membersTogether(): Promise<ProcessEntry[]> {
    const known = findKnown();
    if (known !== undefined) return aliveOf(known);
    const own =
      wasAlive && !isSandboxed
        ? withOrphans(listBelow(), await findOrphansTogether(leader, spec.reaper))
        : undefined;
    return own === undefined ? findIn(await lookTogether()) : aliveOf(own);
  }

  const isBubblewrap = (entry: ProcessEntry): boolean =>
    isSandboxed && (entry.pid === leader.pid || entry.parentPid === leader.pid || entry.pid === init?.pid);

  /** The command's own process: the first child of the namespace's first process. */
  function commandInSandbox(): ProcessIdentity | undefined {
    for (const inner of listChildren(leader.pid) ?? []) {
      const command = listChildren(inner)?.[0];
      const entry = command === undefined ? undefined : findProcess(command);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  /** The leader has ended and left nobody: who comes later is not of this tree. */
  let isEmpty = isSandboxed;

  async function leftovers(): Promise<ProcessEntry[]> {
    // The namespace ends with its first process, and that one with the leader.
    if (isSandboxed) return [];
    const pids = group?.members();
    const isLeft =
      pids === undefined ? (await findOrphansTogether(leader, spec.reaper))?.length !== 0 : pids.length > 0;
    isEmpty = !isLeft && !exists(-leader.pid);
    return isEmpty ? [] : membersTogether();
  }

  return {
    leader,
    members,
    membersTogether,
    membersForCertain: async () =>
      isSandboxed && wasAlive && init !== undefined ? members() : findIn(await lookTogether()),
    leftovers,
    isBubblewrap,
    isComplete: group !== undefined || isSandboxed,
    async findSuspects(pipes) {
      const orphans = isEmpty ? [] : ((await findOrphansTogether(leader, spec.reaper)) ?? []);
      return orphans.filter(
        (entry) => !isForbidden(entry) && (hasEmptyEnvironment(entry.pid) || holdsPipe(entry.pid, pipes)),
      );
    },
    async signal(signal) {
      for (const entry of await membersTogether()) {
        // A stopped process gets the signal only once it goes on.
        if (!isBubblewrap(entry)) sendSignal(entry, signal, 'SIGCONT');
      }
    },
    signalLeader(signal) {
      const target = isSandboxed && signal !== 'SIGKILL' ? commandInSandbox() : leader;
      return target !== undefined && sendSignal(target, signal);
    },
    killGroup: () => group?.kill(),
    release: () => group?.remove(),
  };
}

/** Signals a process if it is still the one that was meant, and never ourselves, our parent or init. */
export function sendSignal(identity: ProcessIdentity, ...signals: readonly NodeJS.Signals[]): boolean {
  if (isForbidden(identity) || !isAlive(identity)) return false;
  try {
    return signals.every((signal) => process.kill(identity.pid, signal));
  } catch {
    return false;
  }
}

const aliveOf = (entries: readonly ProcessEntry[]): ProcessEntry[] =>
  entries.filter((entry) => !entry.isZombie && !isForbidden(entry));

function isForbidden({ pid }: { readonly pid: number }): boolean {
  return !(pid > 1) || pid === process.pid || pid === process.ppid;
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
