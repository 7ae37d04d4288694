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
import { reasonOf } from './http/rejection.ts';
import { createHostCheck, inUrl } from './http/request-guard.ts';
import { createMetrics } from './metrics.ts';

export interface Observation {
  readonly url: string;
  onAnswered(status: number): void;
  /** The listener that callers use; until it is there the server is not ready. */
  watch(server: Observed): void;
  close(): Promise<void>;
}

type Observed = Pick<HttpListener, 'counts' | 'isLeaving'>;

/** What it asks of the rest of the server. */
export interface ObservedApp {
  onCallEnded(listener: (entry: CallEntry) => void): void;
  health(): {
    readonly executions: number;
    readonly terminals: number;
    readonly audit: { readonly lines: number; readonly lost: number; readonly problem: string | undefined };
  };
}

export async function serveOperation(options: {
  readonly host: string;
  readonly port: number;
  readonly app: ObservedApp;
}): Promise<Observation> {
  const { host, app } = options;
  let observed: Observed | undefined;
  const metrics = createMetrics(() => ({
    ...app.health(),
    http: observed?.counts() ?? { connections: 0, sessions: 0, underWay: 0 },
  }));
  app.onCallEnded(metrics.onCallEnded);

  function readiness(): { readonly status: number; readonly text: string } {
    if (observed === undefined) return { status: 503, text: 'starting' };
    if (observed.isLeaving()) return { status: 503, text: 'shutting down' };
    // The reason may have a path in it; the log has it in full.
    if (app.health().audit.problem !== undefined)
      return { status: 503, text: 'the audit log cannot be written' };
    return { status: 200, text: 'ready' };
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = (status: number, text: string, headers: Record<string, string> = {}): void => {
      response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers });
      response.end(request.method === 'HEAD' ? '' : text);
    };
    const rejection = checkHost(request);
    if (rejection !== undefined) return send(rejection.status, `${reasonOf(rejection)}\n`);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return send(405, 'only GET\n', { allow: 'GET, HEAD' });
    switch (request.url?.split('?', 1)[0]) {
      case '/healthz':
        return send(200, 'ok\n');
      case '/readyz': {
        const { status, text } = readiness();
        return send(status, `${text}\n`);
      }
      case '/metrics':
        return send(200, await metrics.text(), { 'content-type': metrics.contentType });
      default:
        return send(404, 'not found; there are /healthz, /readyz and /metrics\n');
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
    answer(request, response).catch(() => response.writeHead(500).end());
  });
  return {
    url: `http://${inUrl(host)}:${port}`,
    onAnswered: metrics.onAnswered,
    watch(listener) {
      observed = listener;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
