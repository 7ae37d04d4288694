/**
 * What a principal has tightened in servers that run now. Only their memory holds it, and the audit log has a line for
 * each change, with what was asked for.
 */
import { join } from 'node:path';
import { findProcess } from '../executions/processes.ts';
import { type AuditLine, byTime, readAudit, type Wish } from '../security/security.ts';

export function tightenedBy(principal: string, stateDir: string): Wish[] {
  const opened = new Map<string, number>();
  const changes: AuditLine[] = [];
  for (const line of readAudit(join(stateDir, 'audit'))) {
    const { event, pid } = line.fields;
    if (event === 'log_opened' && typeof pid === 'number') opened.set(line.instance, pid);
    else if (event === 'log_closed') opened.delete(line.instance);
    else if (event === 'restrictions_tightened' && line.fields['principal'] === principal) changes.push(line);
  }
  return changes
    .filter(({ instance }) => findProcess(opened.get(instance) ?? -1) !== undefined)
    .sort(byTime)
    .map(({ fields }) => (fields['asked'] ?? {}) as Wish);
}
