/**
 * The only way out of a sandbox that has `allowed_domains`: an HTTP proxy on a unix socket. The command's network
 * namespace has nothing but its own loopback, where a relay leads to the socket.
 *
 * A request is judged by the host it names (CONNECT's, or the URL's), the host is resolved once, its addresses are
 * judged, and the connection goes to one of those addresses as such: a second lookup could answer differently.
 * Redirects are the client's own new requests. What goes through a tunnel is not looked at, so that an allowed host
 * which forwards to others opens those as well.
 */
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect as netConnect, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Target } from '../../base/config/domain-names.ts';
import { errnoOf, messageOf, ShellServerError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Log } from '../../base/log.ts';
import { once } from '../../base/once.ts';
import { listenOn } from '../../base/sockets.ts';
import { ownAddresses, resolveHost } from './addresses.ts';
import {
  endRefused,
  Failure,
  forward,
  joinTunnel,
  parseConnect,
  parseForward,
  sendFailure,
} from './domain-relay.ts';
import { formatTarget, hostProblem, judgeAddresses, parseDomains } from './domain-rules.ts';

export interface RefusedTarget {
  readonly host: string;
  readonly port: number;
  readonly reason: string;
}

export interface DomainProxyOptions {
  /** Where the socket's own directory is made; short, since a socket's path may have 107 bytes. */
  readonly directory: string;
  /** As in the settings: `example.com`, `*.example.com`, an address, each with or without a port. */
  readonly domains: readonly string[];
  readonly log: Log;
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  readonly connect?: (address: string, port: number) => Socket;
  /** So that an answer can name what was blocked: most programs show only that the proxy said no. */
  readonly onRefused?: (what: RefusedTarget) => void;
  readonly limits?: Partial<Record<keyof typeof PROXY_LIMITS, number>>;
}

export const PROXY_LIMITS = {
  /** From the sandbox, and as many to the outside: package managers open some dozens. */
  connections: 256,
  /** Cookies and signed URLs are long; nothing honest is longer than this. */
  headerBytes: 64 * 1024,
  /** For a request's head, also of a connection on which nothing ever comes. */
  headersMs: LIMITS.headersTimeoutMs,
  /** Without a byte in either direction: longer than the keep-alive of anything that wants to stay. */
  idleMs: 600_000,
  resolveMs: 10_000,
  connectMs: 10_000,
  /** For an address that is not the last one: a broken IPv6 must not use up a client's patience. */
  attemptMs: 3000,
  attempts: 6,
  /** After a refusal: for what is still on its way, so that the client reads the answer and not a reset. */
  lingerMs: LIMITS.refusedBodyMs,
} satisfies Record<string, number>;

type ProxyLimits = Readonly<Record<keyof typeof PROXY_LIMITS, number>>;

export function createDomainProxy(options: DomainProxyOptions) {
  const { log } = options;
  const limits = { ...PROXY_LIMITS, ...options.limits };
  const sockets = new Set<Duplex>();
  let opening: Promise<string> | undefined;
  let disposing: Promise<void> | undefined;

  function track(socket: Duplex): void {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    // The user of the socket sees its `close`; without a listener an error would end the server.
    socket.on('error', () => undefined);
  }

  const reach = createReach(options, limits, { track, isClosing: () => disposing !== undefined });
  const server = createProxyServer(reach, limits, log);
  server.on('connection', track);

  async function listen(): Promise<string> {
    const path = await createSocketPath(options.directory);
    try {
      await listenOn(server, path);
      await chmod(path, 0o600);
      return path;
    } catch (error) {
      await close(path);
      throw error;
    }
  }

  async function close(path: string): Promise<void> {
    const closed = new Promise<void>((resolved) => {
      server.close(() => resolved());
    });
    for (const socket of sockets) socket.destroy();
    await closed;
    await rm(dirname(path), { recursive: true, force: true });
  }

  return {
    /** Starts listening on the first call; the path of the socket, mode 0600 in a directory of mode 0700. */
    async open(): Promise<string> {
      if (disposing !== undefined) throw new ShellServerError('SYSTEM_002', 'The domain proxy is closed.');
      opening ??= listen().catch((error: unknown) => {
        // A full disk, say: the next execution may try again.
        opening = undefined;
        throw error;
      });
      return opening;
    },
    /** Cuts every connection and removes the socket. */
    dispose(): Promise<void> {
      disposing ??= (opening ?? Promise.resolve(undefined)).then(
        (path) => (path === undefined ? undefined : close(path)),
        // What could not be opened was cleaned up then.
        () => undefined,
      );
      return disposing;
    },
  };
}

/** A connection to the target, or the failure that the client gets. */
type Reach = (target: Target) => Promise<Socket>;

