/**
 * MCP over HTTP: one endpoint, two eras. The body says which: 2026-07-28 requests stand for themselves and go to the
 * SDK's stateless handler, where closing the response is the cancellation; everything older goes to a session, since
 * the SDK's stateless serving of old clients loses their cancellations. Methods beside MCP need no session.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type FetchLikeMcpHandler, toNodeHandler } from '@modelcontextprotocol/node';
import { classifyInboundRequest, createMcpHandler } from '@modelcontextprotocol/server';
import { messageOf, ShellServerError } from '../../base/errors.ts';
import { createId } from '../../base/ids.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Log } from '../../base/log.ts';
import type { Tokens } from '../auth.ts';
import type { Dispatch } from '../dispatch.ts';
import type { ServerFactory } from '../server.ts';
import { createAdmission, leaving } from './admission.ts';
import { callerIn, type HttpCaller, withCaller } from './auth-info.ts';
import { limitConnections } from './connection-limit.ts';
import { createDenialLog, type DeniedRequest } from './denial-log.ts';
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
import { protocolRejection, type Rejection } from './rejection.ts';
import { readJsonBody, sendRejection } from './request-body.ts';
import { createGuard, inUrl, isLoopback, MCP_PATH, type Verdict } from './request-guard.ts';
import type { TlsFiles } from './tls.ts';
import { answerUnreadable } from './unreadable.ts';

export type { DeniedRequest } from './denial-log.ts';
export type { PageContext, PageOptions } from './mounted-page.ts';
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
  readonly resumeWindowMs?: number;
  readonly maxSessions?: number;
  readonly maxConnections?: number;
  /** Of one principal, at once. */
  readonly maxRequests?: number;
  /** Of the open requests of one principal. */
  readonly principalBodyBytes?: number;
  /** Of answers that one principal has not taken yet. */
  readonly unreadBytes?: number;
  /** For a peer that does not read, and for one that does not send. */
  readonly stalledMs?: number;
  readonly headersTimeoutMs?: number;
  /** Called with requests that were denied before their body was read; the rest of a minute is counted. */
  readonly onDeniedRequest?: (entry: DeniedRequest) => void;
  /** Called with the status of each answer when it is sent. */
  readonly onAnswered?: (status: number) => void;
}

export interface HttpListener {
  readonly url: string;
  readonly port: number;
  /** One that opens the operator's page once, where it is served. */
  createPageLink(): string | undefined;
  counts(): { readonly connections: number; readonly sessions: number; readonly underWay: number };
  isLeaving(): boolean;
  /** Refuses new work; resolves when what is under way is answered, or after so long. */
  drain(timeoutMs: number): Promise<void>;
  /** Stops listening, cancels what is under way, and cuts what is still open after a bound. */
  close(): Promise<void>;
}

