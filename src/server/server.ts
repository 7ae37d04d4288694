/**
 * The MCP server object of one connection, or of one request in the stateless era. It holds no state and making one
 * costs next to nothing: clients probe with a second one, and over HTTP every 2026-07-28 request gets its own.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type McpRequestContext,
  type NotificationOptions,
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  Server,
  type ServerContext,
  type Tool as WireTool,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import { LIMITS } from '../base/limits.ts';
import type { ClientInfo } from '../tools/tool.ts';
import { AnswerTimeout, type Person, type Question } from './approvals.ts';
import type { Caller } from './auth.ts';
import { MethodError } from './call-errors.ts';
import { canAsk, canOpen, clientInfoOf } from './client-info.ts';
import type { CallContext, Dispatch } from './dispatch.ts';
import type { TextResult, ToolResult } from './encode.ts';
import { allows, EVERYTHING, type Grant } from './grants.ts';
import { callerIn, type HttpCaller } from './http/auth-info.ts';
import { LOCAL_PRINCIPAL, listFor, type Offer, serverInfoOf } from './offer.ts';
import type { PageOpener, PagePlace } from './page-links.ts';
import { openProgress } from './progress.ts';

export interface ServerFactoryOptions extends Omit<Offer, 'dispatch' | 'instructions' | 'methods'> {
  readonly dispatch: Dispatch;
  /** Read for each connection, and for each request without one, for which `onCaller` is called as well. */
  readonly instructions: (principal: string, tools: readonly string[]) => string;
}

export type ServerFactory = (context: McpRequestContext) => Server;

const LOCAL: Caller = { principal: LOCAL_PRINCIPAL, grant: EVERYTHING };

export function createServerFactory(options: ServerFactoryOptions): ServerFactory {
  const { dispatch, definitions, answers = 'both', exact = [], info, instructions, onCaller } = options;
  // Ours are read-only and name their own JSON Schema type; the SDK only writes them out.
  const allowed = (grant: Grant) => definitions.filter((tool) => allows(grant, tool));
  const listed = (grant: Grant, client: ClientInfo) =>
    listFor(client, { definitions: allowed(grant), answers, exact }) as unknown as WireTool[];
  return ({ era, authInfo }) => {
    const { principal, grant } = callerIn(authInfo) ?? LOCAL;
    if (definitions.some((tool) => !tool.annotations.readOnlyHint && allows(grant, tool)))
      onCaller(principal);
    const names = allowed(grant).map(({ name }) => name);
    // What a scoped token sees is for nobody else, nor is what depends on the client.
    const cacheScope = grant === EVERYTHING && answers !== 'auto' ? 'public' : 'private';
    const server = new Server(serverInfoOf(info), {
      capabilities: { tools: {} },
      instructions: instructions(principal, names),
      cacheHints: { 'tools/list': { ttlMs: LIMITS.toolsTtlMs, cacheScope } },
    });
    server.setRequestHandler('tools/list', (_, context) => ({
      tools: listed(callerOf(context).grant, clientOf(context, server)),
    }));
    const clientIn = (context: ServerContext): CallingClient => ({
      client: clientOf(context, server),
      ...(era !== 'modern' && {
        person: personByRequest(context, server),
        opener: openerByRequest(context, server),
      }),
    });
    server.setRequestHandler('tools/call', (request, context) =>
      callTool(dispatch, request.params, context, {
        ...clientIn(context),
        // A method's answer has no place for a question.
        ...(era === 'modern' && { person: personByRetry(context) }),
      }),
    );
    for (const method of dispatch.methods) {
      server.setRequestHandler(method, { params: methodParams }, (params, context) =>
        invokeMethod(dispatch, { method, params }, context, clientIn(context)),
      );
    }
    return server;
  };
}

type CallingClient = Pick<CallContext, 'client' | 'person' | 'opener'>;

/** Whatever it is: the dispatch parses it, and says what is wrong with it. */
const methodParams = z.record(z.string(), z.unknown()).optional();

