/**
 * Sessions of which this server has no state though commands ran in them: it was restarted, or has forgotten them over
 * many others. The next call of such a session says so, since its command would otherwise run in an unexpected directory.
 */
import type { Sessions } from './sessions.ts';

export function createLostSessions(
  sessions: Pick<Sessions, 'has'>,
  /** Whether there are executions of it. */
  wasUsed: (principal: string, sessionId: string) => Promise<boolean>,
) {
  /** What is refused is not told, and leaves a session that looks like any other. */
  const unreported = new Set<string>();
  const keyOf = (principal: string, sessionId: string): string => JSON.stringify([principal, sessionId]);
  return {
    /** True until a caller was informed. */
    async has(principal: string, sessionId: string): Promise<boolean> {
      const key = keyOf(principal, sessionId);
      if (!sessions.has(principal, sessionId) && (await wasUsed(principal, sessionId))) unreported.add(key);
      return unreported.has(key);
    },
    informed: (principal: string, sessionId: string) => void unreported.delete(keyOf(principal, sessionId)),
  };
}
