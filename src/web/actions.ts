/** What a person does on the page is in the audit log before it is done, with the session that did it. */
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { createId } from '../base/ids.ts';
import type { Settings } from '../base/settings.ts';
import { OPERATOR } from '../executions/executions.ts';
import { type Audit, type AuditEntry, createAudit } from '../security/security.ts';
import type { Session } from './page-sessions.ts';

type PageAction = Omit<Extract<AuditEntry, { event: 'page_action' }>, 'event' | 'principal' | 'requestId'>;

export interface Actions {
  /** Throws where it cannot be written: then it must not be done. */
  record(session: Session, action: Omit<PageAction, 'session'>): void;
  dispose(): void;
}

export function createActions({ stateDir, audit: { syncs } }: Settings): Actions {
  let audit: Audit | undefined;
  return {
    record(session, action) {
      // With the first action: viewing leaves no trace.
      audit ??= createAudit({
        directory: join(stateDir, 'audit'),
        instance: createId('inst'),
        clock: systemClock,
        principal: OPERATOR.principal,
        syncs,
      });
      audit.write({
        event: 'page_action',
        principal: OPERATOR.principal,
        requestId: 'page',
        session: session.name,
        ...action,
      });
    },
    dispose: () => audit?.close(),
  };
}
