/**
 * What Node refuses before there is a request: bytes that are no HTTP, headers that are too large, and senders that do
 * not finish. Its own answers have no body, and a client that gets one can only say that something was wrong.
 */
import { type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { createId } from '../../base/ids.ts';
import { LIMITS } from '../../base/limits.ts';
import { encodeBody, protocolRejection, type Rejection } from './rejection.ts';

export function answerUnreadable(
  server: Server,
  options: {
    /** Whether an answer has begun on it, into which nothing else may be written. */
    readonly isBeingAnswered: (socket: Duplex) => boolean;
    readonly onAnswered?: ((status: number) => void) | undefined;
  },
): void {
  function end(socket: Duplex, rejection: Rejection): void {
    if (!socket.writable || options.isBeingAnswered(socket)) {
      socket.destroy();
      return;
    }
    // Once the answer is out: a request whose time was over must not be served if it comes after all.
    socket.end(encode(rejection), () => socket.destroy());
    options.onAnswered?.(rejection.status);
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET') socket.destroy();
    else end(socket, (REJECTIONS[error.code ?? ''] ?? noHttp)());
  });
  server.on('connect', (_, socket) => end(socket, noTunnel()));
}

const TOO_LARGE = `The headers are too large; they may have ${LIMITS.httpHeaderBytes} bytes`;

const REJECTIONS: Readonly<Record<string, () => Rejection>> = {
  ERR_HTTP_REQUEST_TIMEOUT: () => protocolRejection(408, -32_000, 'The request did not come in time'),
  HPE_HEADER_OVERFLOW: () => protocolRejection(431, -32_600, TOO_LARGE),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: () =>
    protocolRejection(413, -32_600, 'The extensions of a chunk are too large'),
};

const noHttp = (): Rejection => protocolRejection(400, -32_700, 'Parse error: not a valid HTTP/1.1 request');
const noTunnel = (): Rejection => protocolRejection(405, -32_000, 'The method "CONNECT" is not allowed');

function encode(rejection: Rejection): string {
  const requestId = createId('req');
  const body = encodeBody(rejection, requestId);
  const lines = [
    `HTTP/1.1 ${rejection.status} ${STATUS_CODES[rejection.status]}`,
    'connection: close',
    `x-request-id: ${requestId}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}
