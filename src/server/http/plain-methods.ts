/**
 * The methods beside MCP over HTTP, without a handshake: a POST with one of them, or with a batch of them, and no
 * session is answered as plain JSON. Closing the connection is the cancellation, since there is nothing to resume.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Log } from '../../base/log.ts';
import { MethodError } from '../call-errors.ts';
import type { Dispatch } from '../dispatch.ts';
import { claimsRevision, classify, errorReply, type Incoming } from '../json-rpc.ts';
import type { HttpCaller } from './auth-info.ts';

export interface HttpMethods {
  /** Whether this request is one for them. */
  takes(request: IncomingMessage, body: unknown): boolean;
  answer(response: ServerResponse, caller: HttpCaller, body: unknown): Promise<void>;
  /** Cancels what is under way. */
  close(): void;
}

const INTERNAL_ERROR = -32_603;

export function createHttpMethods(dispatch: Pick<Dispatch, 'methods' | 'invoke'>, log: Log): HttpMethods {
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
      if (error instanceof MethodError) {
        const { code, message, data } = error;
        return { jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } };
      }
      if (!signal.aborted) log.error('a method failed', { method, error: messageOf(error) });
      return errorReply(id, INTERNAL_ERROR, 'Internal error');
    }
  }

  return {
    takes(request, body) {
      if (request.method !== 'POST' || request.headers['mcp-session-id'] !== undefined) return false;
      const values = Array.isArray(body) ? body : [body];
      return (
        values.length > 0 &&
        values.length <= LIMITS.batchMessages &&
        values.every((value) => isOurs(classify(value)))
      );
    },
    async answer(response, caller, body) {
      const left = new AbortController();
      underWay.add(left);
      response.once('close', () => left.abort());
      try {
        const values: unknown[] = Array.isArray(body) ? body : [body];
        const replies = await Promise.all(
          values.map((value) => answerOne(classify(value), caller, left.signal)),
        );
        const text = JSON.stringify(Array.isArray(body) ? replies : replies[0]);
        response.writeHead(200, { 'content-type': 'application/json' }).end(text);
      } finally {
        underWay.delete(left);
      }
    },
    close() {
      for (const left of underWay) left.abort();
    },
  };
}
