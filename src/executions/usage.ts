/** What a tree uses now: memory, processor time and transfers of every member together. */
import type { Look } from './process-scan.ts';
import { type ProcessEntry, TICKS_PER_SECOND } from './process-table.ts';
import {
  mapValues,
  type Network,
  readNetwork,
  readNetworkNamespace,
  readTransfer,
  type Transfer,
} from './transfers.ts';
import type { ProcessTree } from './tree.ts';

export interface Usage {
  readonly memoryBytes: number;
  /** Of one processor, over the tree's life so far (first look) or since the look before. */
  readonly cpuPercent: number;
  readonly processes: number;
}

export type UsageMeter = ReturnType<typeof createUsageMeter>;

/** `ageMs`: how long it has run already. */
export function createUsageMeter(ageMs: number) {
  let last = { atMs: performance.now() - ageMs, ticks: 0 };
  return {
    read(tree: ProcessTree, look?: Look): Usage {
      const members = tree.members(look);
      const atMs = performance.now();
      const ticks = sumTicks(members);
      const seconds = Math.max((atMs - last.atMs) / 1000, 0.05);
      const cpuPercent = percentOf(ticks - last.ticks, seconds);
      // A look shortly after another would divide by next to nothing.
      if (atMs - last.atMs >= 200) last = { atMs, ticks };
      return { memoryBytes: sumResident(members), cpuPercent, processes: members.length };
    },
  };
}

/** Of one processor, in tenths. An orphan takes what it used with it, which must not count backwards. */
export function percentOf(ticks: number, seconds: number): number {
  return Math.round((Math.max(0, ticks) / TICKS_PER_SECOND / seconds) * 1000) / 10;
}

export function sumResident(members: readonly ProcessEntry[]): number {
  return members.reduce((total, entry) => total + entry.residentBytes, 0);
}

/** With those that ended: what they used is their parents' then. */
export function sumTicks(members: readonly ProcessEntry[]): number {
  return members.reduce((total, entry) => total + entry.cpuTicks + entry.childTicks, 0);
}

/** Undefined where the kernel reports no member. */
export function sumTransfer(members: readonly ProcessEntry[]): Transfer | undefined {
  const [first, ...others] = members.flatMap(({ pid }) => readTransfer(pid) ?? []);
  return first && mapValues(first, (bytes, name) => others.reduce((sum, other) => sum + other[name], bytes));
}

/**
 * Of a tree that has a network of its own, which is one in a sandbox without the host's. The kernel counts by
 * interface: who of all used the host's, it does not tell.
 */
export function readOwnNetwork(members: readonly ProcessEntry[]): Network | undefined {
  const ours = readNetworkNamespace('self');
  if (ours === undefined) return undefined;
  const inside = members.find(({ pid }) => {
    const namespace = readNetworkNamespace(pid);
    return namespace !== undefined && namespace !== ours;
  });
  return inside === undefined ? undefined : readNetwork(inside.pid);
}
