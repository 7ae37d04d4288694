/**
 * A request's body, up to the limit, and answers to requests whose body nobody will read.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { LIMITS } from '../../base/limits.ts';
import { parseJson } from '../json-rpc.ts';
import type { Intake } from './intake.ts';
import { encodeBody, Rejection } from './rejection.ts';
import { tooLarge } from './request-guard.ts';

/** Undefined: the client broke off while it was sending. Rejects with a Rejection. */
export async function readJsonBody(request: IncomingMessage, intake: Intake): Promise<unknown> {
  const bytes = await readBytes(request, intake);
  if (bytes === undefined) return undefined;
  if (bytes instanceof Rejection) throw bytes;
  const parsed = parseJson(bytes);
  if (parsed.ok) return parsed.value;
  throw new Rejection(400, parsed.reply);
}

function readBytes(request: IncomingMessage, intake: Intake): Promise<Buffer | Rejection | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    function finish(result: Buffer | Rejection | undefined): void {
      request.off('data', onData);
      request.off('end', onEnd);
      request.off('close', onClose);
      resolve(result);
    }
    function onData(chunk: Buffer): void {
      length += chunk.length;
      const rejection = length > LIMITS.httpBodyBytes ? tooLarge() : intake(chunk.length);
      if (rejection !== undefined) finish(rejection);
      else chunks.push(chunk);
    }
    const onEnd = (): void => finish(Buffer.concat(chunks));
    const onClose = (): void => finish(undefined);
    request.on('data', onData);
    request.on('end', onEnd);
    request.on('close', onClose);
    // A reset while sending; `close` follows.
    request.on('error', () => undefined);
  });
}

/**
 * Answers at once, though the body may still be on its way. Closing now would reset the connection, and the sender
 * would see that instead of the answer; so the rest is thrown away for a while.
 */
export function sendRejection(
  request: IncomingMessage,
  response: ServerResponse,
  rejection: Rejection,
  requestId: string,
): void {
  if (response.headersSent || response.destroyed) return;
  const body = encodeBody(rejection, requestId);
  response.writeHead(rejection.status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    ...rejection.headers,
  });
  response.end(body);
  if (request.complete) return;
  request.resume();
  const timer = setTimeout(() => request.socket.destroy(), LIMITS.refusedBodyMs);
  timer.unref();
  request.once('close', () => clearTimeout(timer));
}
