/**
 * Limits the number of connections. Node would reject the newest one, so a client without a token could lock out all others
 * just by opening connections. This evicts unauthenticated connections first, oldest first, then idle ones. Connections
 * with a request in progress stay.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Limits } from '../../base/limits.ts';
import { REQUEST_EVENTS } from './listen.ts';

interface Connection {
  readonly key: string;
  readonly socket: Socket;
  /** Requests that are being answered. */
  open: number;
}

export function limitConnections(server: Server, { httpConnections: most }: Limits): void {
  // By address and port: with TLS a request has another socket than the one that came.
  const all = new Map<string, Connection>();
  const unauthenticated = new Set<Connection>();
  const idle = new Set<Connection>();

  function forget(connection: Connection): void {
    if (all.get(connection.key) === connection) all.delete(connection.key);
    unauthenticated.delete(connection);
    idle.delete(connection);
  }

  function drop(connection: Connection): void {
    forget(connection);
    connection.socket.destroy();
  }

  server.on('connection', (socket) => {
    const key = keyOf(socket);
    const connection = { key, socket, open: 0 };
    const [least] = unauthenticated.size > 0 ? unauthenticated : idle;
    all.set(key, connection);
    unauthenticated.add(connection);
    socket.once('close', () => forget(connection));
    if (all.size > most) drop(least ?? connection);
  });

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    const connection = all.get(keyOf(request.socket));
    if (connection === undefined) return;
    connection.open++;
    unauthenticated.delete(connection);
    idle.delete(connection);
    response.once('close', () => {
      connection.open--;
      if (connection.open > 0 || connection.socket.destroyed) return;
      (response.statusCode < 400 ? idle : unauthenticated).add(connection);
    });
  }
  for (const event of REQUEST_EVENTS) server.on(event, onRequest);
}

const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
