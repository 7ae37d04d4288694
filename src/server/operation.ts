/**
 * What an operator's machines ask: `/healthz` (does it turn at all), `/readyz` (send it work), `/metrics` (Prometheus).
 * On a listener of its own, since monitoring has no token; it reports numbers, and no name of a principal or command.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LIMITS } from '../base/limits.ts';
import type { CallEntry } from './dispatch.ts';
import type { HttpListener } from './http/http.ts';
import { listen } from './http/listen.ts';
import { Rejection } from './http/rejection.ts';
import { createHostCheck, inUrl } from './http/request-guard.ts';
import { createMetrics, type Now } from './metrics.ts';

export type Observation = Awaited<ReturnType<typeof serveOperation>>;

type Observed = Pick<HttpListener, 'counts' | 'isLeaving'>;

/** What it asks of the rest of the server. */
export interface ObservedApp {
  onCallEnded(listener: (entry: CallEntry) => void): void;
  health(): Omit<Now, 'http'>;
}

export async function serveOperation(options: {
  readonly host: string;
  readonly port: number;
  readonly app: ObservedApp;
}) {
  const { host, app } = options;
  let observed: Observed | undefined;
  const metrics = createMetrics(() => ({
    ...app.health(),
    http: observed?.counts() ?? { connections: 0, sessions: 0, underWay: 0 },
  }));
  app.onCallEnded(metrics.onCallEnded);

  function readiness(): Found {
    if (observed === undefined) return { status: 503, text: 'starting' };
    if (observed.isLeaving()) return { status: 503, text: 'shutting down' };
    // The reason may have a path in it; the log has it in full.
    if (app.health().audit.problem !== undefined)
      return { status: 503, text: 'the audit log cannot be written' };
    return { status: 200, text: 'ready' };
  }

  async function find(request: IncomingMessage): Promise<Found> {
    checkHost(request);
    const { method, url } = request;
    if (method !== 'GET' && method !== 'HEAD')
      return { status: 405, text: 'only GET', headers: { allow: 'GET, HEAD' } };
    switch (url?.split('?', 1)[0]) {
      case '/healthz':
        return { status: 200, text: 'ok' };
      case '/readyz':
        return readiness();
      case '/metrics':
        return { status: 200, text: await metrics.text(), headers: { 'content-type': metrics.contentType } };
      default:
        return { status: 404, text: 'not found; there are /healthz, /readyz and /metrics' };
    }
  }

  const server = createServer({
    headersTimeout: LIMITS.headersTimeoutMs,
    requestTimeout: LIMITS.headersTimeoutMs,
    // The check of Host refuses it with a reason.
    requireHostHeader: false,
  });
  server.maxConnections = LIMITS.operationConnections;
  await listen(server, host, options.port);
  const { port } = server.address() as AddressInfo;
  const checkHost = createHostCheck({ host, port, publicUrl: undefined });
  server.on('request', (request, response) => {
    find(request)
      .catch(reasonOf)
      .then((found) => answer(request, response, found))
      .catch(() => response.writeHead(500).end());
  });
  return {
    url: `http://${inUrl(host)}:${port}`,
    onAnswered: metrics.onAnswered,
    /** The listener that callers use; until it is there the server is not ready. */
    watch(listener: Observed): void {
      observed = listener;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Found {
  readonly status: number;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function reasonOf(error: unknown): Found {
  if (error instanceof Rejection) return { status: error.status, text: error.message };
  throw error;
}

function answer({ method }: IncomingMessage, response: ServerResponse, found: Found): void {
  const { status, text, headers } = found;
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers });
  response.end(method === 'HEAD' ? '' : `${text.trimEnd()}\n`);
}
