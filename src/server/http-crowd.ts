/**
 * More connections than there is room for. Node would turn away whoever comes last, so that somebody who has no token,
 * and only opens connections, could keep everybody out. Here the one goes that is missed least: one on which nobody
 * was let in yet, the oldest first, then one that is idle. What is being answered stays.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { LIMITS } from '../base/limits.ts';
import { REQUEST_EVENTS } from './http-listen.ts';

interface Connection {
  readonly key: string;
  readonly socket: Socket;
  /** Requests that are being answered. */
  open: number;
}

export function boundConnections(server: Server, most: number = LIMITS.httpConnections): void {
  // By address and port: with TLS a request has another socket than the one that came.
  const all = new Map<string, Connection>();
  const strangers = new Set<Connection>();
  const idle = new Set<Connection>();

  function forget(connection: Connection): void {
    if (all.get(connection.key) === connection) all.delete(connection.key);
    strangers.delete(connection);
    idle.delete(connection);
  }

  function drop(connection: Connection): void {
    forget(connection);
    connection.socket.destroy();
  }

  server.on('connection', (socket) => {
    const key = keyOf(socket);
    const connection = { key, socket, open: 0 };
    const [least] = strangers.size > 0 ? strangers : idle;
    all.set(key, connection);
    strangers.add(connection);
    socket.once('close', () => forget(connection));
    if (all.size > most) drop(least ?? connection);
  });

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    const connection = all.get(keyOf(request.socket));
    if (connection === undefined) return;
    connection.open++;
    strangers.delete(connection);
    idle.delete(connection);
    response.once('close', () => {
      connection.open--;
      if (connection.open > 0 || connection.socket.destroyed) return;
      (response.statusCode < 400 ? idle : strangers).add(connection);
    });
  }
  for (const event of REQUEST_EVENTS) server.on(event, onRequest);
}

const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
