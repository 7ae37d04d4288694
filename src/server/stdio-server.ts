/**
 * The MCP server of a stdio connection in every revision with a handshake, 2024-11-05 to 2025-11-25. The SDK could do
 * this and does it over HTTP; but loading it takes longer than starting without it, and it checks each message several
 * times over, which costs more than the rest of the edge. What a client sees is the same, and tests hold both to it.
 *
 * A request is answered once, or not at all where it was cancelled. Handshake, ping and list are answered from what is
 * at hand; the first call loads what runs calls.
 */
import type {
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  RequestId,
  Result,
  Transport,
} from '@modelcontextprotocol/server';
import { messageOf } from '../base/errors.ts';
import { isObject } from '../base/objects.ts';
import type { ClientInfo } from '../tools/tool.ts';
import { MethodError, toErrorObject } from './call-errors.ts';
import { canAsk, canOpen, clientInfoOf } from './client-info.ts';
import { type ClientRequests, createClientRequests } from './client-request.ts';
import type { CallContext } from './dispatch.ts';
import { EVERYTHING } from './grants.ts';
import { cancelledId, INVALID_PARAMS, METHOD_NOT_FOUND } from './json-rpc.ts';
import { LOCAL_PRINCIPAL, listFor, type Offer, serverInfoOf } from './offer.ts';
import { openProgress } from './progress.ts';

export interface StdioServer {
  receive(message: JSONRPCMessage): void;
  /** Calls under way are cancelled. */
  close(): void;
}

export interface StdioServerOptions {
  readonly offer: Offer;
  readonly send: Transport['send'];
  readonly onError: (error: Error) => void;
}

/** Newest first. */
const REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'];

type Params = Readonly<Record<string, unknown>>;

/** One request, as far as its answer depends on it. */
interface Asked {
  readonly params: Params;
  readonly signal: AbortSignal;
}

export function createStdioServer({ offer, send, onError }: StdioServerOptions): StdioServer {
  const underWay = new Map<RequestId, AbortController>();
  const requests = createClientRequests(send);
  const handle = createMethods({ offer, send, requests });
  if (offer.definitions.some(({ annotations }) => !annotations.readOnlyHint)) offer.onCaller(LOCAL_PRINCIPAL);

  async function answer({ id, method, params = {} }: JSONRPCRequest): Promise<void> {
    const controller = new AbortController();
    const { signal } = controller;
    underWay.set(id, controller);
    let reply: JSONRPCMessage;
    try {
      reply = { jsonrpc: '2.0', id, result: await handle(method, { params, signal }) };
    } catch (thrown) {
      reply = { jsonrpc: '2.0', id, error: toErrorObject(thrown) };
    }
    if (underWay.get(id) === controller) underWay.delete(id);
    if (!signal.aborted) await send(reply);
  }

  function notice(message: JSONRPCNotification): void {
    const id = cancelledId(message);
    if (id === undefined) return;
    const { reason } = message.params as { reason?: unknown };
    underWay.get(id)?.abort(typeof reason === 'string' ? reason : undefined);
  }

  return {
    receive(message) {
      if (!('method' in message)) {
        if (!requests.settle(message)) onError(new Error('an answer that nobody asked for'));
      } else if ('id' in message) {
        answer(message).catch((error: unknown) => onError(new Error(messageOf(error))));
      } else {
        notice(message);
      }
    },
    close() {
      const error = new Error('Connection closed');
      requests.close(error);
      for (const controller of underWay.values()) controller.abort(error);
      underWay.clear();
    },
  };
}

interface Connection extends Pick<StdioServerOptions, 'offer' | 'send'> {
  readonly requests: ClientRequests;
}

