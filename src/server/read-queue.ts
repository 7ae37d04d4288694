/**
 * Whose turn it is. A tool that only reads is quick, but its answer may have a megabyte: a thousand of them at once
 * would be all that the server does, and all of its memory. So of one principal a few are read at a time, and the others
 * wait in line; what other principals ask for comes between them.
 */
import { LIMITS } from '../base/limits.ts';
import { createQuota } from '../base/quota.ts';

export function createTurns(most: number = LIMITS.readsAtOnce) {
  const busy = createQuota({ each: most });
  const queues = new Map<string, Set<() => void>>();

  function wait(principal: string, signal: AbortSignal): Promise<void> {
    const queue = queues.get(principal) ?? new Set();
    queues.set(principal, queue);
    return new Promise<void>((resolve, reject) => {
      const begin = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = (): void => {
        queue.delete(begin);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      queue.add(begin);
    });
  }

  /** The next in the queue takes over the place directly. */
  function leave(principal: string): void {
    const queue = queues.get(principal);
    const [next] = queue ?? [];
    if (next === undefined) {
      queues.delete(principal);
      busy.giveBack(principal);
    } else {
      queue?.delete(next);
      next();
    }
  }

  return {
    /** Does it when it is the principal's turn; rejects where the signal comes before. */
    async take<Result>(principal: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
      signal.throwIfAborted();
      if (busy.full(principal) === undefined) busy.take(principal);
      else await wait(principal, signal);
      try {
        return await work();
      } finally {
        leave(principal);
      }
    },
  };
}
