import { LIMITS } from '../base/limits.ts';
import type { Execution } from '../executions/executions.ts';
import type { Call } from './tool.ts';

/** The last lines as they come; the edge decides how often they are sent. */
export function reportProgress({ live }: Execution, { progress }: Call): void {
  if (progress === undefined) return;
  live?.onOutput((chunk) => {
    const text = Buffer.from(chunk.subarray(-LIMITS.progressMessageBytes)).toString('utf8').trimEnd();
    if (text !== '') progress(text);
  });
}
