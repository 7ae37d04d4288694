/** How a request is refused: a status, perhaps headers, and a body that says why. Thrown by whatever finds the reason. */
import type { ShellServerError } from '../../base/errors.ts';
import { toWireError } from '../encode.ts';
import { errorReply } from '../json-rpc.ts';

type Headers = Readonly<Record<string, string>>;
type Body = { readonly error: { readonly message: string; readonly code: string | number } };

export class Rejection extends Error {
  override readonly name = 'Rejection';
  readonly status: number;
  readonly body: Body;
  readonly headers: Headers;

  constructor(status: number, body: Body, headers: Headers = {}) {
    super(body.error.message);
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

const CHALLENGE = 'Bearer realm="mcp-shell-server"';

/** What a caller without a token, with a wrong one, or with one of another scope gets, by RFC 6750. */
export const NO_TOKEN = { 'www-authenticate': CHALLENGE };
export const INVALID_TOKEN = { 'www-authenticate': `${CHALLENGE}, error="invalid_token"` };
export const INSUFFICIENT_SCOPE = { 'www-authenticate': `${CHALLENGE}, error="insufficient_scope"` };

/** About the protocol: an error of JSON-RPC. */
export function protocolRejection(
  status: number,
  code: number,
  message: string,
  headers?: Headers,
): Rejection {
  return new Rejection(status, errorReply(null, code, message), headers);
}

/** About the server: an error of ours, in the shape that it has everywhere. */
export function serverRejection(
  status: number,
  error: ShellServerError,
  requestId: string,
  headers?: Headers,
): Rejection {
  return new Rejection(status, { error: toWireError(error, requestId, Date.now()) }, headers);
}

/** With the id by which an operator finds it; an error of JSON-RPC has it where JSON-RPC leaves room. */
export function encodeBody({ body }: Rejection, requestId: string): string {
  const error = 'request_id' in body.error ? body.error : { ...body.error, data: { request_id: requestId } };
  return JSON.stringify({ ...body, error });
}