/** The methods of a connection, each with its result. */
function createMethods(connection: Connection): (method: string, asked: Asked) => Promise<Result> {
  const { offer } = connection;
  let client: ClientInfo = clientInfoOf(undefined);
  let capabilities: unknown;
  let handshake: Promise<Result> | undefined;

  async function shakeHands({ params }: Asked): Promise<Result> {
    const { protocolVersion, capabilities: offered, clientInfo } = params;
    if (typeof protocolVersion !== 'string') throw invalid('initialize', 'protocolVersion must be a string');
    if (!isObject(offered)) throw invalid('initialize', 'capabilities must be an object');
    if (typeof (clientInfo as { name?: unknown } | null | undefined)?.name !== 'string')
      throw invalid('initialize', 'clientInfo must have a name');
    capabilities = offered;
    client = clientInfoOf(clientInfo);
    const names = offer.definitions.map(({ name }) => name);
    const instructions = await offer.instructions(LOCAL_PRINCIPAL, names);
    return {
      protocolVersion: REVISIONS.includes(protocolVersion) ? protocolVersion : REVISIONS[0],
      capabilities: { tools: {} },
      serverInfo: serverInfoOf(offer.info),
      ...(instructions !== '' && { instructions }),
    };
  }

  const callerIn = (signal: AbortSignal) => ({
    principal: LOCAL_PRINCIPAL,
    grant: EVERYTHING,
    client,
    signal,
    ...personAt(connection, capabilities),
  });

  return async (method, asked) => {
    // A client that does not wait for its answer is still answered in the order of the lines.
    if (method !== 'initialize' && handshake !== undefined) await handshake.catch(() => undefined);
    switch (method) {
      case 'initialize':
        handshake = shakeHands(asked).finally(() => {
          handshake = undefined;
        });
        return handshake;
      case 'ping':
        return {};
      case 'tools/list':
        return { tools: listFor(client, offer) };
      case 'tools/call':
        return callTool(asked, connection, callerIn);
      default:
        if (offer.methods.includes(method)) return invoke(method, asked, offer, callerIn);
        throw new MethodError(METHOD_NOT_FOUND, 'Method not found');
    }
  };
}

type CallerIn = (signal: AbortSignal) => CallContext;

async function callTool(asked: Asked, connection: Connection, callerIn: CallerIn): Promise<Result> {
  const { name, arguments: args } = asked.params;
  if (typeof name !== 'string') throw invalid('tools/call', 'name must be a string');
  if (args !== undefined && !isObject(args)) throw invalid('tools/call', 'arguments must be an object');
  const { progressToken } = (asked.params['_meta'] ?? {}) as { progressToken?: string | number };
  const progress = openProgress(progressToken, asked.signal, (notification) =>
    connection.send({ jsonrpc: '2.0', ...notification }),
  );
  try {
    const dispatch = await connection.offer.dispatch(name);
    return await dispatch.call(name, args, { ...callerIn(asked.signal), progress: progress?.report });
  } finally {
    await progress?.finish();
  }
}

async function invoke(
  method: string,
  { params, signal }: Asked,
  offer: Offer,
  callerIn: CallerIn,
): Promise<Result> {
  // The protocol's own part of the parameters.
  const { _meta: _, ...own } = params;
  const dispatch = await offer.dispatch();
  return dispatch.invoke(method, own, callerIn(signal));
}

/** How a client with these capabilities can ask the person before it, and lead them to the operator's page. */
function personAt(
  { requests, send }: Connection,
  capabilities: unknown,
): Pick<CallContext, 'person' | 'opener'> {
  const elicit = (params: object, timeoutMs: number, signal: AbortSignal): Promise<unknown> =>
    requests.send('elicitation/create', params, { timeoutMs, signal });
  const complete = (elicitationId: string): void => {
    const params = { elicitationId };
    send({ jsonrpc: '2.0', method: 'notifications/elicitation/complete', params }).catch(() => undefined);
  };
  return {
    person: canAsk(capabilities) ? { way: 'request', ask: elicit } : undefined,
    opener: canOpen(capabilities) ? { page: 'local', open: elicit, complete } : undefined,
  };
}

function invalid(method: string, problem: string): MethodError {
  return new MethodError(INVALID_PARAMS, `Invalid ${method} request: ${problem}`);
}
