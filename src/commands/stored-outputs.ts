/** The outputs on a state directory, for a command that reads or removes them beside the servers. */
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { LIMITS } from '../base/limits.ts';
import { silentLog } from '../base/log.ts';
import type { Settings } from '../base/settings.ts';
import { createOutputs, type Outputs } from '../outputs/outputs.ts';

export function openStoredOutputs({ stateDir, limits, retention }: Settings): Outputs {
  return createOutputs({
    directory: join(stateDir, 'executions'),
    limits: { maxOutputBytes: limits.maxOutputBytes, tailBytes: LIMITS.outputTailBytes },
    retention,
    clock: systemClock,
    log: silentLog,
  });
}
