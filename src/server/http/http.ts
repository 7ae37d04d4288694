/**
 * MCP over HTTP: one endpoint, two eras. The body says which: 2026-07-28 requests stand for themselves and go to the
 * SDK's stateless handler, where closing the response is the cancellation; everything older goes to a session, since
 * the SDK's stateless serving of old clients loses their cancellations. Methods beside MCP need no session.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type FetchLikeMcpHandler, toNodeHandler } from '@modelcontextprotocol/node';
import { classifyInboundRequest, createMcpHandler } from '@modelcontextprotocol/server';
import { messageOf, ShellServerError } from '../../base/errors.ts';
import { createId } from '../../base/ids.ts';
import { LIMITS, type Limits } from '../../base/limits.ts';
import type { Log } from '../../base/log.ts';
import type { Caller, Tokens } from '../auth.ts';
import type { Dispatch } from '../dispatch.ts';
import type { ServerFactory } from '../server.ts';
import { type Admission, createAdmission, leaving } from './admission.ts';
import { callerIn, type HttpCaller, withCaller } from './auth-info.ts';
import { limitConnections } from './connection-limit.ts';
import { createDenialLog, type DenialLog, type DeniedRequest } from './denial-log.ts';
import { createHttpSessions } from './http-sessions.ts';
import { createIntakes } from './intake.ts';
import { createHttpServer, listen, REQUEST_EVENTS, watchConnections } from './listen.ts';
import {
  createOperatorCheck,
  createPagePlaces,
  isPagePath,
  originsOf,
  PAGE_BASE,
  type PageOptions,
  takeUpgrades,
} from './mounted-page.ts';
import { createOutboxes } from './outbox.ts';
import { createHttpMethods } from './plain-methods.ts';
import { protocolRejection, Rejection } from './rejection.ts';
import { readJsonBody, sendRejection } from './request-body.ts';
import { createGuard, inUrl, isLoopback, MCP_PATH } from './request-guard.ts';
import type { TlsFiles } from './tls.ts';
import { answerUnreadable } from './unreadable.ts';

export type { DeniedRequest } from './denial-log.ts';
export type { MountedPage, PageContext, PageDenial, PageOptions } from './mounted-page.ts';
export { isLoopback } from './request-guard.ts';

export interface HttpOptions {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly factory: ServerFactory;
  /** What answers the methods beside MCP, and knows what a token opens; absent: there are none. */
  readonly dispatch?: Pick<Dispatch, 'methods' | 'invoke' | 'denialOf'>;
  /** Absent: plain HTTP. */
  readonly tls?: TlsFiles | undefined;
  /** Absent: everybody who can connect is the local principal, which only a loopback address may offer. */
  readonly tokens?: Tokens | undefined;
  /** The operator's page; absent: nothing is served but the endpoint. */
  readonly page?: PageOptions | undefined;
  readonly log: Log;
  /** How clients reach the server where that is not its own address: behind a proxy, or by a name. */
  readonly publicUrl?: string | undefined;
  /** Others than those of every server, for tests. */
  readonly limits?: Partial<Limits>;
  /** Called with requests that were denied before their body was read; the rest of a minute is counted. */
  readonly onDeniedRequest?: (entry: DeniedRequest) => void;
  /** Called with the status of each answer when it is sent. */
  readonly onAnswered?: ((status: number) => void) | undefined;
}

export type HttpListener = Awaited<ReturnType<typeof serveHttp>>;

