/**
 * Sessions of which this server has no state though commands ran in them: it was restarted, or has forgotten them over
 * many others. The next answer to a call in such a session says so, since its commands run in an unexpected directory.
 */
import { messageOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { ExecutionRecord } from './record.ts';
import type { SessionNames } from './session-names.ts';
import type { Sessions } from './sessions.ts';
import type { Summary } from './store.ts';

interface LostSessionsOptions {
  readonly sessions: Pick<Sessions, 'has' | 'get'>;
  readonly names: SessionNames;
  readonly log: Log;
  /** The executions of a principal that are on record. */
  list(principal: string): Promise<readonly Pick<Summary, 'sessionId'>[]>;
}

/** A command, and whether its session was lost. */
interface Started {
  readonly isSessionLost: boolean;
  readonly record: Pick<ExecutionRecord, 'owner' | 'sessionId'>;
}

export function createLostSessions({ sessions, names, log, list }: LostSessionsOptions) {
  return {
    /** True until an answer has said so. */
    async has(principal: string, sessionId: string): Promise<boolean> {
      if (sessions.has(principal, sessionId)) return sessions.get(principal, sessionId).past === 'lost';
      const isLost =
        names.has(principal, sessionId) ||
        (await list(principal)).some((summary) => summary.sessionId === sessionId);
      sessions.get(principal, sessionId).past = isLost ? 'lost' : 'none';
      return isLost;
    },
    /** A command runs in it. */
    used(principal: string, sessionId: string): void {
      const session = sessions.get(principal, sessionId);
      if (session.past === 'known') return;
      if (session.past === 'none') session.past = 'known';
      try {
        names.remember(principal, sessionId);
      } catch (error) {
        log.warn('the name of a session cannot be written', { error: messageOf(error) });
      }
    },
    /** Its caller is answered, and the answer says what was lost; nobody gets that of a call which was cancelled. */
    answered({ isSessionLost, record: { owner, sessionId } }: Started): void {
      if (!isSessionLost || sessionId === undefined || !sessions.has(owner, sessionId)) return;
      sessions.get(owner, sessionId).past = 'known';
    },
  };
}
