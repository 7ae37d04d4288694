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
  holdsOpen,
  isAlive,
  listChildren,
  listDescendants,
  type ProcessEntry,
  type ProcessIdentity,
} from './process-table.ts';

interface TreeSpec {
  readonly leader: ProcessIdentity;
  /** "NAME=value" in the environment of everything the execution started. */
  readonly marker: string;
  /** Who started the leader, where that was not this process itself. */
  readonly reaper?: Reaper | undefined;
  /** That it was the leader's own parent who told its number and start. */
  readonly isSure?: boolean;
  readonly group: ExecutionGroup | undefined;
  /** The leader is the sandbox: its child is the first process of a namespace, in which is all the rest. */
  readonly isSandboxed?: boolean;
}

export type ProcessTree = ReturnType<typeof createTree>;

export function createTree(spec: TreeSpec) {
  const { leader, group, isSandboxed = false, reaper } = spec;
  const { findIn, findKnown, listBelow, join, isBubblewrap, knowsNamespace, firstInside } =
    createFinder(spec);
  /** The leader has ended and left nobody: who comes later is not of this tree. */
  let isEmpty = isSandboxed;

  /**
   * Everything alive that belongs to the execution, found without looking at others' processes where the kernel allows
   * it; in `look`, which several trees may share, by everything that is known of the tree.
   */
  function members(look?: Look): ProcessEntry[] {
    if (look !== undefined) return findIn(look);
    const own = findKnown() ?? join(listBelow(), findOrphans(leader, reaper));
    return own === undefined ? findIn(createLooks()()) : aliveOf(own);
  }

  /** The same, with one look at what may have escaped for all trees that ask at once. */
  async function membersTogether(): Promise<ProcessEntry[]> {
    const own = findKnown() ?? join(listBelow(), await findOrphansTogether(leader, reaper));
    return own === undefined ? findIn(await lookTogether()) : aliveOf(own);
  }

  return {
    leader,
    members,
    membersTogether,
    /** Of a look that begins after this call: a process that is not in it has ended, or cannot be distinguished from others. */
    membersForCertain: async () => (knowsNamespace() ? members() : findIn(await lookTogether())),
    /** What is left after the leader ended; cheap where nothing is, which is nearly always. */
    async leftovers(): Promise<ProcessEntry[]> {
      // The namespace ends with its first process, and that one with the leader.
      if (isSandboxed) return [];
      const pids = group?.members();
      const isLeft =
        pids === undefined ? (await findOrphansTogether(leader, reaper))?.length !== 0 : pids.length > 0;
      // A group knows everybody; else one may have been started since.
      isEmpty = !isLeft && (pids !== undefined || !exists(-leader.pid));
      return isEmpty ? [] : membersTogether();
    },
    isBubblewrap,
    /** Whether `members` leaves nobody out, whatever they did to get away. */
    isComplete: group !== undefined || isSandboxed,
    /** Orphans that are probably of this tree and not certainly: they hold its output, or have no environment at all. */
    async findSuspects(linksOf: () => ReadonlySet<string>): Promise<ProcessEntry[]> {
      const orphans = isEmpty ? [] : ((await findOrphansTogether(leader, reaper)) ?? []);
      if (orphans.length === 0) return [];
      const pipes = linksOf();
      return orphans.filter(
        (entry) => !isForbidden(entry) && (hasEmptyEnvironment(entry.pid) || holdsOpen(entry.pid, pipes)),
      );
    },
    /** Sends a signal to every member, stopped ones included. */
    async signal(signal: NodeJS.Signals): Promise<void> {
      for (const entry of await membersTogether()) {
        // A stopped process gets the signal only once it goes on.
        if (!isBubblewrap(entry)) sendSignal(entry, signal, 'SIGCONT');
      }
    },
    /** Sends a signal to the leader alone, if it is still the same process. */
    signalLeader(signal: NodeJS.Signals): boolean {
      const target = isSandboxed && signal !== 'SIGKILL' ? commandInSandbox(leader) : leader;
      return target !== undefined && sendSignal(target, signal);
    },
    /** Ends everything in the namespace or the cgroup at once, where there is one. */
    killTogether: () => killTogether(firstInside(), group),
    release: () => group?.remove(),
  };
}

/** The namespace first: where the leader goes before its command, a terminal hangs up, and the shell in it goes on with its line. */
function killTogether(first: ProcessIdentity | undefined, group: ExecutionGroup | undefined): void {
  if (first !== undefined) sendSignal(first, 'SIGKILL');
  group?.kill();
}

