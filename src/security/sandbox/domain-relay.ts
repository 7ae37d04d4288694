/**
 * How the domain proxy passes on what it allowed: a tunnel of bytes for CONNECT, and one request and its answer for
 * `GET http://host/path`. What belongs to the connection between client and proxy stays there, and each side that
 * ends or fails takes the other with it.
 */
import { request as httpRequest, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { parseAuthority, type Target } from '../../base/config/domain-names.ts';
import { list } from '../list.ts';
import { formatHost, formatTarget, SETTING } from './domain-rules.ts';

/** What a client gets instead of an answer, in one line. */
export class Failure extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface ForwardRequest {
  readonly target: Target;
  /** With its query. */
  readonly path: string;
}

/** A request of a client, and where it is answered. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The host of a CONNECT line; a port is required. */
export function parseConnect({ url = '' }: IncomingMessage): Target {
  return parseAuthority(url) ?? fail(NOT_A_TARGET);
}

/** A request in absolute form. The URL says where to go; a Host header is not looked at. */
export function parseForward({ url = '', headers }: IncomingMessage): ForwardRequest {
  const match = /^http:\/\/([^/?#]+)((?:[/?][^#]*)?)$/i.exec(url);
  const target = match?.[1] === undefined ? undefined : parseAuthority(match[1], 80);
  if (target === undefined) return fail(NOT_A_TARGET);
  if (/\bwebsocket\b/i.test(headers.upgrade ?? '')) return fail('A websocket needs CONNECT on this proxy.');
  const encoding = headers['transfer-encoding']?.toLowerCase() ?? 'chunked';
  if (encoding !== 'chunked') return fail('This proxy knows no transfer encoding but "chunked".');
  const path = match?.[2] ?? '';
  return { target, path: path.startsWith('/') ? path : `/${path}` };
}

export function joinTunnel(client: Socket, target: Socket, head: Buffer, idleMs: number): void {
  if (client.destroyed) {
    target.destroy();
    return;
  }
  // What is read from the one is written to the other, so that one clock sees both directions.
  client.setTimeout(idleMs, () => client.destroy());
  client.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (head.length > 0) target.write(head);
  client.pipe(target);
  target.pipe(client);
  client.once('close', () => follow(client, target));
  target.once('close', () => follow(target, client));
}

/** A side that ended in good order has given all it had, which the other still gets. */
function follow(closed: Socket, other: Socket): void {
  if (closed.readableEnded) other.destroySoon();
  else other.destroy();
}

export function endRefused(client: Socket, { status, message }: Failure, lingerMs: number): void {
  if (client.destroyed) return;
  const body = `${message}\n`;
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  client.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  client.resume();
  const timer = setTimeout(() => client.destroy(), lingerMs);
  client.once('end', () => client.destroySoon());
  client.once('close', () => clearTimeout(timer));
}

/** `socket` is connected to the target and serves this one request. */
export function forward(
  { request, response }: Exchange,
  socket: Socket,
  { target, path }: ForwardRequest,
  maxHeaderSize: number,
): void {
  const client = request.socket;
  const release = (): void => void socket.destroy();
  // A response that waits for the one before it on its connection is not notified that the connection is gone.
  client.once('close', release);
  response.once('close', () => {
    client.off('close', release);
    release();
    // What the client still sends is thrown away, or its next request would never be read.
    request.unpipe();
    request.resume();
  });
  if (client.destroyed || response.destroyed) {
    release();
    return;
  }
  const headers = headersFor(request, target);
  const { method = 'GET' } = request;
  const sent = httpRequest({ method, path, headers, maxHeaderSize, createConnection: () => socket });
  let reason = 'it closed the connection without an answer';
  sent.on('error', (error) => {
    reason = error.message;
  });
  sent.on('close', () => {
    // Also where it switched to a protocol that nobody asked for.
    if (response.headersSent) return;
    sendFailure(request, response, new Failure(502, `${target.host} gave no answer: ${reason}.`));
  });
  sent.on('continue', () => response.writeContinue());
  sent.on('response', (answer) => {
    try {
      passAnswer(answer, response);
    } catch {
      // A status line that Node reads and does not write.
      sendFailure(request, response, new Failure(502, `${target.host} gave an answer that is not HTTP.`));
    }
  });
  sent.flushHeaders();
  request.pipe(sent);
}

function passAnswer(answer: IncomingMessage, response: ServerResponse): void {
  const { statusCode = 502, statusMessage, rawHeaders } = answer;
  answer.on('error', () => undefined);
  answer.on('close', () => {
    // Cut short: the client must not take it for whole.
    if (!answer.complete) response.destroy();
  });
  response.sendDate = false;
  response.writeHead(statusCode, statusMessage, withoutHopByHop(rawHeaders, answer.headers.connection));
  answer.pipe(response);
}

export function sendFailure(request: IncomingMessage, response: ServerResponse, failure: Failure): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = `${failure.message}\n`;
  response.writeHead(failure.status, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    // Whether a client that asked first sends the body after a refusal is its choice: this ends the question.
    ...(request.headers.expect === undefined ? {} : { connection: 'close' }),
  });
  response.end(body);
  request.unpipe();
  request.resume();
}

const NOT_A_TARGET = `This proxy takes "CONNECT host:port" and "GET http://host/path", for the hosts in ${SETTING}.`;

function fail(message: string): never {
  throw new Failure(400, message);
}

/** Of this connection only, as are those that its Connection header names. */
const HOP_BY_HOP = list(`
  connection http2-settings keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer
  transfer-encoding upgrade
`);
/** A Connection header that names one of these would change where the body ends. */
const NEVER_DROPPED = ['content-length', 'host'];

/** Names and values in turn, as rawHeaders has them: with their repetitions. */
function withoutHopByHop(raw: readonly string[], connection = ''): string[] {
  const named = connection.toLowerCase().split(/[\s,]+/);
  const dropped = new Set([...named.filter((name) => !NEVER_DROPPED.includes(name)), ...HOP_BY_HOP]);
  return raw.filter((_, index) => !dropped.has((raw[index - (index % 2)] ?? '').toLowerCase()));
}

/** Methods for which a missing length means that there is no body. */
const BODILESS = ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'];

function headersFor({ method = 'GET', headers, rawHeaders }: IncomingMessage, target: Target): string[] {
  const kept = withoutHopByHop(rawHeaders, headers.connection);
  const rest = kept.filter((_, index) => (kept[index - (index % 2)] ?? '').toLowerCase() !== 'host');
  const isChunked = headers['transfer-encoding'] !== undefined;
  const isEmpty = headers['content-length'] === undefined && !BODILESS.includes(method);
  const framing = isChunked ? ['Transfer-Encoding', 'chunked'] : isEmpty ? ['Content-Length', '0'] : [];
  const host = target.port === 80 ? formatHost(target.host) : formatTarget(target);
  return ['Host', host, ...rest, ...framing, 'Connection', 'close'];
}