export async function serveHttp(options: HttpOptions) {
  const { host, tokens, tls } = options;
  const limits: Limits = { ...LIMITS, ...options.limits };
  checkReach(options);
  const publicUrl = parsePublicUrl(options.publicUrl);
  const protocols = createProtocols(options, limits);
  const admission = createAdmission(options.dispatch, limits);
  const denialLog = createDenialLog((entry) => recordDeniedRequest(entry, options));
  let closing: Promise<void> | undefined;

  const server = createHttpServer(tls, limits, options.log);
  limitConnections(server, limits);
  await listen(server, host, options.port);
  const { port } = server.address() as AddressInfo;
  const isTls = tls !== undefined;
  const connections = watchConnections(server, isTls, limits);
  const origins = originsOf({ host, port, publicUrl }, isTls);
  const page = options.page?.open({
    base: PAGE_BASE,
    port,
    origins,
    checkOperator: createOperatorCheck(tokens, options.page.operator, denialLog),
  });
  if (page !== undefined) takeUpgrades(server, page, isTls);
  const answer = createAnswer(limits, {
    guard: createGuard({ host, port, publicUrl, tokens }),
    page,
    placeOfPage: createPagePlaces({ host, publicUrl, origins: page && origins }),
    denialLog,
    admission,
    serve: protocols.serve,
    isClosing: () => closing !== undefined,
  });
  for (const event of REQUEST_EVENTS) server.on(event, createListener(answer, options));
  answerUnreadable(server, {
    isBeingAnswered: connections.isBeingAnswered,
    onAnswered: options.onAnswered,
  });

  async function close(): Promise<void> {
    const closed = once(server, 'close');
    server.close();
    page?.close();
    await protocols.close();
    await connections.end(closed);
    denialLog.close();
    await page?.dispose();
  }

  const own = `${isTls ? 'https' : 'http'}://${inUrl(host)}:${port}${MCP_PATH}`;
  return {
    url: publicUrl === undefined ? own : endpointOf(publicUrl),
    port,
    /** One that opens the operator's page once, where it is served. */
    createPageLink: () => page?.createLink(),
    counts: () => ({
      connections: connections.count(),
      sessions: protocols.countSessions(),
      underWay: admission.underWay(),
    }),
    isLeaving: () => closing !== undefined || admission.isDraining(),
    drain: admission.drain,
    /** Stops listening, cancels what is under way, and cuts what is still open after a bound. */
    close: () => (closing ??= close()),
  };
}

function recordDeniedRequest(entry: DeniedRequest, { log, onDeniedRequest }: HttpOptions): void {
  const { requestId, ...rest } = entry;
  log.warn('a request was denied', { request_id: requestId, ...rest });
  try {
    onDeniedRequest?.(entry);
  } catch (error) {
    log.error('the audit log cannot be written', { request_id: requestId, error: messageOf(error) });
  }
}

type Serve = (
  request: IncomingMessage,
  response: ServerResponse,
  caller: HttpCaller,
  body: unknown,
) => Promise<void>;

/** Both eras of MCP, and the methods beside it. */
function createProtocols({ factory, dispatch, log }: HttpOptions, limits: Limits) {
  const sessions = createHttpSessions({ factory, log, limits });
  const onerror = (error: Error): void => log.debug('http', { error: error.message });
  const stateless = createMcpHandler(factory, { legacy: 'reject', onerror });
  // The adapter's own types describe Node's requests without knowing of exactOptionalPropertyTypes.
  const serveStateless = toNodeHandler({ fetch: withReason(stateless.fetch) }, { onerror }) as NodeHandler;
  const methods = dispatch === undefined ? undefined : createHttpMethods(dispatch, log);
  const serve: Serve = async (request, response, caller, body) => {
    if (!isLegacy(request, body)) await serveStateless(withCaller(request, caller), response, body);
    else if (methods?.takes(request, body) === true) await methods.answer(response, caller, body);
    else await sessions.handle(request, response, caller, body);
  };
  return {
    serve,
    countSessions: sessions.count,
    async close(): Promise<void> {
      methods?.close();
      await Promise.all([sessions.close(), stateless.close()]);
    },
  };
}

type Answer = (request: IncomingMessage, response: ServerResponse, requestId: string) => Promise<void>;

interface Edge {
  readonly guard: ReturnType<typeof createGuard>;
  readonly page: ReturnType<PageOptions['open']> | undefined;
  readonly placeOfPage: ReturnType<typeof createPagePlaces>;
  readonly denialLog: DenialLog;
  readonly admission: Admission;
  readonly serve: Serve;
  isClosing(): boolean;
}

