/**
 * The methods beside MCP over HTTP, without a handshake: a POST with one of them, or with a batch of them, and no
 * session is answered as plain JSON. Closing the connection is the cancellation, since there is nothing to resume.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Log } from '../../base/log.ts';
import { MethodError, toErrorObject } from '../call-errors.ts';
import type { Dispatch } from '../dispatch.ts';
import { claimsRevision, errorReply, INTERNAL_ERROR, type Incoming, messagesIn } from '../json-rpc.ts';
import type { HttpCaller } from './auth-info.ts';

export function createHttpMethods(dispatch: Pick<Dispatch, 'methods' | 'invoke'>, log: Log) {
  const underWay = new Set<AbortController>();

  const isOurs = (incoming: Incoming): boolean =>
    incoming.kind === 'request' &&
    dispatch.methods.includes(incoming.message.method) &&
    !claimsRevision(incoming.message);

  async function answerOne(incoming: Incoming, caller: HttpCaller, signal: AbortSignal): Promise<unknown> {
    if (incoming.kind !== 'request') return undefined;
    const { id, method, params } = incoming.message;
    const client = { name: '', version: '' };
    try {
      const { _meta: _, ...own } = (params ?? {}) as Record<string, unknown>;
      return {
        jsonrpc: '2.0',
        id,
        // Of a batch nothing is out before all of it is done, so that none of it can wait for that.
        result: await dispatch.invoke(method, own, { ...caller, outbox: undefined, client, signal }),
      };
    } catch (error) {
      if (error instanceof MethodError) return { jsonrpc: '2.0', id, error: toErrorObject(error) };
      if (!signal.aborted) log.error('a method failed', { method, error: messageOf(error) });
      return errorReply(id, INTERNAL_ERROR, 'Internal error');
    }
  }

  return {
    /** Whether this request is one for them. */
    takes(request: IncomingMessage, body: unknown): boolean {
      if (request.method !== 'POST' || request.headers['mcp-session-id'] !== undefined) return false;
      const messages = messagesIn(body);
      return messages.length > 0 && messages.length <= LIMITS.batchMessages && messages.every(isOurs);
    },
    async answer(response: ServerResponse, caller: HttpCaller, body: unknown): Promise<void> {
      const left = new AbortController();
      underWay.add(left);
      response.once('close', () => left.abort());
      try {
        const replies = await Promise.all(
          messagesIn(body).map((incoming) => answerOne(incoming, caller, left.signal)),
        );
        const text = JSON.stringify(Array.isArray(body) ? replies : replies[0]);
        response.writeHead(200, { 'content-type': 'application/json' }).end(text);
      } finally {
        underWay.delete(left);
      }
    },
    /** Cancels what is under way. */
    close(): void {
      for (const left of underWay) left.abort();
    },
  };
}
