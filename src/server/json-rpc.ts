/**
 * JSON-RPC as it arrives: bytes to a value, and a value to what kind of message it is. The SDK's own schemas decide
 * what is valid, so that nothing passes here which it would drop without an answer.
 */
import {
  INVALID_REQUEST,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JSONRPCResponse,
  PARSE_ERROR,
  PROTOCOL_VERSION_META_KEY,
  type RequestId,
} from '@modelcontextprotocol/server';
import { LIMITS } from '../base/limits.ts';
import { isDeeperThan } from './json-depth.ts';

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
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
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

export function classify(value: unknown): Incoming {
  if (isJSONRPCRequest(value)) return { kind: 'request', message: value };
  if (isJSONRPCNotification(value)) return { kind: 'notification', message: value };
  if (!isObject(value)) return invalid(null, 'a message is an object');
  if (!('method' in value) && ('result' in value || 'error' in value)) {
    // Codex answers what it cannot read with an error without an id; a reply to a reply would never end.
    return isJSONRPCResponse(value) ? { kind: 'response', message: value } : { kind: 'ignored' };
  }
  const id = isRequestId(value['id']) ? value['id'] : null;
  if (value['jsonrpc'] !== '2.0') return invalid(id, '"jsonrpc" must be "2.0"');
  if (typeof value['method'] !== 'string') return invalid(id, '"method" must be a string');
  if ('id' in value && id === null) return invalid(null, '"id" must be a string or an integer');
  if ('params' in value && !isObject(value['params'])) return invalid(id, '"params" must be an object');
  return invalid(id, 'not a JSON-RPC message');
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
  return typeof value === 'string' || (typeof value === 'number' && Number.isInteger(value));
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
