/** Lines of the audit log about what a person does with a command: a short log of its own, which is no server's. */
import { join } from 'node:path';
import { attempt } from '../base/attempt.ts';
import { systemClock } from '../base/clock.ts';
import { createId } from '../base/ids.ts';
import type { Settings } from '../base/settings.ts';
import { OPERATOR } from '../executions/executions.ts';
import { type AuditEntry, createAudit } from '../security/security.ts';

type OfOperator<Entry> = Entry extends unknown ? Omit<Entry, keyof typeof OPERATOR> : never;

export function recordAsOperator(
  { stateDir, audit: { syncs } }: Settings,
  entry: OfOperator<AuditEntry>,
  options: { readonly reserve?: string } = {},
): void {
  const audit = createAudit({
    directory: join(stateDir, 'audit'),
    instance: createId('inst'),
    clock: systemClock,
    principal: OPERATOR.principal,
    syncs,
    ...options,
  });
  audit.write({ ...entry, ...OPERATOR });
  // A full disk may have taken the line and not the end of its log: what is recorded is recorded.
  attempt(() => audit.close());
}