function createReach(
  options: DomainProxyOptions,
  limits: ProxyLimits,
  proxy: { track(socket: Socket): void; isClosing(): boolean },
): Reach {
  const { log, resolve = resolveHost, connect = connectTo } = options;
  const rules = parseDomains(options.domains);
  /** Connections to the outside, with those that are still sought. */
  let outside = 0;

  function refuse({ host, port }: Target, reason: string): Failure {
    log.debug('the domain proxy refused a connection', { host, port, reason });
    options.onRefused?.({ host, port, reason });
    return new Failure(403, reason);
  }

  async function resolveOnce(host: string): Promise<readonly string[]> {
    try {
      const resolved = await within(resolve(host), limits.resolveMs);
      if (resolved.length > 0) return resolved;
    } catch (error) {
      throw new Failure(502, `${host} could not be resolved: ${errnoOf(error) ?? messageOf(error)}.`);
    }
    throw new Failure(502, `${host} could not be resolved: it has no address.`);
  }

  async function tryEach(target: Target, addresses: readonly string[]): Promise<Socket> {
    let failure: unknown;
    for (const [index, address] of addresses.entries()) {
      const isLast = index === addresses.length - 1;
      if (proxy.isClosing()) throw new Failure(503, 'The proxy is closing.');
      const socket = connect(address, target.port);
      proxy.track(socket);
      try {
        await connected(socket, isLast ? limits.connectMs : limits.attemptMs);
        log.debug('the domain proxy connected', { host: target.host, port: target.port, address });
        return socket;
      } catch (error) {
        failure = error;
      }
    }
    const reason = errnoOf(failure) ?? messageOf(failure);
    throw new Failure(502, `${formatTarget(target)} could not be reached: ${reason}.`);
  }

  return async (target) => {
    const problem = hostProblem(rules, target);
    if (problem !== undefined) throw refuse(target, problem);
    // A client may send many requests on one connection before it reads an answer.
    if (outside >= limits.connections) throw new Failure(503, 'There are too many connections.');
    outside += 1;
    const leave = once(() => void (outside -= 1));
    try {
      const resolved = target.isAddress ? [target.host] : await resolveOnce(target.host);
      const judged = judgeAddresses(rules, target, resolved, ownAddresses());
      if (judged.open.length === 0) throw refuse(target, judged.problem);
      const socket = await tryEach(target, judged.open.slice(0, limits.attempts));
      socket.once('close', leave);
      if (socket.closed) leave();
      return socket;
    } catch (error) {
      leave();
      throw error;
    }
  };
}

function createProxyServer(reach: Reach, limits: ProxyLimits, log: Log): Server {
  async function tunnel(request: IncomingMessage, client: Socket, head: Buffer): Promise<void> {
    try {
      joinTunnel(client, await reach(parseConnect(request)), head, limits.idleMs);
    } catch (error) {
      endRefused(client, toFailure(error, log), limits.lingerMs);
    }
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A reset while the body is sent; the response's `close` follows.
    request.on('error', () => undefined);
    try {
      const parsed = parseForward(request);
      forward({ request, response }, await reach(parsed.target), parsed, limits.headerBytes);
    } catch (error) {
      sendFailure(request, response, toFailure(error, log));
    }
  }

  const server = createServer({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    // A body may take as long as it likes, as long as something comes.
    requestTimeout: 0,
    keepAliveTimeout: LIMITS.keepAliveTimeoutMs,
    // How often the headers' time is looked at.
    connectionsCheckingInterval: limits.headersMs / 3,
    requireHostHeader: false,
  });
  server.maxConnections = limits.connections;
  server.timeout = limits.idleMs;
  // Each request that a client sent ahead waits for the end of the connection too.
  server.on('connection', (socket) => socket.setMaxListeners(0));
  // Nobody else hands connections to the server, so that each is a socket.
  server.on('connect', (request, client, head) => void tunnel(request, client as Socket, head));
  server.on('request', (request, response) => void answer(request, response));
  // Without this Node asks for the body itself; so the target is asked, and its "100 Continue" passed on.
  server.on('checkContinue', (request, response) => void answer(request, response));
  server.on('error', (error) => log.warn('the domain proxy failed', { error: error.message }));
  const warnOfDrop = once(() =>
    log.warn('the domain proxy has too many connections', { limit: limits.connections }),
  );
  server.on('drop', warnOfDrop);
  return server;
}

function toFailure(error: unknown, log: Log): Failure {
  if (error instanceof Failure) return error;
  log.error('the domain proxy failed', { error: messageOf(error) });
  return new Failure(502, 'The proxy failed.');
}

function connectTo(address: string, port: number): Socket {
  return netConnect({ host: address, port, allowHalfOpen: true, noDelay: true });
}

async function within<Value>(promise: Promise<Value>, timeoutMs: number): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    // The answer of a proxy that was disposed of meanwhile is nobody's.
    timer.unref();
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function connected(socket: Socket, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => socket.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    socket.once('connect', () => {
      clearTimeout(timer);
      resolve();
    });
    socket.once('error', reject);
    socket.once('close', () => {
      clearTimeout(timer);
      reject(new Error('the connection was closed'));
    });
  });
}

const SOCKET_PATH_BYTES = process.platform === 'darwin' ? 103 : 107;

/** In a fresh directory, which nobody else can enter: between bind and chmod the socket is as open as the umask. */
async function createSocketPath(directory: string): Promise<string> {
  const prefix = join(directory, 'p-');
  const bytes = Buffer.byteLength(join(`${prefix}XXXXXX`, 's'));
  if (bytes > SOCKET_PATH_BYTES) {
    const message = `The directory ${directory} is too long for the domain proxy's socket: its path would have ${bytes} bytes, and may have ${SOCKET_PATH_BYTES}.`;
    throw new ShellServerError('SYSTEM_003', message, { hint: 'Choose a shorter state directory.' });
  }
  await mkdir(directory, { recursive: true, mode: 0o700 });
  return join(await mkdtemp(prefix), 's');
}
