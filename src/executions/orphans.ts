/**
 * Processes whose parents have ended. The kernel hands them to the nearest reaper, which is one of our ancestors, so that
 * a handful of files tells whether anything can have escaped; the environment of every process costs 20 times as much.
 */
import { once } from '../base/once.ts';
import { shareNext } from './look.ts';
import { findProcess, listChildren, type ProcessEntry } from './process-table.ts';

/** Numbers that are used again while we read them could make a circle. */
const MAX_ANCESTORS = 64;
/** Nobody gets the number of another within this time. */
const KNOWN_MS = 1000;

/** Whom we descend from never grows: where a parent dies, one of those above it takes its place. */
const ourAncestors = once(() => ancestorsOf(process.pid));

/** Children of the reapers as they were when last seen, which is within the last second. */
let known = new Map<number, { readonly entry: ProcessEntry; readonly seenAt: number }>();

/** Children of our ancestors and of `others`; undefined where the kernel does not list them. */
export function listOrphans(others: readonly number[]): ProcessEntry[] | undefined {
  // As the first process of a container we adopt orphans ourselves, and our children are not all orphans.
  if (process.pid === 1) return undefined;
  const before = known;
  const now = performance.now();
  const orphans: ProcessEntry[] = [];
  known = new Map();
  for (const reaper of new Set([...ourAncestors(), ...others])) {
    const children = listChildren(reaper);
    // One that has just ended has no children any more.
    if (children === undefined && findProcess(reaper) !== undefined) return undefined;
    for (const pid of children ?? []) {
      const old = before.get(pid);
      const isKnown = old !== undefined && now - old.seenAt < KNOWN_MS;
      const entry = isKnown ? old.entry : findProcess(pid);
      if (entry === undefined) continue;
      known.set(pid, isKnown ? old : { entry, seenAt: now });
      orphans.push(entry);
    }
  }
  return orphans;
}

/** Those of our ancestors alone, once for all who ask at the same time. */
export const listOrphansTogether = shareNext(() => listOrphans([]));

export function ancestorsOf(descendant: number): number[] {
  const ancestors: number[] = [];
  for (let pid = findProcess(descendant)?.parentPid ?? 0; pid > 0; pid = findProcess(pid)?.parentPid ?? 0) {
    if (ancestors.length === MAX_ANCESTORS) break;
    ancestors.push(pid);
  }
  return ancestors;
}
