/**
 * The listening socket and its connections.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { errnoOf, ShellServerError } from '../../base/errors.ts';
import { LIMITS, type Limits } from '../../base/limits.ts';
import type { Log } from '../../base/log.ts';
import { readTls, type TlsFiles, watchTls } from './tls.ts';

/**
 * How Node says that there is one. Without the second it asks for the body ("100 Continue") before anything was
 * checked, and without the third it refuses with nothing but a status.
 */
export const REQUEST_EVENTS = ['request', 'checkContinue', 'checkExpectation'] as const;

/** Bounded in every respect that Node has a bound for. */
export function createHttpServer(tls: TlsFiles | undefined, { headersTimeoutMs }: Limits, log: Log): Server {
  const options = {
    headersTimeout: headersTimeoutMs,
    // The whole of it: four times as long, for a large body over a slow line.
    requestTimeout: headersTimeoutMs * 4,
    keepAliveTimeout: LIMITS.keepAliveTimeoutMs,
    // Whether there is one is for the guard to say, with a reason.
    requireHostHeader: false,
    // How often the timeouts above are looked at.
    connectionsCheckingInterval: headersTimeoutMs / 3,
    maxHeaderSize: LIMITS.httpHeaderBytes,
    // A peer that is gone without a word is noticed by TCP, and its calls end.
    keepAlive: true,
    keepAliveInitialDelay: LIMITS.tcpKeepAliveMs,
    noDelay: true,
  };
  if (tls === undefined) return createServer(options);
  const server = createTlsServer({
    ...options,
    ...readTls(tls),
    minVersion: 'TLSv1.2',
    handshakeTimeout: headersTimeoutMs,
  });
  const unwatch = watchTls(tls, (context) => server.setSecureContext(context), log);
  return server.once('close', unwatch);
}

/** Resolves when the port is ours; what is wrong with it is said in the words of the settings. */
export async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw toListenError(error, host, port);
  }
}

function toListenError(error: unknown, host: string, port: number): unknown {
  const known: Readonly<Record<string, string>> = {
    EADDRINUSE: `The port ${port} on ${host} is in use.`,
    EACCES: `The port ${port} on ${host} needs more rights than this server has.`,
    EADDRNOTAVAIL: `This machine has no address ${host}.`,
    ENOTFOUND: `The address ${host} is not known.`,
  };
  const message = known[errnoOf(error) ?? ''];
  if (message === undefined) return error;
  return new ShellServerError('SYSTEM_003', message, {
    hint: 'Choose another with --http host:port; port 0 selects a free one.',
    cause: error,
  });
}

interface Connection {
  readonly answers: Set<ServerResponse>;
  /** How much the peer had taken when that last grew, and when it was. */
  takenBytes: number;
  grownAtMs: number;
}

/** Watches them, and drops a peer that has stopped reading: what waits for it would stay in memory for good. */
export function watchConnections(server: Server, isTls: boolean, { stalledMs }: Limits) {
  // Before a handshake of TLS there is a socket and no connection yet.
  const sockets = new Set<Socket>();
  const connections = new Map<Socket, Connection>();
  const known = (socket: Socket): Connection => {
    const found = connections.get(socket) ?? {
      answers: new Set(),
      takenBytes: 0,
      grownAtMs: performance.now(),
    };
    connections.set(socket, found);
    return found;
  };
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const meet = (socket: Socket): void => {
    known(socket);
    socket.once('close', () => connections.delete(socket));
  };
  server.on(isTls ? 'secureConnection' : 'connection', meet);
  const count = ({ socket }: IncomingMessage, response: ServerResponse): void => {
    const { answers } = known(socket);
    answers.add(response);
    response.once('close', () => answers.delete(response));
  };
  for (const event of REQUEST_EVENTS) server.on(event, count);

  function dropStalled(): void {
    const nowMs = performance.now();
    for (const [socket, connection] of connections) {
      const taken = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength === 0 || taken > connection.takenBytes) {
        connection.takenBytes = taken;
        connection.grownAtMs = nowMs;
      } else if (nowMs - connection.grownAtMs > stalledMs) socket.destroy();
    }
  }
  const timer = setInterval(dropStalled, stalledMs / 4).unref();

  /** Node counts a connection that never asked anything as busy, and clients open such ones in advance. */
  function closeIdle(): void {
    for (const [socket, { answers }] of connections) if (answers.size === 0) socket.destroy();
  }
  function cutAll(): void {
    for (const socket of [...connections.keys(), ...sockets]) socket.destroy();
  }

  return {
    count: () => sockets.size,
    /** Whether some of an answer is out on it, and not yet all of it. */
    isBeingAnswered: (socket: Duplex) =>
      [...(connections.get(socket as Socket)?.answers ?? [])].some(({ headersSent }) => headersSent),
    /** Closes those that are idle until the server is closed, and after a bound all of them. */
    async end(closed: Promise<unknown>): Promise<void> {
      // A connection becomes idle a moment after its last answer.
      const idle = setInterval(closeIdle, 20);
      const cut = setTimeout(cutAll, LIMITS.httpCloseMs);
      await closed;
      clearInterval(idle);
      clearTimeout(cut);
      clearInterval(timer);
    },
  };
}
