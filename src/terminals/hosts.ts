/** The processes that hold terminals: our own, which is started when there is a first terminal, and those we took over. */
import { closeSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { ShellServerError } from '../base/errors.ts';
import { type ProcessIdentity, startOwnProgram } from '../executions/processes.ts';
import { type Channel, createChannel } from './channel.ts';
import { type HostEvent, type HostSpec, type MethodName, type Methods, PROTOCOL } from './protocol.ts';

export interface Host {
  ask<Name extends MethodName>(
    method: Name,
    params: Methods[Name][0],
    signal?: AbortSignal,
  ): Promise<Methods[Name][1]>;
  onEvent(listener: (event: HostEvent) => void): void;
  onClose(listener: () => void): void;
  end(): Promise<void>;
}

const SOCKET = 'terminals.sock';

/** A path longer than this does not fit into the address of a socket. */
const MAX_SOCKET_PATH = 100;

export const socketIn = (directory: string): string => join(directory, SOCKET);

/** Of ours, which can be found again by whoever takes over. */
export interface OwnHost extends Host {
  readonly identity: ProcessIdentity;
}

/** Starts one, which goes on by itself, and connects to it. */
export async function startHost(options: {
  readonly program: string;
  readonly directory: string;
  readonly graceMs: number;
}): Promise<OwnHost> {
  const socket = socketIn(options.directory);
  rmSync(socket, { force: true });
  const spec: HostSpec = { socket: SOCKET, directory: options.directory, graceMs: options.graceMs };
  const { identity, reply } = startOwnProgram({
    path: options.program,
    spec,
    // That of its socket, whose whole path may be too long for one.
    cwd: options.directory,
    searchPath: '/usr/bin:/bin',
    what: 'The terminal',
  });
  const said = z.object({ error: z.string().optional() }).parse(await reply);
  if (said.error !== undefined)
    throw new ShellServerError('EXECUTION_001', `Terminals cannot be started: ${said.error}.`, {
      hint: '`mcp-shell-server doctor` says whether this machine can have terminals.',
    });
  return { ...(await connectHost(socket)), identity };
}

/** Throws where nobody is there, or somebody of another version. */
export async function connectHost(socket: string, isServer = true): Promise<Host> {
  const channel = createChannel(await connect(socket), async () => ({}));
  const host = describeHost(channel);
  const { protocol } = await host.ask('hello', { protocol: PROTOCOL, isServer });
  if (protocol === PROTOCOL) return host;
  channel.destroy();
  throw new ShellServerError('SYSTEM_001', 'The terminals were opened by another version of this program.');
}

function describeHost(channel: Channel): Host {
  return {
    ask: (method, params, signal) => channel.ask(method, params, signal) as Promise<never>,
    onEvent: (listener) => channel.onEvent((event) => listener(event as HostEvent)),
    onClose: channel.onClose,
    end: channel.end,
  };
}

function connect(path: string): Promise<Socket> {
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

/** A name for it that is short enough: through a descriptor of its directory, where there is such a thing. */
function reachable(path: string): { readonly name: string; leave(): void } {
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH || process.platform !== 'linux')
    return { name: path, leave: () => undefined };
  const fd = openSync(dirname(path), 'r');
  return { name: `/proc/self/fd/${fd}/${basename(path)}`, leave: () => closeSync(fd) };
}

/** Those of a server that is gone: their sockets get a place that stays, and are connected to. */
export async function takeOverHosts(directory: string, id: string): Promise<Host[]> {
  // One that had taken it over itself may have died before it was done.
  const places = [directory, ...readdirSync(directory).map((name) => join(directory, name))];
  const sockets = places.flatMap((place) => socketsIn(join(place, id)));
  const hosts = await Promise.all(
    sockets.map(async (socket) => {
      // Not by the server's name alone, by which its directory is known, and goes.
      const kept = join(directory, basename(socket) === SOCKET ? `terminals-${id}.sock` : basename(socket));
      renameSync(socket, kept);
      try {
        return [await connectHost(kept)];
      } catch {
        rmSync(kept, { force: true });
        return [];
      }
    }),
  );
  return hosts.flat();
}

function socketsIn(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => name.endsWith('.sock'))
      .map((name) => join(directory, name));
  } catch {
    return [];
  }
}

/** Sockets of all hosts that servers on this state directory have or had. */
export function findSockets(stateDirectory: string): string[] {
  const run = join(stateDirectory, 'run');
  try {
    return readdirSync(run).flatMap((name) => socketsIn(join(run, name)));
  } catch {
    return [];
  }
}
