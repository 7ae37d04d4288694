/**
 * What a principal's calls have left in servers that run now: what it has tightened, and where its commands run that name
 * no directory. Only the servers' memory holds it, and the audit log has a line for each change.
 */
import { join } from 'node:path';
import { findProcess } from '../executions/processes.ts';
import { type AuditLine, byTime, readAudit, type Wish } from '../security/security.ts';

export interface Left {
  readonly tightened: readonly Wish[];
  /** Undefined where it has set none. */
  readonly defaultDirectory: string | undefined;
}

const CHANGES = new Set<unknown>(['restrictions_tightened', 'default_directory_set']);

export function leftByCalls(principal: string, stateDir: string): Left {
  const opened = new Map<string, number>();
  const changes: AuditLine[] = [];
  for (const line of readAudit(join(stateDir, 'audit'))) {
    const { event, pid } = line.fields;
    if (event === 'log_opened' && typeof pid === 'number') opened.set(line.instance, pid);
    else if (event === 'log_closed') opened.delete(line.instance);
    else if (CHANGES.has(event) && line.fields['principal'] === principal) changes.push(line);
  }
  const fields = changes
    .filter(({ instance }) => findProcess(opened.get(instance) ?? -1) !== undefined)
    .sort(byTime)
    .map((line) => line.fields);
  const directory = fields.findLast(({ event }) => event === 'default_directory_set')?.['directory'];
  return {
    tightened: fields
      .filter(({ event }) => event === 'restrictions_tightened')
      .map(({ asked }) => (asked ?? {}) as Wish),
    defaultDirectory: typeof directory === 'string' ? directory : undefined,
  };
}