export async function serveHttp(options: HttpOptions): Promise<HttpListener> {
  const { host, factory, tokens, tls, log } = options;
  checkReach(options);
  const publicUrl = parsePublicUrl(options.publicUrl);
  const sessions = createHttpSessions({
    factory,
    log,
    resumeWindowMs: options.resumeWindowMs ?? LIMITS.resumeWindowMs,
    maxSessions: options.maxSessions ?? LIMITS.httpSessions,
  });
  const onerror = (error: Error): void => log.debug('http', { error: error.message });
  const stateless = createMcpHandler(factory, { legacy: 'reject', onerror });
  // The adapter's own types describe Node's requests without knowing of exactOptionalPropertyTypes.
  const serveStateless = toNodeHandler({ fetch: withReason(stateless.fetch) }, { onerror }) as NodeHandler;
  const methods = options.dispatch === undefined ? undefined : createHttpMethods(options.dispatch, log);
  const admission = createAdmission({ dispatch: options.dispatch, maxRequests: options.maxRequests });
  const openIntake = createIntakes(options.principalBodyBytes);
  const openOutbox = createOutboxes(options.unreadBytes);
  const denialLog = createDenialLog({ record: recordDeniedRequest });
  let closing: Promise<void> | undefined;

  function recordDeniedRequest(entry: DeniedRequest): void {
    const { requestId, ...rest } = entry;
    log.warn('a request was denied', { request_id: requestId, ...rest });
    try {
      options.onDeniedRequest?.(entry);
    } catch (error) {
      log.error('the audit log cannot be written', { request_id: requestId, error: messageOf(error) });
    }
  }

  const server = createHttpServer({ tls, log, headersTimeoutMs: options.headersTimeoutMs });
  limitConnections(server, options.maxConnections);
  await listen(server, host, options.port);
  const { port } = server.address() as AddressInfo;
  const connections = watchConnections(server, { isTls: tls !== undefined, stalledMs: options.stalledMs });
  const guard = createGuard({ host, port, publicUrl, tokens });
  const origins = originsOf({ host, port, publicUrl, isTls: tls !== undefined });
  const page = options.page?.open({
    base: PAGE_BASE,
    port,
    origins,
    checkOperator: createOperatorCheck(tokens, options.page.operator, denialLog),
  });
  const placeOfPage = createPagePlaces({ host, publicUrl, origins: page && origins });
  if (page !== undefined) takeUpgrades(server, page, tls !== undefined);

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
  ): Promise<void> {
    const isForPage = page !== undefined && closing === undefined && request.headers.expect === undefined;
    if (isForPage && isPagePath(request.url)) return page.answer(request, response);
    const verdict: Verdict =
      closing === undefined ? guard(request, requestId) : { ok: false, rejection: leaving(requestId) };
    if (!verdict.ok) {
      const { status } = verdict.rejection;
      // Only these are attempts to get in; everything else that is rejected is a mistake.
      if (status === 401 || status === 403) denialLog.add(request, verdict.rejection, requestId);
      return sendRejection(request, response, verdict.rejection, requestId);
    }
    let body: unknown;
    if (request.method === 'POST') {
      if (request.headers.expect !== undefined) response.writeContinue();
      const intake = openIntake(verdict.caller.principal, response, requestId);
      const read = await readJsonBody(request, intake);
      if (read === undefined) return;
      if (!read.ok) return sendRejection(request, response, read.rejection, requestId);
      body = read.value;
    }
    const outbox = openOutbox(verdict.caller.principal, response);
    const caller = { ...verdict.caller, requestId, outbox, page: placeOfPage(request) };
    const rejection =
      admission.admit(body, response, caller) ?? (await serve(request, response, caller, body));
    if (rejection !== undefined) sendRejection(request, response, rejection, requestId);
  }

  async function serve(
    request: IncomingMessage,
    response: ServerResponse,
    caller: HttpCaller,
    body: unknown,
  ): Promise<Rejection | undefined> {
    if (!isLegacy(request, body)) await serveStateless(withCaller(request, caller), response, body);
    else if (methods?.takes(request, body) === true) await methods.answer(response, caller, body);
    else return sessions.handle(request, response, caller, body);
    return undefined;
  }

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    const requestId = createId('req');
    response.setHeader('x-request-id', requestId);
    response.once('close', () => {
      // Of a client that broke off there is a response which nobody began.
      if (response.headersSent) options.onAnswered?.(response.statusCode);
      log.debug('http request', {
        request_id: requestId,
        method: request.method,
        status: response.statusCode,
      });
    });
    answer(request, response, requestId).catch((error: unknown) => {
      log.error('a request failed', { request_id: requestId, error: messageOf(error) });
      sendRejection(request, response, protocolRejection(500, -32_603, 'Internal error'), requestId);
    });
  }
  for (const event of REQUEST_EVENTS) server.on(event, onRequest);
  answerUnreadable(server, {
    isBeingAnswered: connections.isBeingAnswered,
    onAnswered: options.onAnswered,
  });

  async function close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
    methods?.close();
    page?.close();
    await Promise.all([sessions.close(), stateless.close()]);
    // A connection becomes idle a moment after its last answer.
    const idle = setInterval(connections.closeIdle, 20);
    const cut = setTimeout(connections.cut, LIMITS.httpCloseMs);
    await closed;
    clearInterval(idle);
    clearTimeout(cut);
    connections.stop();
    denialLog.close();
    await page?.dispose();
  }

  const own = `${tls === undefined ? 'http' : 'https'}://${inUrl(host)}:${port}${MCP_PATH}`;
  return {
    url: publicUrl === undefined ? own : endpointOf(publicUrl),
    port,
    createPageLink: () => page?.createLink(),
    counts: () => ({
      connections: connections.count(),
      sessions: sessions.count(),
      underWay: admission.underWay(),
    }),
    isLeaving: () => closing !== undefined || admission.isDraining(),
    drain: admission.drain,
    close: () => (closing ??= close()),
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
    return Response.json(body, { status, ...(headers !== undefined && { headers }) });
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
