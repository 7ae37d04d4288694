/** What a tree uses now: memory and processor time of every member together. */
import { type ProcessEntry, TICKS_PER_SECOND } from './process-table.ts';
import type { ProcessTree } from './tree.ts';

export interface Usage {
  readonly memoryBytes: number;
  /** Of one processor, over the tree's life so far (first look) or since the look before. */
  readonly cpuPercent: number;
  readonly processes: number;
}

export interface UsageMeter {
  read(tree: ProcessTree): Usage;
}

export function createUsageMeter(startedAtMs: number, now: () => number): UsageMeter {
  let last = { atMs: startedAtMs, ticksByPid: new Map<number, number>() };
  return {
    read(tree) {
      const members = tree.members();
      const atMs = now();
      const ticksByPid = new Map(members.map((entry) => [entry.pid, entry.cpuTicks]));
      let ticks = 0;
      for (const [pid, total] of ticksByPid) ticks += total - (last.ticksByPid.get(pid) ?? 0);
      const seconds = Math.max((atMs - last.atMs) / 1000, 0.05);
      // A look shortly after another would divide by next to nothing.
      if (atMs - last.atMs >= 200) last = { atMs, ticksByPid };
      return {
        memoryBytes: sumResident(members),
        cpuPercent: Math.round((ticks / TICKS_PER_SECOND / seconds) * 1000) / 10,
        processes: members.length,
      };
    },
  };
}

function sumResident(members: readonly ProcessEntry[]): number {
  return members.reduce((total, entry) => total + entry.residentBytes, 0);
}
