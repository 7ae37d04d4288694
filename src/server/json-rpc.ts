/**
 * JSON-RPC as it arrives: bytes to a value, and a value to what kind of message it is. What is valid is what the SDK's
 * own schemas accept (a test compares the two), so that nothing passes here which it would drop without an answer; but
 * the SDK is not needed to say so, and loading it takes longer than starting without it.
 */
import type {
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResponse,
  RequestId,
} from '@modelcontextprotocol/server';
import { LIMITS } from '../base/limits.ts';
import { isObject } from '../base/objects.ts';
import { isDeeperThan } from './json-depth.ts';

export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
export const METHOD_NOT_FOUND = -32_601;
export const INVALID_PARAMS = -32_602;
export const INTERNAL_ERROR = -32_603;

const PROTOCOL_VERSION_META_KEY = 'io.modelcontextprotocol/protocolVersion';
const RELATED_TASK_META_KEY = 'io.modelcontextprotocol/related-task';

/** An answer to what could not be read; JSON-RPC wants its id to be null, which the SDK's types do not know. */
export interface ErrorReply {
  readonly jsonrpc: '2.0';
  readonly id: RequestId | null;
  readonly error: { readonly code: number; readonly message: string };
}

export type Incoming =
  | { readonly kind: 'request'; readonly message: JSONRPCRequest }
  | { readonly kind: 'notification'; readonly message: JSONRPCNotification }
  | { readonly kind: 'response'; readonly message: JSONRPCResponse }
  | { readonly kind: 'ignored' }
  | { readonly kind: 'invalid'; readonly reply: ErrorReply };

export function errorReply(id: RequestId | null, code: number, message: string): ErrorReply {
  return { jsonrpc: '2.0', id, error: { code, message } };
}

export type ParsedJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reply: ErrorReply };

/** Bytes that are not UTF-8 are refused rather than repaired: a repaired command is another command. */
export function parseJson(bytes: Uint8Array): ParsedJson {
  let text: string;
  try {
    text = UTF8.decode(bytes);
  } catch {
    return refused(PARSE_ERROR, 'Parse error: the message is not valid UTF-8');
  }
  if (isDeeperThan(text, LIMITS.jsonDepth)) {
    return refused(INVALID_REQUEST, `Invalid request: nested deeper than ${LIMITS.jsonDepth} levels`);
  }
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return refused(PARSE_ERROR, 'Parse error: the message is not valid JSON');
  }
}

/** Without `stream` a decoder keeps nothing from one call to the next. */
const UTF8 = new TextDecoder('utf-8', { fatal: true });

export function classify(value: unknown): Incoming {
  if (!isObject(value)) return invalid(null, 'a message is an object');
  if (isCall(value)) {
    if (isRequestId(value['id']) && hasOnly(value, REQUEST_MEMBERS))
      return { kind: 'request', message: value as unknown as JSONRPCRequest };
    if (hasOnly(value, NOTIFICATION_MEMBERS))
      return { kind: 'notification', message: value as unknown as JSONRPCNotification };
  }
  if (!('method' in value) && ('result' in value || 'error' in value)) {
    // Codex answers what it cannot read with an error without an id; a reply to a reply would never end.
    return isResponse(value)
      ? { kind: 'response', message: value as unknown as JSONRPCResponse }
      : { kind: 'ignored' };
  }
  const id = isRequestId(value['id']) ? value['id'] : null;
  if (value['jsonrpc'] !== '2.0') return invalid(id, '"jsonrpc" must be "2.0"');
  if (typeof value['method'] !== 'string') return invalid(id, '"method" must be a string');
  if ('id' in value && id === null) return invalid(null, '"id" must be a string or an integer');
  if ('params' in value && !isObject(value['params'])) return invalid(id, '"params" must be an object');
  return invalid(id, 'not a JSON-RPC message');
}

/** Of a body or a line: one message, or a batch of them. */
export const messagesIn = (body: unknown): readonly Incoming[] =>
  (Array.isArray(body) ? body : [body]).map((value) => classify(value));

const REQUEST_MEMBERS = new Set(['jsonrpc', 'id', 'method', 'params']);
const NOTIFICATION_MEMBERS = new Set(['jsonrpc', 'method', 'params']);
const RESULT_MEMBERS = new Set(['jsonrpc', 'id', 'result']);
const ERROR_MEMBERS = new Set(['jsonrpc', 'id', 'error']);

function isCall({ jsonrpc, method, params }: Record<string, unknown>): boolean {
  if (jsonrpc !== '2.0' || typeof method !== 'string') return false;
  return params === undefined || (isObject(params) && isRequestMeta(params['_meta']));
}

function isRequestMeta(meta: unknown): boolean {
  if (meta === undefined) return true;
  if (!isObject(meta)) return false;
  const { progressToken: token, [RELATED_TASK_META_KEY]: task } = meta;
  return (
    (token === undefined || isRequestId(token)) &&
    (task === undefined || (isObject(task) && typeof task['taskId'] === 'string'))
  );
}

function isResponse(value: Record<string, unknown>): boolean {
  const { jsonrpc, id, result, error } = value;
  if (jsonrpc !== '2.0') return false;
  if (hasOnly(value, RESULT_MEMBERS))
    return (
      isRequestId(id) && isObject(result) && (result['_meta'] === undefined || isObject(result['_meta']))
    );
  return (
    hasOnly(value, ERROR_MEMBERS) &&
    (id === undefined || isRequestId(id)) &&
    isObject(error) &&
    Number.isSafeInteger(error['code']) &&
    typeof error['message'] === 'string'
  );
}

function hasOnly(value: object, members: ReadonlySet<string>): boolean {
  for (const name in value) if (!members.has(name)) return false;
  return true;
}

/** A 2026-07-28 client has no handshake; it says in every request which revision it speaks. */
export function claimsRevision(message: { readonly params?: object | undefined }): boolean {
  const params: unknown = message.params;
  const meta = isObject(params) ? params['_meta'] : undefined;
  return isObject(meta) && PROTOCOL_VERSION_META_KEY in meta;
}

/** The request that a `notifications/cancelled` names. */
export function cancelledId(message: JSONRPCNotification): RequestId | undefined {
  if (message.method !== 'notifications/cancelled') return undefined;
  const id = (message.params as { requestId?: unknown } | undefined)?.requestId;
  return isRequestId(id) ? id : undefined;
}

export function cancellationOf(requestId: RequestId, reason: string): JSONRPCNotification {
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason } };
}

function refused(code: number, message: string): ParsedJson {
  return { ok: false, reply: errorReply(null, code, message) };
}

function invalid(id: RequestId | null, problem: string): Incoming {
  return { kind: 'invalid', reply: errorReply(id, INVALID_REQUEST, `Invalid request: ${problem}`) };
}

function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value);
}
