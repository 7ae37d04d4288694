/** What is written to limit a group and what is read to see how it does, in both versions. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readText } from './hierarchies.ts';

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

export interface GroupUsage {
  /** With the page cache that the group filled. */
  readonly memoryBytes: number | undefined;
  readonly peakMemoryBytes: number | undefined;
  /** How many the kernel killed for lack of memory. */
  readonly oomKills: number | undefined;
  readonly cpuSeconds: number | undefined;
  readonly processes: number | undefined;
}

/** A group is one directory in version 2, and one in each tree that it is in of version 1. */
export interface GroupDirectory {
  readonly path: string;
  readonly version: 1 | 2;
}

const CPU_PERIOD_US = 100_000;
/** The kernel takes no quota below this. */
const CPU_QUOTA_MIN_US = 1000;
/** Version 1 shows about 2^63 where there is no limit, and no machine has this much. */
const UNLIMITED = 2 ** 60;

/** Sets those limits that this directory has files for. Throws where one is refused. */
export function writeLimits({ path }: GroupDirectory, limits: TreeLimits): void {
  /** False where the kernel has no such file. */
  const write = (name: string, value: number | string): boolean => {
    if (!existsSync(join(path, name))) return false;
    writeFileSync(join(path, name), String(value));
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
export function readEnforcement(directories: readonly GroupDirectory[]): Enforcement {
  const heldBy = (...names: readonly string[]): Held => {
    const holder = directories.find(({ path }) => names.some((name) => isLimit(readText(join(path, name)))));
    return holder && `cgroup v${holder.version}`;
  };
  return {
    memory: heldBy('memory.max', 'memory.limit_in_bytes'),
    processes: heldBy('pids.max'),
    cpu: heldBy('cpu.max', 'cpu.cfs_quota_us'),
  };
}

export function readUsage(directories: readonly GroupDirectory[]): GroupUsage {
  const read = (name: string, pattern = /^(\d+)$/): number | undefined =>
    readNumber(directories, name, pattern);
  const cpuMicroseconds = read('cpu.stat', /^usage_usec (\d+)$/m);
  const cpuNanoseconds = cpuMicroseconds === undefined ? read('cpuacct.usage') : cpuMicroseconds * 1000;
  return {
    memoryBytes: read('memory.current') ?? read('memory.usage_in_bytes'),
    peakMemoryBytes: read('memory.peak') ?? read('memory.max_usage_in_bytes'),
    oomKills: read('memory.events', /^oom_kill (\d+)$/m) ?? read('memory.oom_control', /^oom_kill (\d+)$/m),
    cpuSeconds: cpuNanoseconds === undefined ? undefined : cpuNanoseconds / 1e9,
    processes: read('pids.current'),
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
  for (const { path } of directories) {
    const found = pattern.exec(readText(join(path, name)) ?? '')?.[1];
    if (found !== undefined) return Number(found);
  }
  return undefined;
}

/** Not "max", which is none in version 2, and not -1 or a huge number, which are none in version 1. */
function isLimit(text: string | undefined): boolean {
  const first = /^\d+/.exec(text ?? '')?.[0];
  return first !== undefined && Number(first) < UNLIMITED;
}
