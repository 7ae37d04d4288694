/** What a view asks its server for, and what it says where that fails. */
import { useState } from 'preact/hooks';
import { request } from './api.ts';
import { notice } from './page-state.ts';

export const wordsOf = (error: unknown): string =>
  error instanceof Error ? error.message : 'The request failed.';

interface Requested<Answer> {
  /** The last one. */
  readonly answer: Answer | undefined;
  readonly failure: string;
  ask(path: string, body?: unknown, signal?: AbortSignal): Promise<void>;
}

export function useRequest<Answer>(): Requested<Answer> {
  const [answer, setAnswer] = useState<Answer | undefined>(undefined);
  const [failure, setFailure] = useState('');
  return {
    answer,
    failure,
    async ask(path, body, signal) {
      try {
        setAnswer(await request<Answer>(path, body, signal));
        setFailure('');
      } catch (error) {
        if (signal?.aborted !== true) setFailure(wordsOf(error));
      }
    },
  };
}

/** Does what a person has asked for, and tells them where it fails. */
export async function act(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    notice.value = wordsOf(error);
  }
}
