/**
 * Requests of ours to a client, on a connection where the server may ask: each gets its own id, waits so long, and is
 * called off where nobody waits for its answer any more.
 */
import type { JSONRPCMessage, JSONRPCResponse, RequestId } from '@modelcontextprotocol/server';
import { cancellationOf } from './json-rpc.ts';

export type ClientRequests = ReturnType<typeof createClientRequests>;

/** Nobody answered in time. */
export class AnswerTimeout extends Error {
  override readonly name = 'AnswerTimeout';
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

export function createClientRequests(write: (message: JSONRPCMessage) => Promise<void>) {
  const waiting = new Map<RequestId, Waiting>();
  let nextId = 0;

  function callOff(id: RequestId, reason: string): void {
    write(cancellationOf(id, reason)).catch(() => undefined);
  }

  return {
    /** The client's result. Rejects with its error, with AnswerTimeout, or with the signal's reason. */
    async send(
      method: string,
      params: object,
      { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
    ): Promise<unknown> {
      signal.throwIfAborted();
      const id = nextId++;
      const giveUp = (reason: Error, why: string): void => {
        callOff(id, why);
        waiting.get(id)?.reject(reason);
      };
      const onAbort = (): void => giveUp(signal.reason as Error, String(signal.reason));
      const late = new AnswerTimeout('Request timed out');
      const timer = setTimeout(() => giveUp(late, late.message), timeoutMs);
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        return await new Promise((resolve, reject) => {
          waiting.set(id, { resolve, reject });
          write({ jsonrpc: '2.0', id, method, params: { ...params } }).catch(reject);
        });
      } finally {
        waiting.delete(id);
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
      }
    },
    /** False where nobody asked for it. */
    settle(response: JSONRPCResponse): boolean {
      const asked = response.id === undefined ? undefined : waiting.get(response.id);
      if (asked === undefined) return false;
      if ('result' in response) asked.resolve(response.result);
      else asked.reject(new Error(response.error.message, { cause: response.error }));
      return true;
    },
    /** What waits is rejected. */
    close(error: Error): void {
      for (const { reject } of waiting.values()) reject(error);
    },
  };
}
