/**
 * Whose turn it is. A tool that only reads is quick, but its answer may have a megabyte: a thousand of them at once
 * would be all that the server does, and all of its memory. So of one principal a few are read at a time, and the others
 * wait in line; what other principals ask for comes between them.
 */
import { LIMITS } from '../base/limits.ts';

export interface Turns {
  /** Does it when it is the principal's turn; rejects where the signal comes before. */
  take<Result>(principal: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result>;
}

interface Line {
  busy: number;
  readonly waiting: Set<() => void>;
}

export function createTurns(most: number = LIMITS.readsAtOnce): Turns {
  const lines = new Map<string, Line>();

  async function wait({ waiting }: Line, signal: AbortSignal): Promise<void> {
    let onAbort: (() => void) | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        onAbort = () => {
          waiting.delete(resolve);
          reject(signal.reason as Error);
        };
        signal.addEventListener('abort', onAbort);
        waiting.add(resolve);
      });
    } finally {
      if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
    }
  }

  /** The next in the queue takes over the place directly. */
  function leave(principal: string, line: Line): void {
    const [next] = line.waiting;
    if (next !== undefined) {
      line.waiting.delete(next);
      next();
      return;
    }
    line.busy--;
    if (line.busy === 0) lines.delete(principal);
  }

  return {
    async take(principal, signal, work) {
      signal.throwIfAborted();
      const line = lines.get(principal) ?? { busy: 0, waiting: new Set() };
      lines.set(principal, line);
      if (line.busy < most) line.busy++;
      else await wait(line, signal);
      try {
        return await work();
      } finally {
        leave(principal, line);
      }
    },
  };
}
