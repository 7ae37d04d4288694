/** How each limit of a principal's executions is enforced on this machine. */
import { existsSync } from 'node:fs';
import { realPathOf } from '../base/config/paths.ts';
import type { SecuritySettings } from '../base/settings.ts';
import type { SandboxState } from '../security/security.ts';
import type { Enforcement, ExecutionGroup } from './cgroups/cgroups.ts';

export type LimitEnforcement = ReturnType<typeof limitEnforcement>;

interface EnforcementFacts {
  /** What cgroups were seen to enforce. */
  readonly held: Enforcement;
  /** The sandbox that commands run in. */
  readonly sandboxKind: SandboxState['kind'];
  readonly security: Pick<SecuritySettings, 'keepsTmp' | 'workspace'>;
  readonly isRoot?: boolean;
}

export const NOT_ENFORCED = 'not enforced';

/**
 * Of the memory limit. Nearer to it, a program that asks for too much at once would be refused that and go on, where it is
 * to be measured and ended.
 */
const DATA_SHARE = 4;
const MIN_DATA_BYTES = 4 * 1024 ** 3;

/**
 * What one process may map of private memory where no cgroup enforces the memory limit: a backstop, for a server that does
 * not get its turn to measure. What is only reserved (Java, Go, V8) does not count.
 */
export function dataLimitOf(
  memoryBytes: number | undefined,
  group: Pick<ExecutionGroup, 'held'> | undefined,
): number | undefined {
  if (process.platform !== 'linux' || memoryBytes === undefined) return undefined;
  if (group?.held().memory !== undefined) return undefined;
  return Math.max(MIN_DATA_BYTES, memoryBytes * DATA_SHARE);
}

export function limitEnforcement(facts: EnforcementFacts) {
  const { held, sandboxKind, security, isRoot = process.getuid?.() === 0 } = facts;
  const isSandboxed = sandboxKind === 'bubblewrap';
  const hasRlimits = process.platform === 'linux' && existsSync('/usr/bin/prlimit');
  // Listed among the writable directories, or kept from one command to the next, it is a directory on the disk.
  const isTmpMemory =
    isSandboxed && !security.keepsTmp && !security.workspace.map(realPathOf).includes('/tmp');
  return {
    memory: held.memory ?? 'measured',
    // Outside a namespace of its own it would count all processes of the user, and it never holds for root.
    processes: held.processes ?? (isSandboxed && !isRoot ? 'rlimit, in the sandbox' : NOT_ENFORCED),
    cpu_share: held.cpu ?? NOT_ENFORCED,
    cpu_time: 'measured',
    file_size: hasRlimits ? 'rlimit' : NOT_ENFORCED,
    tmp_size: isTmpMemory ? 'tmpfs, in the sandbox' : NOT_ENFORCED,
  };
}
