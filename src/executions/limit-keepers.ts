/** Who keeps which limit of an execution on this machine. */
import { existsSync } from 'node:fs';
import type { Enforcement } from './cgroups/cgroups.ts';

export interface LimitKeepers {
  readonly memory: string;
  readonly processes: string;
  readonly cpu_share: string;
  readonly cpu_time: string;
  readonly file_size: string;
  readonly tmp_size: string;
}

export function limitKeepers({ memory, processes, cpu }: Enforcement): LimitKeepers {
  const isOrdinary = process.platform === 'linux' && process.getuid?.() !== 0;
  return {
    memory: memory ?? 'measured',
    processes: processes ?? (isOrdinary ? 'rlimit, in the sandbox' : 'nobody'),
    cpu_share: cpu ?? 'nobody',
    cpu_time: 'measured',
    file_size: existsSync('/usr/bin/prlimit') ? 'rlimit' : 'nobody',
    tmp_size: 'tmpfs, in the sandbox',
  };
}
