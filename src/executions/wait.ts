/**
 * The one race. However a caller waits, it is for the first of: the end, its patience, the output limit, or its own
 * departure. "Still running" is a normal answer.
 */
import { LIMITS } from '../base/limits.ts';
import type { Live } from './live.ts';
import type { Outcome } from './record.ts';
import { hasEndedByItself } from './until-gone.ts';

interface Running {
  readonly kind: 'running';
  readonly why: 'wait_limit' | 'foreground_timeout' | 'output_size_limit';
}

export type WaitResult =
  | { readonly kind: 'ended'; readonly outcome: Outcome }
  | Running
  | { readonly kind: 'aborted' };

interface WaitLimits {
  /** How long the client's own limit lets us wait. */
  readonly patienceMs: number;
  /** Adaptive: how long the caller wants to wait. */
  readonly foregroundMs?: number | undefined;
  /** Adaptive: above this the caller is answered, unless it ends a moment later. */
  readonly outputBytes?: number;
}

/** How often the output's size is looked at where nobody tells us of a chunk. */
const SIZE_POLL_MS = 50;
/** For a command that has printed much and is about to end. */
const LAST_MS = 2000;

export function waitForEnd(live: Live, limits: WaitLimits, signal: AbortSignal): Promise<WaitResult> {
  return new Promise((resolve, reject) => {
    const timers: NodeJS.Timeout[] = [];
    const settle = (result: WaitResult): void => {
      for (const timer of timers) clearInterval(timer);
      signal.removeEventListener('abort', abort);
      resolve(result);
    };
    const abort = (): void => settle({ kind: 'aborted' });
    const giveUp = async (why: Running['why']): Promise<void> => {
      if (!(await hasEndedByItself(live.tree, live.finished, live.checkEnd)))
        settle({ kind: 'running', why });
    };
    const after = (ms: number, why: Running['why']): void => {
      timers.push(setTimeout(() => void giveUp(why), Math.min(ms, LIMITS.timerMs)));
    };

    live.finished.then((outcome) => settle({ kind: 'ended', outcome }), reject);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    if (limits.foregroundMs !== undefined && limits.foregroundMs <= limits.patienceMs) {
      after(limits.foregroundMs, 'foreground_timeout');
    } else {
      after(limits.patienceMs, 'wait_limit');
    }
    const { outputBytes } = limits;
    if (outputBytes !== undefined) {
      const poll = setInterval(() => {
        if (live.outputBytes() <= outputBytes) return;
        clearInterval(poll);
        after(LAST_MS, 'output_size_limit');
      }, SIZE_POLL_MS);
      timers.push(poll);
    }
  });
}
