/** How each limit of a principal's executions is enforced on this machine. */
import { existsSync } from 'node:fs';
import { realPathOf } from '../base/config/paths.ts';
import type { SecuritySettings } from '../base/settings.ts';
import type { SandboxState } from '../security/security.ts';
import type { Enforcement } from './cgroups/cgroups.ts';

export interface LimitEnforcement {
  readonly memory: string;
  readonly processes: string;
  readonly cpu_share: string;
  readonly cpu_time: string;
  readonly file_size: string;
  readonly tmp_size: string;
}

interface EnforcementFacts {
  /** What cgroups were seen to enforce. */
  readonly held: Enforcement;
  /** The sandbox that commands run in. */
  readonly sandboxKind: SandboxState['kind'];
  readonly security: Pick<SecuritySettings, 'keepsTmp' | 'workspace'>;
  readonly isRoot?: boolean;
}

export const NOT_ENFORCED = 'not enforced';

export function limitEnforcement(facts: EnforcementFacts): LimitEnforcement {
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
