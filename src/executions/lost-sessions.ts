/**
 * Sessions of which this server has no state though commands ran in them: it was restarted, or has forgotten them over
 * many others. Whoever goes on in one is told, since the command would else run in another directory than they think.
 */
import type { Sessions } from './sessions.ts';

export interface LostSessions {
  /** True until somebody was told. */
  has(principal: string, sessionId: string): Promise<boolean>;
  told(principal: string, sessionId: string): void;
}

export function createLostSessions(
  sessions: Pick<Sessions, 'has'>,
  /** Whether there are executions of it. */
  wasUsed: (principal: string, sessionId: string) => Promise<boolean>,
): LostSessions {
  /** What is refused is not told, and leaves a session that looks like any other. */
  const untold = new Set<string>();
  const keyOf = (principal: string, sessionId: string): string => JSON.stringify([principal, sessionId]);
  return {
    async has(principal, sessionId) {
      const key = keyOf(principal, sessionId);
      if (!sessions.has(principal, sessionId) && (await wasUsed(principal, sessionId))) untold.add(key);
      return untold.has(key);
    },
    told: (principal, sessionId) => void untold.delete(keyOf(principal, sessionId)),
  };
}
