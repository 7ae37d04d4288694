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
import type { ClientInfo } from '../tools/tool.ts';
import type { Person } from './approvals.ts';
import { MethodError, toErrorObject } from './call-errors.ts';
import { canAsk, canOpen, clientInfoOf } from './client-info.ts';
import { createClientRequests } from './client-request.ts';
import { EVERYTHING } from './grants.ts';
import { cancelledId, INVALID_PARAMS, isObject, METHOD_NOT_FOUND } from './json-rpc.ts';
import { LOCAL_PRINCIPAL, listFor, type Offer, serverInfoOf } from './offer.ts';
import type { PageOpener } from './page-links.ts';
import { createProgress, type Progress } from './progress.ts';

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
  let client: ClientInfo = clientInfoOf(undefined);
  let capabilities: unknown;
  let handshake: Promise<Result> | undefined;
  const names = offer.definitions.map(({ name }) => name);
  if (offer.definitions.some(({ annotations }) => !annotations.readOnlyHint)) offer.onCaller(LOCAL_PRINCIPAL);

  async function shakeHands({ params }: Asked): Promise<Result> {
    const { protocolVersion, capabilities: offered, clientInfo } = params;
    if (typeof protocolVersion !== 'string') throw invalid('initialize', 'protocolVersion must be a string');
    if (!isObject(offered)) throw invalid('initialize', 'capabilities must be an object');
    if (typeof (clientInfo as { name?: unknown } | null | undefined)?.name !== 'string')
      throw invalid('initialize', 'clientInfo must have a name');
    capabilities = offered;
    client = clientInfoOf(clientInfo);
    const instructions = await offer.instructions(LOCAL_PRINCIPAL, names);
    return {
      protocolVersion: REVISIONS.includes(protocolVersion) ? protocolVersion : REVISIONS[0],
      capabilities: { tools: {} },
      serverInfo: serverInfoOf(offer.info),
      ...(instructions !== '' && { instructions }),
    };
  }

  async function callTool({ params, signal }: Asked): Promise<Result> {
    const { name, arguments: args } = params;
    if (typeof name !== 'string') throw invalid('tools/call', 'name must be a string');
    if (args !== undefined && !isObject(args)) throw invalid('tools/call', 'arguments must be an object');
    const progress = progressOf(params, signal);
    try {
      const dispatch = await offer.dispatch();
      return await dispatch.call(name, args, { ...callerIn(signal), progress: progress?.report });
    } finally {
      await progress?.finish();
    }
  }

  async function invoke(method: string, { params, signal }: Asked): Promise<Result> {
    // The protocol's own part of the parameters.
    const { _meta: _, ...own } = params;
    const dispatch = await offer.dispatch();
    return dispatch.invoke(method, own, callerIn(signal));
  }

  async function handle(method: string, asked: Asked): Promise<Result> {
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
        return callTool(asked);
      default:
        if (offer.methods.includes(method)) return invoke(method, asked);
        throw new MethodError(METHOD_NOT_FOUND, 'Method not found');
    }
  }

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

  function callerIn(signal: AbortSignal) {
    const opener = openerOf();
    return { principal: LOCAL_PRINCIPAL, grant: EVERYTHING, client, signal, person: personOf(), opener };
  }

  function openerOf(): PageOpener | undefined {
    if (!canOpen(capabilities)) return undefined;
    return {
      page: 'local',
      open: (link, timeoutMs, until) =>
        requests.send('elicitation/create', link, { timeoutMs, signal: until }),
      complete: (elicitationId) =>
        void send({
          jsonrpc: '2.0',
          method: 'notifications/elicitation/complete',
          params: { elicitationId },
        }).catch(() => undefined),
    };
  }

  function personOf(): Person | undefined {
    if (!canAsk(capabilities)) return undefined;
    return {
      way: 'request',
      ask: (question, timeoutMs, until) =>
        requests.send('elicitation/create', question, { timeoutMs, signal: until }),
    };
  }

  /** Only where the client asked for it: a notification with a token that nobody knows is an error at its end. */
  function progressOf(params: Params, signal: AbortSignal): Progress | undefined {
    const { progressToken } = (params['_meta'] ?? {}) as { progressToken?: string | number };
    if (progressToken === undefined) return undefined;
    return createProgress({
      signal,
      send: (progress, message) =>
        send({
          jsonrpc: '2.0',
          method: 'notifications/progress',
          params: { progressToken, progress, message },
        }),
    });
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

function invalid(method: string, problem: string): MethodError {
  return new MethodError(INVALID_PARAMS, `Invalid ${method} request: ${problem}`);
}
