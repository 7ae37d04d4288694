/** Unix sockets whose whole path may be too long for the address of one. */
import { closeSync, openSync } from 'node:fs';
import { createConnection, type Server, type Socket } from 'node:net';
import { basename, dirname } from 'node:path';

/** A path longer than this does not fit into the address of a socket. */
const MAX_SOCKET_PATH = 100;

export function connectSocket(path: string): Promise<Socket> {
  const { name, leave } = reachable(path);
  return new Promise<Socket>((resolve, reject) => {
    const socket = createConnection(name);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
    socket.once('error', reject);
  }).finally(leave);
}

/** The server closes it; the file then goes with it. */
export function listenOn(server: Server, path: string): Promise<void> {
  const { name, leave } = reachable(path);
  server.once('close', leave);
  return new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(name, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** A name for it that is short enough: through a descriptor of its directory, where there is such a thing. */
function reachable(path: string): { readonly name: string; leave(): void } {
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH || process.platform !== 'linux')
    return { name: path, leave: () => undefined };
  const fd = openSync(dirname(path), 'r');
  return { name: `/proc/self/fd/${fd}/${basename(path)}`, leave: () => closeSync(fd) };
}
