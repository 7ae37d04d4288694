/**
 * How fast requests are begun. What all of them do is done on one thread, in turns of the event loop; where a thousand
 * requests of one principal were begun in one turn, somebody else's, which needs a few turns, would wait for all of
 * them each time. So a few of each principal are begun in a turn, and the others in the next ones.
 */
import { LIMITS } from '../base/limits.ts';

/** Resolves when a request of this principal may be begun, in the order they came. */
export type Pace = (principal: string) => Promise<void>;

export function createPace(most: number = LIMITS.requestsATurn): Pace {
  const begun = new Map<string, number>();
  const waiting = new Map<string, (() => void)[]>();
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(nextTurn);
  }

  function nextTurn(): void {
    isScheduled = false;
    begun.clear();
    for (const [principal, queue] of waiting) {
      const now = queue.splice(0, most);
      if (queue.length === 0) waiting.delete(principal);
      begun.set(principal, now.length);
      for (const begin of now) begin();
    }
    if (begun.size > 0) schedule();
  }

  return (principal) => {
    schedule();
    const count = begun.get(principal) ?? 0;
    const queue = waiting.get(principal);
    if (queue === undefined && count < most) {
      begun.set(principal, count + 1);
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      if (queue === undefined) waiting.set(principal, [resolve]);
      else queue.push(resolve);
    });
  };
}
