/**
 * The listening socket and its connections.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { errnoOf, ShellServerError } from '../base/errors.ts';

/** Resolves when the port is ours; what is wrong with it is said in the words of the settings. */
export function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(toListenError(error, host, port)));
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
}

function toListenError(error: Error, host: string, port: number): Error {
  const known: Readonly<Record<string, string>> = {
    EADDRINUSE: `The port ${port} on ${host} is in use.`,
    EACCES: `The port ${port} on ${host} needs more rights than this server has.`,
    EADDRNOTAVAIL: `This machine has no address ${host}.`,
    ENOTFOUND: `The address ${host} is not known.`,
  };
  const message = known[errnoOf(error) ?? ''];
  if (message === undefined) return error;
  return new ShellServerError('SYSTEM_003', message, {
    hint: 'Choose another with --http host:port; port 0 takes any that is free.',
    cause: error,
  });
}

/** Node counts a connection that never asked anything as busy, and clients open such ones ahead. */
export function watchConnections(server: Server): { closeIdle(): void } {
  const busy = new Map<Socket, number>();
  server.on('connection', (socket) => {
    busy.set(socket, 0);
    socket.once('close', () => busy.delete(socket));
  });
  const count = ({ socket }: IncomingMessage, response: ServerResponse): void => {
    busy.set(socket, (busy.get(socket) ?? 0) + 1);
    response.once('close', () => {
      if (busy.has(socket)) busy.set(socket, (busy.get(socket) ?? 1) - 1);
    });
  };
  server.on('request', count);
  server.on('checkContinue', count);
  return {
    closeIdle() {
      for (const [socket, requests] of busy) if (requests === 0) socket.destroy();
    },
  };
}
