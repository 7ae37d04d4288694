/**
 * MCP over HTTP: one endpoint, two eras. The body says which: 2026-07-28 requests stand for themselves and go to the
 * SDK's stateless handler, where closing the response is the cancellation; everything older goes to a session, since
 * the SDK's stateless serving of old clients loses their cancellations. Methods beside MCP need no session.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { classifyInboundRequest, createMcpHandler } from '@modelcontextprotocol/server';
import { messageOf, ShellServerError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Tokens } from './auth.ts';
import type { Dispatch } from './dispatch.ts';
import { withPrincipal } from './http-auth-info.ts';
import { readJsonBody, sendHealth, sendRefusal } from './http-body.ts';
import { createGuard, HEALTH_PATH, inUrl, isLoopback, MCP_PATH, refuse } from './http-guard.ts';
import { listen, watchConnections } from './http-listen.ts';
import { createHttpMethods } from './http-methods.ts';
import { createHttpSessions } from './http-sessions.ts';
import type { ServerFactory } from './server.ts';

export interface HttpOptions {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly factory: ServerFactory;
  /** What answers the methods beside MCP; absent: there are none. */
  readonly dispatch?: Pick<Dispatch, 'methods' | 'invoke'>;
  /** Absent: everybody who can connect is the local principal, which only a loopback address may offer. */
  readonly tokens?: Tokens | undefined;
  readonly log: Log;
  /** How clients reach the server where that is not its own address: behind a proxy, or by a name. */
  readonly publicUrl?: string | undefined;
  readonly resumeWindowMs?: number;
  readonly maxSessions?: number;
}

export interface HttpListener {
  readonly url: string;
  readonly port: number;
  /** Stops listening, cancels what is under way, and cuts what is still open after a bound. */
  close(): Promise<void>;
}

export async function serveHttp(options: HttpOptions): Promise<HttpListener> {
  const { host, factory, tokens, log } = options;
  if (!isLoopback(host) && tokens === undefined) {
    throw new ShellServerError(
      'SYSTEM_003',
      `The address ${host} can be reached by others, and no token is set.`,
      {
        hint: 'Set a token, or listen on 127.0.0.1.',
      },
    );
  }
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
  const serveStateless = toNodeHandler(stateless, { onerror }) as NodeHandler;
  const methods = options.dispatch === undefined ? undefined : createHttpMethods(options.dispatch, log);
  let closing: Promise<void> | undefined;

  const server = createServer({
    headersTimeout: LIMITS.headersTimeoutMs,
    requestTimeout: LIMITS.requestTimeoutMs,
    keepAliveTimeout: LIMITS.keepAliveTimeoutMs,
    // How often the timeouts above are looked at.
    connectionsCheckingInterval: LIMITS.headersTimeoutMs / 3,
  });
  server.maxConnections = LIMITS.httpConnections;
  await listen(server, host, options.port);
  const { port } = server.address() as AddressInfo;
  const connections = watchConnections(server);
  const guard = createGuard({ host, port, publicUrl, tokens });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET' && request.url === HEALTH_PATH && closing === undefined)
      return sendHealth(response);
    const verdict = closing === undefined ? guard(request) : shuttingDown();
    if (!verdict.ok) {
      const { status } = verdict.refusal;
      // Somebody tries a door that is not theirs; everything else that is refused is only a mistake.
      if (status === 401 || status === 403) log.warn('a request was refused', { status, ...origin(request) });
      return sendRefusal(request, response, verdict.refusal);
    }
    let body: unknown;
    if (request.method === 'POST') {
      if (request.headers.expect !== undefined) response.writeContinue();
      const read = await readJsonBody(request);
      if (read === undefined) return;
      if (!read.ok) return sendRefusal(request, response, read.refusal);
      body = read.value;
    }
    const authenticated = withPrincipal(request, verdict.principal);
    if (!isLegacy(request, body)) return serveStateless(authenticated, response, body);
    if (methods?.takes(request, body) === true) return methods.answer(response, verdict.principal, body);
    const refusal = await sessions.handle(authenticated, response, verdict.principal, body);
    if (refusal !== undefined) sendRefusal(request, response, refusal);
  }

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    answer(request, response).catch((error: unknown) => {
      log.error('a request failed', { error: messageOf(error) });
      sendRefusal(request, response, refuse(500, -32_603, 'Internal error'));
    });
  }
  server.on('request', onRequest);
  // Without this Node asks for the body ("100 Continue") before anything was checked.
  server.on('checkContinue', onRequest);

  async function close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
    methods?.close();
    await Promise.all([sessions.close(), stateless.close()]);
    // A connection becomes idle a moment after its last answer.
    const idle = setInterval(connections.closeIdle, 20);
    const cut = setTimeout(() => server.closeAllConnections(), LIMITS.httpDrainMs);
    await closed;
    clearInterval(idle);
    clearTimeout(cut);
  }

  return {
    url: publicUrl === undefined ? `http://${inUrl(host)}:${port}${MCP_PATH}` : endpointOf(publicUrl),
    port,
    close: () => (closing ??= close()),
  };
}

function origin({ socket, headers }: IncomingMessage): Record<string, string | undefined> {
  return { from: socket.remoteAddress, host: headers.host, origin: headers.origin };
}

type NodeHandler = (request: IncomingMessage, response: ServerResponse, body: unknown) => Promise<void>;

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

function shuttingDown(): { ok: false; refusal: ReturnType<typeof refuse> } {
  const refusal = refuse(503, -32_000, 'The server is shutting down');
  return { ok: false, refusal: { ...refusal, headers: { connection: 'close' } } };
}

function parsePublicUrl(text: string | undefined): URL | undefined {
  if (text === undefined) return undefined;
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return new URL(text);
  throw new ShellServerError('SYSTEM_003', `The public URL "${text}" is not an http or https URL.`);
}

function endpointOf(url: URL): string {
  return url.pathname === '/' ? new URL(MCP_PATH, url).href : url.href;
}
