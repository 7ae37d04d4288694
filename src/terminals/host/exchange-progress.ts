/** How far callers have had their answers: a later wait misses nothing that came in between. */
import type { Waited, WaitSpec } from '../protocol.ts';
import { type Before, type Observed, rememberBefore, settle } from './settle.ts';

export type Progress = ReturnType<typeof createProgress>;

export function createProgress(observed: Observed) {
  /** What came before this, was answered. */
  let answered: Before | undefined;
  let typed: Before | undefined;
  /** The same for readers that have read since something was typed last. */
  const readBy = new Map<string, Before>();
  return {
    wait: (since: Before, spec: WaitSpec, signal: AbortSignal): Promise<Waited> =>
      settle(observed, spec, { ...since, at: performance.now() }, signal),
    of: (reader: string): Before => readBy.get(reader) ?? answered ?? rememberBefore(observed),
    lastTyped: (): Before | undefined => typed,
    noteTyped(before: Before): void {
      typed = before;
      answered = before;
      readBy.clear();
    },
    noteAnswered(): void {
      answered = rememberBefore(observed);
    },
    noteRead(reader: string, until: Before): void {
      readBy.set(reader, until);
    },
  };
}

/** Who goes on waiting waits for the same thing. */
export const isAnswered = ({ reason }: Waited): boolean => reason !== 'timeout_still_running';