async function invokeMethod(
  dispatch: Dispatch,
  { method, params }: { method: string; params: Readonly<Record<string, unknown>> | undefined },
  context: ServerContext,
  caller: CallingClient,
): Promise<Record<string, unknown>> {
  // The protocol's own part of the parameters.
  const { _meta: _, ...own } = params ?? {};
  try {
    return await dispatch.invoke(method, own, {
      ...callerOf(context),
      ...caller,
      signal: context.mcpReq.signal,
    });
  } catch (error) {
    throw toProtocolError(error);
  }
}

async function callTool(
  dispatch: Dispatch,
  params: { name: string; arguments?: Record<string, unknown> | undefined },
  context: ServerContext,
  caller: CallingClient,
): Promise<ToolResult | TextResult | Question> {
  const { signal, _meta: meta, notify } = context.mcpReq;
  const progress = openProgress(meta?.progressToken, signal, notify);
  try {
    return await dispatch.call(params.name, params.arguments, {
      ...callerOf(context),
      ...caller,
      signal,
      session: context.sessionId,
      progress: progress?.report,
    });
  } catch (error) {
    throw toProtocolError(error);
  } finally {
    await progress?.finish();
  }
}

/** Over HTTP the edge has said who it is; a request that it has not seen is nobody's. */
function callerOf({ http }: ServerContext): Caller & Partial<Pick<HttpCaller, 'requestId' | 'outbox'>> {
  if (http === undefined) return LOCAL;
  const caller = callerIn(http.authInfo);
  if (caller === undefined) throw new ProtocolError(ProtocolErrorCode.InternalError, 'No principal');
  return caller;
}

function toProtocolError(error: unknown): unknown {
  return error instanceof MethodError ? new ProtocolError(error.code, error.message, error.data) : error;
}

/** In the 2026-07-28 revision a server cannot send a request: the client takes the question and calls again. */
function personByRetry(context: ServerContext): Person | undefined {
  const envelope: Readonly<Record<string, unknown>> = context.mcpReq.envelope ?? {};
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY];
  if (canAsk(capabilities)) return { way: 'retry', context };
  const page = pageFor(context);
  return canOpen(capabilities) && page !== undefined ? { way: 'retry', context, page } : undefined;
}

/** A client over stdio is on this machine. */
function pageFor({ http }: ServerContext): PagePlace | undefined {
  return http === undefined ? 'local' : callerIn(http.authInfo)?.page;
}

/**
 * In those before, the question is a request of ours within the call. The SDK could do this for us, but where nobody
 * answers, or the client fails to ask, it answers the call with a sentence of its own, and nothing is recorded.
 */
function personByRequest({ mcpReq }: ServerContext, server: Server): Person | undefined {
  if (!canAsk(server.getClientCapabilities())) return undefined;
  return {
    way: 'request',
    ask: (params, timeout, signal) =>
      mcpReq.send({ method: 'elicitation/create', params }, { timeout, signal }).catch((error: unknown) => {
        const isLate = error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
        throw isLate ? new AnswerTimeout(error.message, { cause: error }) : error;
      }),
  };
}

function openerByRequest(context: ServerContext, server: Server): PageOpener | undefined {
  const page = pageFor(context);
  if (page === undefined || !canOpen(server.getClientCapabilities())) return undefined;
  const { id, send } = context.mcpReq;
  return {
    page,
    open: (params, timeout, signal) => send({ method: 'elicitation/create', params }, { timeout, signal }),
    complete(elicitationId) {
      const notify = async (options?: NotificationOptions): Promise<void> =>
        server.createElicitationCompletionNotifier(elicitationId, options)();
      // The call may be answered by then, and the client may have left.
      notify({ relatedRequestId: id })
        .catch(() => notify())
        .catch(() => undefined);
    },
  };
}

/** From the request itself in the 2026-07-28 revision, from the handshake in those before. */
function clientOf({ mcpReq }: ServerContext, server: Server): ClientInfo {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  return clientInfoOf(envelope[CLIENT_INFO_META_KEY] ?? server.getClientVersion());
}
