/**
 * Looks at a running tree from time to time and says which limit it has passed. Where the kernel keeps the memory
 * limit, there is nothing to measure: the look is for whom it killed.
 */
import type { ExecutionGroup } from './cgroups/cgroups.ts';
import { TICKS_PER_SECOND } from './process-table.ts';
import { measureProportional } from './proportional.ts';
import type { ProcessTree } from './tree.ts';
import { sumResident } from './usage.ts';

export type PassedLimit = 'memory_limit' | 'cpu_limit';

export interface WatchdogOptions {
  readonly memoryLimitBytes: number | undefined;
  readonly cpuLimitSeconds: number | undefined;
  readonly group: ExecutionGroup | undefined;
}

export interface Watchdog {
  /** After the end and before the group goes: what the kernel knows and no look has seen. */
  conclude(): { readonly passed: PassedLimit | undefined; readonly peakMemoryBytes: number | undefined };
}

/** What allocates faster than this, where the kernel keeps no limit, passes it before it is seen. */
const LOOK_MS = 250;

export function startWatchdog(
  tree: ProcessTree,
  options: WatchdogOptions,
  onPassed: (limit: PassedLimit) => void,
): Watchdog {
  const { memoryLimitBytes, cpuLimitSeconds, group } = options;
  const keepsMemory = group?.held().memory !== undefined;
  const cpuMeter = createCpuMeter(tree);
  let peakMemoryBytes: number | undefined;

  function notePeak(bytes: number | undefined): void {
    if (bytes !== undefined) peakMemoryBytes = Math.max(peakMemoryBytes ?? 0, bytes);
  }

  /** Page cache counts in the kernel's own numbers, so that reaching the limit is no sign; that somebody died is. */
  function hasOutOfMemory(): boolean {
    const usage = group?.usage();
    notePeak(usage?.peakMemoryBytes ?? usage?.memoryBytes);
    return keepsMemory && (usage?.oomKills ?? 0) > 0;
  }

  /** What seems to be too much is counted once more, with shared pages counted once, before anything is ended. */
  async function usesTooMuch(limitBytes: number): Promise<boolean> {
    const residents = tree.residents();
    const resident = sumResident(residents);
    const bytes = resident > limitBytes ? await measureProportional(residents) : resident;
    notePeak(bytes);
    return bytes > limitBytes;
  }

  async function findPassed(): Promise<PassedLimit | undefined> {
    if (keepsMemory) {
      if (hasOutOfMemory()) return 'memory_limit';
    } else if (memoryLimitBytes !== undefined && (await usesTooMuch(memoryLimitBytes))) {
      return 'memory_limit';
    }
    if (cpuLimitSeconds === undefined) return undefined;
    const cpuSeconds = group?.usage()?.cpuSeconds ?? cpuMeter.readSeconds();
    return cpuSeconds > cpuLimitSeconds ? 'cpu_limit' : undefined;
  }

  let isLooking = false;
  let isOver = false;
  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    // Where the process table could not be read (too many open files, say), the next look may do better.
    const passed = await findPassed().catch(() => undefined);
    isLooking = false;
    if (passed === undefined || isOver) return;
    isOver = true;
    clearInterval(timer);
    onPassed(passed);
  }

  const timer =
    memoryLimitBytes === undefined && cpuLimitSeconds === undefined
      ? undefined
      : setInterval(() => void look(), LOOK_MS);

  return {
    conclude() {
      isOver = true;
      clearInterval(timer);
      const isOutOfMemory = hasOutOfMemory();
      return { passed: isOutOfMemory ? 'memory_limit' : undefined, peakMemoryBytes };
    },
  };
}

/** Without a group: of everybody who was seen, and with what was last seen of those who have ended since. */
function createCpuMeter(tree: ProcessTree): { readSeconds(): number } {
  const ticksOf = new Map<string, number>();
  return {
    readSeconds() {
      for (const { pid, startTime, cpuTicks } of tree.members()) ticksOf.set(`${pid} ${startTime}`, cpuTicks);
      let total = 0;
      for (const ticks of ticksOf.values()) total += ticks;
      return total / TICKS_PER_SECOND;
    },
  };
}
