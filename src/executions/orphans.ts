/**
 * Processes whose parents have ended. The kernel hands them to the nearest reaper, which is one of our ancestors, so that
 * a handful of files tells whether anything can have escaped; the environment of every process costs 20 times as much.
 */
import { once } from '../base/once.ts';
import { shareNext } from './process-scan.ts';
import {
  exists,
  findProcess,
  isAlive,
  listChildren,
  type ProcessEntry,
  type ProcessIdentity,
} from './process-table.ts';

/** Numbers that are used again while we read them could make a circle. */
const MAX_ANCESTORS = 64;
/** Nobody gets the number of another within this time. */
const KNOWN_MS = 1000;

/** A process of ours that adopts the orphans of commands. */
export interface Reaper {
  readonly pid: number;
  /** Its child is no orphan. */
  hasStarted(pid: number): boolean;
}

/** Those that are younger than the leader; undefined where that cannot be told. */
export function findOrphans(leader: ProcessIdentity, reaper?: Reaper): ProcessEntry[] | undefined {
  const orphans = reaper === undefined ? listOrphans(othersAbove(leader)) : listOf(reaper);
  return adopted(leader, reaper, orphans);
}

/** The same, in one look for all who ask at once. */
export async function findOrphansTogether(
  leader: ProcessIdentity,
  reaper?: Reaper,
): Promise<ProcessEntry[] | undefined> {
  if (reaper !== undefined) return adopted(leader, reaper, await togetherFor(reaper)());
  const others = othersAbove(leader);
  return adopted(leader, reaper, others.length > 0 ? listOrphans(others) : await listTogether());
}

const looks = new WeakMap<Reaper, () => Promise<ProcessEntry[] | undefined>>();

function togetherFor(reaper: Reaper): () => Promise<ProcessEntry[] | undefined> {
  const look = looks.get(reaper) ?? shareNext(() => listOf(reaper));
  looks.set(reaper, look);
  return look;
}

/** As long as it has its own child it is the nearest reaper of all that this one started; after that, those above it are. */
function listOf(reaper: Reaper): ProcessEntry[] | undefined {
  const children = listChildren(reaper.pid);
  return children?.some(reaper.hasStarted) === true ? entriesOf(children) : listOrphans([reaper.pid]);
}

export function ancestorsOf(descendant: number): number[] {
  const ancestors: number[] = [];
  for (let pid = findProcess(descendant)?.parentPid ?? 0; pid > 0; pid = findProcess(pid)?.parentPid ?? 0) {
    if (ancestors.length === MAX_ANCESTORS) break;
    ancestors.push(pid);
  }
  return ancestors;
}

/** Where another process started the leader, its orphans may go to that one, or one of its ancestors. */
function othersAbove({ pid }: ProcessIdentity): number[] {
  const ancestors = ancestorsOf(pid);
  const at = ancestors.indexOf(process.pid);
  return at === -1 ? ancestors : ancestors.slice(0, at);
}

const adopted = (
  leader: ProcessIdentity,
  reaper: Reaper | undefined,
  orphans: readonly ProcessEntry[] | undefined,
): ProcessEntry[] | undefined =>
  orphans?.filter(
    (entry) =>
      entry.pid !== leader.pid &&
      entry.startTime >= leader.startTime &&
      reaper?.hasStarted(entry.pid) !== true &&
      isAlive(entry),
  );

/** Whom we descend from never grows: where a parent dies, one of those above it takes its place. */
const ourAncestors = once(() => ancestorsOf(process.pid));

/** Children of the reapers as they were when last seen, which is within the last second. */
let known = new Map<number, { readonly entry: ProcessEntry; readonly seenAt: number }>();

/** Children of our ancestors and of `others`; undefined where the kernel does not list them. */
function listOrphans(others: readonly number[]): ProcessEntry[] | undefined {
  // As the first process of a container we adopt orphans ourselves, and our children are not all orphans.
  if (process.pid === 1) return undefined;
  const all: number[] = [];
  for (const reaper of new Set([...ourAncestors(), ...others])) {
    const children = listChildren(reaper);
    // One that has ended has no children any more; of one that is hidden they cannot be told.
    if (children === undefined && exists(reaper)) return undefined;
    all.push(...(children ?? []));
  }
  return entriesOf(all);
}

function entriesOf(pids: readonly number[]): ProcessEntry[] {
  const before = known;
  const now = performance.now();
  known = new Map();
  for (const pid of pids) {
    const old = before.get(pid);
    const isKnown = old !== undefined && now - old.seenAt < KNOWN_MS;
    const entry = isKnown ? old.entry : findProcess(pid);
    if (entry !== undefined) known.set(pid, isKnown ? old : { entry, seenAt: now });
  }
  return [...known.values()].map(({ entry }) => entry);
}

const listTogether = shareNext(() => listOrphans([]));
