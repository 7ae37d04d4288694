/** What a person does on the page is in the audit log before it is done, with the session that did it. */
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { createId } from '../base/ids.ts';
import type { Settings } from '../base/settings.ts';
import { OPERATOR } from '../executions/executions.ts';
import { type Audit, type AuditEntry, createAudit } from '../security/security.ts';
import type { Session } from './page-sessions.ts';

type About = 'principal' | 'requestId' | 'session';
type Entry<Event> = Omit<Extract<AuditEntry, { event: Event }>, About>;

export type Actions = ReturnType<typeof createActions>;

export function createActions({ stateDir, audit: { syncs } }: Settings) {
  let audit: Audit | undefined;

  /** Throws where it cannot be written: then it must not be done. */
  function write(session: Session, entry: Entry<'page_action'> | Entry<'approval_revoked'>): void {
    // With the first action: viewing leaves no trace.
    audit ??= createAudit({
      directory: join(stateDir, 'audit'),
      instance: createId('inst'),
      clock: systemClock,
      principal: OPERATOR.principal,
      syncs,
    });
    audit.write({ ...entry, principal: OPERATOR.principal, requestId: 'page', session: session.name });
  }

  return {
    write,
    record: (session: Session, action: Omit<Entry<'page_action'>, 'event'>): void =>
      write(session, { event: 'page_action', ...action }),
    dispose: (): void => audit?.close(),
  };
}
