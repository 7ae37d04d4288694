import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  PROTOCOL_VERSION_META_KEY,
  INTERNAL_ERROR as SDK_INTERNAL_ERROR,
  INVALID_PARAMS as SDK_INVALID_PARAMS,
  INVALID_REQUEST as SDK_INVALID_REQUEST,
  METHOD_NOT_FOUND as SDK_METHOD_NOT_FOUND,
  PARSE_ERROR as SDK_PARSE_ERROR,
} from '@modelcontextprotocol/server';
import { expect, it } from 'vitest';
import {
  claimsRevision,
  classify,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  PARSE_ERROR,
} from './json-rpc.ts';

const IDS = [undefined, 1, 0, -1, 'a', '', 1.5, 2 ** 53, null, {}, true];
const METHODS = [undefined, 'ping', '', 5, null];
const PARAMS = [
  undefined,
  {},
  { a: 1 },
  [],
  'a',
  null,
  { _meta: {} },
  { _meta: [] },
  { _meta: null },
  { _meta: { progressToken: 'a', other: {} } },
  { _meta: { progressToken: 1.5 } },
  { _meta: { progressToken: null } },
  { _meta: { 'io.modelcontextprotocol/related-task': { taskId: 'a' } } },
  { _meta: { 'io.modelcontextprotocol/related-task': {} } },
];
const ANSWERS = [
  {},
  { result: {} },
  { result: null },
  { result: [] },
  { result: { _meta: {}, a: 1 } },
  { result: { _meta: 5 } },
  { error: { code: -1, message: 'a', data: 5 } },
  { error: { code: 1.5, message: 'a' } },
  { error: { code: 1 } },
  { error: null },
  { result: {}, error: { code: 1, message: 'a' } },
  { extra: 1 },
];

const present = (members: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

/** Every combination of the members above, in what JSON can say. */
function* messages(): Generator {
  yield* [5, 'a', null, [], true];
  for (const jsonrpc of ['2.0', '1.0', undefined])
    for (const id of IDS)
      for (const method of METHODS)
        for (const params of PARAMS)
          for (const answer of ANSWERS) yield present({ jsonrpc, id, method, params, ...answer });
}

it('takes for a message exactly what the SDK takes for one', () => {
  const different: unknown[] = [];
  for (const message of messages()) {
    const { kind } = classify(message);
    const expected = isJSONRPCRequest(message)
      ? 'request'
      : isJSONRPCNotification(message)
        ? 'notification'
        : isJSONRPCResponse(message)
          ? 'response'
          : undefined;
    const found = kind === 'invalid' || kind === 'ignored' ? undefined : kind;
    if (found !== expected) different.push({ message, found, expected });
  }
  expect(different).toEqual([]);
});

it('has the codes of the SDK and its name for the revision', () => {
  expect([PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR]).toEqual([
    SDK_PARSE_ERROR,
    SDK_INVALID_REQUEST,
    SDK_METHOD_NOT_FOUND,
    SDK_INVALID_PARAMS,
    SDK_INTERNAL_ERROR,
  ]);
  expect(claimsRevision({ params: { _meta: { [PROTOCOL_VERSION_META_KEY]: '2026-07-28' } } })).toBe(true);
  expect(claimsRevision({ params: { _meta: {} } })).toBe(false);
});
