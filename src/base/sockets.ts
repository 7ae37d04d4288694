/** Unix sockets whose whole path may be too long for the address of one. */
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createConnection, type Server, type Socket } from 'node:net';
import { basename, dirname } from 'node:path';

/** A path longer than this does not fit into the address of a socket. */
const MAX_SOCKET_PATH = 100;

export async function connectSocket(path: string): Promise<Socket> {
  const { name, leave } = reachable(path);
  const socket = createConnection(name);
  await once(socket, 'connect').finally(leave);
  return socket;
}

/** The server closes it; the file then goes with it. */
export async function listenOn(server: Server, path: string): Promise<void> {
  const { name, leave } = reachable(path);
  server.once('close', leave);
  server.listen(name);
  await once(server, 'listening');
}

/** A name for it that is short enough: through a descriptor of its directory, where there is such a thing. */
function reachable(path: string): { readonly name: string; leave(): void } {
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH || process.platform !== 'linux')
    return { name: path, leave: () => undefined };
  const fd = openSync(dirname(path), 'r');
  return { name: `/proc/self/fd/${fd}/${basename(path)}`, leave: () => closeSync(fd) };
}
