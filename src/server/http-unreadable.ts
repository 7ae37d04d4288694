/**
 * What Node refuses before there is a request: bytes that are no HTTP, headers that are too large, and senders that do
 * not finish. Its own answers have no body, and a client that gets one can only say that something was wrong.
 */
import { type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { createId } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import { type Refusal, refuse, withRequestId } from './http-refusal.ts';

export function answerUnreadable(
  server: Server,
  options: {
    /** Whether an answer has begun on it, into which nothing else may be written. */
    readonly isBeingAnswered: (socket: Duplex) => boolean;
    readonly onAnswered?: ((status: number) => void) | undefined;
  },
): void {
  function end(socket: Duplex, refusal: Refusal): void {
    if (!socket.writable || options.isBeingAnswered(socket)) {
      socket.destroy();
      return;
    }
    // Once the answer is out: a request whose time was over must not be served if it comes after all.
    socket.end(encode(refusal), () => socket.destroy());
    options.onAnswered?.(refusal.status);
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET') socket.destroy();
    else end(socket, (REFUSALS[error.code ?? ''] ?? noHttp)());
  });
  server.on('connect', (_, socket) => end(socket, noTunnel()));
}

const REFUSALS: Readonly<Record<string, () => Refusal>> = {
  ERR_HTTP_REQUEST_TIMEOUT: () => refuse(408, -32_000, 'The request did not come in time'),
  HPE_HEADER_OVERFLOW: () =>
    refuse(431, -32_600, `The headers are too large; they may have ${LIMITS.httpHeaderBytes} bytes`),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: () => refuse(413, -32_600, 'The extensions of a chunk are too large'),
};

const noHttp = (): Refusal => refuse(400, -32_700, 'Parse error: this is no request of HTTP/1.1');
const noTunnel = (): Refusal => refuse(405, -32_000, 'The method "CONNECT" is not allowed');

function encode(refusal: Refusal): string {
  const requestId = createId('req');
  const body = JSON.stringify(withRequestId(refusal, requestId).body);
  const lines = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    'connection: close',
    `x-request-id: ${requestId}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}
