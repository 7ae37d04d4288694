/**
 * Requests of ours to a client, on a connection where the server may ask: each gets its own id, waits so long, and is
 * called off where nobody waits for its answer any more.
 */
import type { JSONRPCMessage, JSONRPCResponse, RequestId } from '@modelcontextprotocol/server';
import { cancellationOf } from './json-rpc.ts';

export interface ClientRequests {
  /** The client's result. Rejects with its error, with AnswerTimeout, or with the signal's reason. */
  send(method: string, params: object, options: { timeoutMs: number; signal: AbortSignal }): Promise<unknown>;
  /** False where nobody asked for it. */
  settle(response: JSONRPCResponse): boolean;
  /** What waits is rejected. */
  close(error: Error): void;
}

/** Nobody answered in time. */
export class AnswerTimeout extends Error {
  override readonly name = 'AnswerTimeout';
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

export function createClientRequests(write: (message: JSONRPCMessage) => Promise<void>): ClientRequests {
  const waiting = new Map<RequestId, Waiting>();
  let nextId = 0;

  function callOff(id: RequestId, reason: string): void {
    write(cancellationOf(id, reason)).catch(() => undefined);
  }

  return {
    async send(method, params, { timeoutMs, signal }) {
      signal.throwIfAborted();
      const id = nextId++;
      let onAbort: (() => void) | undefined;
      let timer: NodeJS.Timeout | undefined;
      try {
        return await new Promise((resolve, reject) => {
          onAbort = () => {
            callOff(id, String(signal.reason));
            reject(signal.reason as Error);
          };
          signal.addEventListener('abort', onAbort, { once: true });
          timer = setTimeout(() => {
            const late = new AnswerTimeout('Request timed out');
            callOff(id, late.message);
            reject(late);
          }, timeoutMs);
          waiting.set(id, { resolve, reject });
          write({ jsonrpc: '2.0', id, method, params: { ...params } }).catch(reject);
        });
      } finally {
        waiting.delete(id);
        clearTimeout(timer);
        if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
      }
    },
    settle(response) {
      const asked = response.id === undefined ? undefined : waiting.get(response.id);
      if (asked === undefined) return false;
      if ('result' in response) asked.resolve(response.result);
      else asked.reject(new Error(response.error.message, { cause: response.error }));
      return true;
    },
    close(error) {
      for (const { reject } of waiting.values()) reject(error);
    },
  };
}