/** The ways of finding them. */
function createFinder({ leader, group, marker, isSure = false, isSandboxed = false }: TreeSpec) {
  // The number of a leader that was dead before anybody looked may be anybody's group by now.
  const wasAlive = isSure || findProcess(leader.pid)?.startTime === leader.startTime;
  /** The first process of the namespace, which may outlive the leader by a moment. */
  let init: ProcessEntry | undefined;

  /** Nothing that was there before the leader can have come from it. */
  const canBeOurs = (entry: ProcessEntry): boolean =>
    !isForbidden(entry) && entry.startTime >= leader.startTime;

  function findLeader(): ProcessEntry | undefined {
    const entry = wasAlive ? findProcess(leader.pid) : undefined;
    return entry?.startTime === leader.startTime ? entry : undefined;
  }

  /** By descent; undefined where the kernel does not list children. */
  function listBelow(): ProcessEntry[] | undefined {
    const first = findLeader();
    return wasAlive && !isSandboxed ? listDescendants(first === undefined ? [] : [first]) : undefined;
  }

  /** With those orphans that say whose they are; they are listed last, since one may have had its parent a moment ago. */
  function join(below: ProcessEntry[] | undefined, orphans: ProcessEntry[] | undefined) {
    if (below === undefined || orphans === undefined) return undefined;
    const isInGroup = groupTest(leader, wasAlive, findProcess(leader.pid));
    const ours = orphans.filter((entry) => isInGroup(entry) || hasEnvironmentEntry(entry.pid, marker));
    return [...below, ...(listDescendants(ours) ?? [])].filter(canBeOurs);
  }

  return {
    /** The sandbox's own processes: a polite signal to them would end all the others at once. */
    isBubblewrap: ({ pid, parentPid }: ProcessEntry): boolean =>
      isSandboxed && (pid === leader.pid || parentPid === leader.pid || pid === init?.pid),
    firstInside: () => init,
    knowsNamespace: () => isSandboxed && wasAlive && init !== undefined,
    /** By everything that is known of the tree. */
    findIn(look: Look): ProcessEntry[] {
      const ofNumber = look.entries.find((entry) => entry.pid === leader.pid);
      const isInGroup = groupTest(leader, wasAlive, ofNumber);
      // Whatever the marks say, those that we descend from are not of a tree that we started.
      const ancestors = new Set(ancestorsOf(process.pid));
      const inGroup = new Set(group?.members() ?? []);
      const candidates = look.entries.filter((entry) => canBeOurs(entry) && !ancestors.has(entry.pid));
      return aliveOf(
        withDescendants(
          candidates,
          (entry) => isInGroup(entry) || inGroup.has(entry.pid) || look.hasMarker(entry, marker),
        ),
      );
    },
    /** Where the kernel knows who is a member; undefined where it does not. */
    findKnown(): ProcessEntry[] | undefined {
      if (!wasAlive) return undefined;
      if (!isSandboxed) return group?.members()?.flatMap((pid) => findProcess(pid) ?? []);
      // All of a namespace descends from its first process, which adopts the orphans.
      const first = findLeader();
      const inner = first && listChildren(first.pid)?.[0];
      if (inner !== undefined) init = findProcess(inner) ?? init;
      if (first === undefined && init === undefined) return undefined;
      const initNow = init === undefined ? undefined : findProcess(init.pid);
      const isInit = initNow !== undefined && initNow.startTime === init?.startTime;
      return listDescendants([...(first ? [first] : []), ...(isInit ? [initNow] : [])]);
    },
    listBelow,
    join,
  };
}

/** Of the leader's group or session. Where its pid belongs to another process now, so does a group of that number. */
function groupTest(
  leader: ProcessIdentity,
  wasAlive: boolean,
  entryOfNumber: ProcessEntry | undefined,
): (entry: ProcessEntry) => boolean {
  if (!wasAlive || (entryOfNumber !== undefined && entryOfNumber.startTime !== leader.startTime))
    return () => false;
  return ({ groupId, sessionId }) => groupId === leader.pid || sessionId === leader.pid;
}

/** The command's own process: the first child of the namespace's first process. */
function commandInSandbox(leader: ProcessIdentity): ProcessIdentity | undefined {
  for (const inner of listChildren(leader.pid) ?? []) {
    const command = listChildren(inner)?.[0];
    const entry = command === undefined ? undefined : findProcess(command);
    if (entry !== undefined) return entry;
  }
  return undefined;
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

/** Those that are ours, and all that descend from them. */
function withDescendants(
  entries: readonly ProcessEntry[],
  isOurs: (entry: ProcessEntry) => boolean,
): ProcessEntry[] {
  const found = new Map<number, ProcessEntry>();
  let rest = entries;
  for (let before = -1; before !== found.size; ) {
    const isFirst = before === -1;
    before = found.size;
    rest = rest.filter((entry) => {
      if (isFirst ? !isOurs(entry) : !found.has(entry.parentPid)) return true;
      found.set(entry.pid, entry);
      return false;
    });
  }
  return [...found.values()];
}
