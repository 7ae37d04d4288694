/** How a request is refused: a status, perhaps headers, and a body that says why. */
import type { ShellServerError } from '../../base/errors.ts';
import { toWireError } from '../encode.ts';
import { errorReply } from '../json-rpc.ts';

export interface Rejection {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

const CHALLENGE = 'Bearer realm="mcp-shell-server"';

/** What a caller without a token, with a wrong one, or with one of another scope gets, by RFC 6750. */
export const NO_TOKEN = { 'www-authenticate': CHALLENGE };
export const INVALID_TOKEN = { 'www-authenticate': `${CHALLENGE}, error="invalid_token"` };
export const INSUFFICIENT_SCOPE = { 'www-authenticate': `${CHALLENGE}, error="insufficient_scope"` };

/** About the protocol: an error of JSON-RPC. */
export function protocolRejection(status: number, code: number, message: string): Rejection {
  return { status, body: errorReply(null, code, message) };
}

/** For those who read no JSON. */
export function reasonOf(rejection: Rejection): string {
  return (rejection.body as { error: { message: string } }).error.message;
}

/** With the id by which an operator finds it; an error of JSON-RPC has it where JSON-RPC leaves room. */
export function withRequestId(rejection: Rejection, requestId: string): Rejection {
  const { error } = rejection.body as { error: Readonly<Record<string, unknown>> };
  if ('request_id' in error) return rejection;
  return {
    ...rejection,
    body: { ...(rejection.body as object), error: { ...error, data: { request_id: requestId } } },
  };
}

/** About the server: an error of ours, in the shape that it has everywhere. */
export function serverRejection(
  status: number,
  error: ShellServerError,
  requestId: string,
  headers: Readonly<Record<string, string>> = {},
): Rejection {
  return { status, headers, body: { error: toWireError(error, requestId, Date.now()) } };
}