/** Rejects with a Rejection where the request is refused. */
function createAnswer(limits: Limits, edge: Edge): Answer {
  const { guard, page, denialLog, admission } = edge;
  const openIntake = createIntakes(limits);
  const openOutbox = createOutboxes(limits);

  function identify(request: IncomingMessage, requestId: string): Caller {
    try {
      return guard(request, requestId);
    } catch (thrown) {
      // Only these are attempts to get in; everything else that is rejected is a mistake.
      const isAttempt = thrown instanceof Rejection && (thrown.status === 401 || thrown.status === 403);
      if (isAttempt) denialLog.add(request, thrown, requestId);
      throw thrown;
    }
  }

  return async (request, response, requestId) => {
    const isForPage = page !== undefined && !edge.isClosing() && request.headers.expect === undefined;
    if (isForPage && isPagePath(request.url)) return page.answer(request, response);
    if (edge.isClosing()) throw leaving(requestId);
    const known = identify(request, requestId);
    let body: unknown;
    if (request.method === 'POST') {
      if (request.headers.expect !== undefined) response.writeContinue();
      body = await readJsonBody(request, openIntake(known, response, requestId));
      if (body === undefined) return;
    }
    const outbox = openOutbox(known, response);
    const caller = { ...known, requestId, outbox, page: edge.placeOfPage(request) };
    admission.admit(body, response, caller);
    await edge.serve(request, response, caller, body);
  };
}

function createListener(
  answer: Answer,
  { log, onAnswered }: HttpOptions,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const requestId = createId('req');
    response.setHeader('x-request-id', requestId);
    response.once('close', () => {
      // Of a client that broke off there is a response which nobody began.
      if (response.headersSent) onAnswered?.(response.statusCode);
      log.debug('http request', {
        request_id: requestId,
        method: request.method,
        status: response.statusCode,
      });
    });
    answer(request, response, requestId).catch((error: unknown) => {
      const isRefused = error instanceof Rejection;
      if (!isRefused) log.error('a request failed', { request_id: requestId, error: messageOf(error) });
      const rejection = isRefused ? error : protocolRejection(500, -32_603, 'Internal error');
      sendRejection(request, response, rejection, requestId);
    });
  };
}

/** Clients must authenticate, unless only this machine can reach the server. */
function checkReach({ host, tokens }: HttpOptions): void {
  if (isLoopback(host) || tokens !== undefined) return;
  throw new ShellServerError(
    'SYSTEM_003',
    `The address ${host} is reachable from other machines, and no token is set.`,
    { hint: 'Set a token, or listen on 127.0.0.1.' },
  );
}

type NodeHandler = (request: IncomingMessage, response: ServerResponse, body: unknown) => Promise<void>;

/** What is cut off by the end of the server gets a bare status from the SDK. */
function withReason(fetch: FetchLikeMcpHandler['fetch']): FetchLikeMcpHandler['fetch'] {
  return async (request, options) => {
    const response = await fetch(request, options);
    if (response.status < 400 || response.body !== null) return response;
    const { requestId } = callerIn(options?.authInfo) ?? { requestId: '' };
    const { status, headers, body } = leaving(requestId);
    return Response.json(body, { status, headers });
  };
}

function isLegacy(request: IncomingMessage, body: unknown): boolean {
  const route = classifyInboundRequest({
    httpMethod: request.method ?? 'GET',
    ...header('protocolVersionHeader', request.headers['mcp-protocol-version']),
    ...header('mcpMethodHeader', request.headers['mcp-method']),
    ...header('mcpNameHeader', request.headers['mcp-name']),
    body,
  });
  return route.kind === 'legacy';
}

function header<Name extends string>(
  name: Name,
  value: string | string[] | undefined,
): { [name in Name]?: string } {
  return (typeof value === 'string' ? { [name]: value } : {}) as { [name in Name]?: string };
}

function parsePublicUrl(text: string | undefined): URL | undefined {
  if (text === undefined) return undefined;
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return new URL(text);
  throw new ShellServerError('SYSTEM_003', `The public URL "${text}" is not an http or https URL.`);
}

function endpointOf(url: URL): string {
  return url.pathname === '/' ? new URL(MCP_PATH, url).href : url.href;
}
