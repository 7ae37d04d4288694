/** What is written to limit a group and what is read to see how it does, in both versions. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type GroupDirectory, readControl, writeControl } from './control-files.ts';

export interface TreeLimits {
  readonly memoryBytes?: number | undefined;
  /** Threads count as well. */
  readonly processes?: number | undefined;
  /** Of one processor. */
  readonly cpuPercent?: number | undefined;
  /** No kernel keeps this one; the group is then one that knows what it has used. */
  readonly cpuSeconds?: number | undefined;
}

/** By what a limit is kept; undefined where the kernel does not keep it. */
export type Held = 'cgroup v1' | 'cgroup v2' | undefined;

export interface Enforcement {
  readonly memory: Held;
  readonly processes: Held;
  readonly cpu: Held;
}

export type GroupUsage = ReturnType<typeof readUsage>;

/** What only ever grows, so that a group which is used again begins with it. */
export interface Counters {
  readonly oomKills: number;
  readonly cpuSeconds: number;
  readonly forkRefusals: number;
}

export const NO_COUNTERS: Counters = { oomKills: 0, cpuSeconds: 0, forkRefusals: 0 };

const CPU_PERIOD_US = 100_000;
/** The kernel takes no quota below this. */
const CPU_QUOTA_MIN_US = 1000;
/** Version 1 shows about 2^63 where there is no limit, and no machine has this much. */
const UNLIMITED = 2 ** 60;

export const hasFile = ({ path, files }: GroupDirectory, name: string): boolean =>
  files?.has(name) ?? existsSync(join(path, name));

/** Sets those limits that this directory has files for. Throws where one is refused. */
export function writeLimits(directory: GroupDirectory, limits: TreeLimits): void {
  /** False where the kernel has no such file. */
  const write = (name: string, value: number | string): boolean => {
    if (!hasFile(directory, name)) return false;
    writeControl(directory, name, value);
    return true;
  };
  const { memoryBytes, processes, cpuPercent } = limits;
  if (memoryBytes !== undefined && write('memory.max', memoryBytes)) {
    write('memory.swap.max', 0);
    // Where one process of a tree is killed, the others would wait for it.
    write('memory.oom.group', 1);
  }
  if (memoryBytes !== undefined && write('memory.limit_in_bytes', memoryBytes)) {
    // Memory and swap together may not be less than memory, hence the order. Without that file nothing is swapped out.
    if (!write('memory.memsw.limit_in_bytes', memoryBytes)) write('memory.swappiness', 0);
  }
  if (processes !== undefined) write('pids.max', processes);
  if (cpuPercent !== undefined) {
    const quota = Math.max(CPU_QUOTA_MIN_US, Math.round((cpuPercent / 100) * CPU_PERIOD_US));
    write('cpu.max', `${quota} ${CPU_PERIOD_US}`);
    try {
      if (write('cpu.cfs_period_us', CPU_PERIOD_US)) write('cpu.cfs_quota_us', quota);
    } catch {
      // More than a group above has, whose limit holds for this one too.
    }
  }
}

/** Which limits a group has, as the kernel shows them. */
export const readEnforcement = (directories: readonly GroupDirectory[]): Enforcement =>
  findHolders(directories, (directory, name) => isLimit(readControl(directory, name)));

/** With what it was made; a quota that a group above has already is enforced there. */
export const enforcementOf = (directories: readonly GroupDirectory[], limits: TreeLimits): Enforcement =>
  findHolders(
    directories,
    (directory, name, limit) => limits[limit] !== undefined && hasFile(directory, name),
  );

function findHolders(
  directories: readonly GroupDirectory[],
  isHeld: (directory: GroupDirectory, name: string, limit: keyof TreeLimits) => boolean,
): Enforcement {
  const heldBy = (limit: keyof TreeLimits, ...names: readonly string[]): Held => {
    const holder = directories.find((directory) => names.some((name) => isHeld(directory, name, limit)));
    return holder && `cgroup v${holder.version}`;
  };
  return {
    memory: heldBy('memoryBytes', 'memory.max', 'memory.limit_in_bytes'),
    processes: heldBy('processes', 'pids.max'),
    cpu: heldBy('cpuPercent', 'cpu.max', 'cpu.cfs_quota_us'),
  };
}

/** Each figure is read when it is asked for. */
export function readUsage(directories: readonly GroupDirectory[], before = NO_COUNTERS) {
  const read = (name: string, pattern = /^(\d+)$/): number | undefined =>
    readNumber(directories, name, pattern);
  const since = (now: number | undefined, then: number): number | undefined => now && now - then;
  return {
    /** With the page cache that the group filled. */
    memoryBytes: () => read('memory.current') ?? read('memory.usage_in_bytes'),
    peakMemoryBytes: () => read('memory.peak') ?? read('memory.max_usage_in_bytes'),
    /** How many the kernel killed for lack of memory. */
    oomKills() {
      const pattern = /^oom_kill (\d+)$/m;
      return since(read('memory.events', pattern) ?? read('memory.oom_control', pattern), before.oomKills);
    },
    cpuSeconds() {
      const microseconds = read('cpu.stat', /^usage_usec (\d+)$/m);
      const nanoseconds = microseconds === undefined ? read('cpuacct.usage') : microseconds * 1000;
      return since(nanoseconds && nanoseconds / 1e9, before.cpuSeconds);
    },
    processes: () => read('pids.current'),
  };
}

/** How often a fork was refused. */
export function readForkRefusals(directories: readonly GroupDirectory[]): number | undefined {
  return readNumber(directories, 'pids.events', /^max (\d+)$/m);
}

/** From the first directory where it is found: `cpu.stat`, for one, has other fields in version 1. */
function readNumber(
  directories: readonly GroupDirectory[],
  name: string,
  pattern: RegExp,
): number | undefined {
  for (const directory of directories) {
    if (!hasFile(directory, name)) continue;
    const found = pattern.exec(readControl(directory, name) ?? '')?.[1];
    if (found !== undefined) return Number(found);
  }
  return undefined;
}

/** Not "max", which is none in version 2, and not -1 or a huge number, which are none in version 1. */
function isLimit(text: string | undefined): boolean {
  const first = /^\d+/.exec(text ?? '')?.[0];
  return first !== undefined && Number(first) < UNLIMITED;
}
