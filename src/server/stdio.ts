/**
 * One MCP connection over two streams, which are stdin and stdout. Both eras: the first message says which. One that
 * names the 2026-07-28 revision gets the SDK for the whole connection; every other is served without it.
 */
import type { Readable, Writable } from 'node:stream';
import type { Transport } from '@modelcontextprotocol/server';
import { messageOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { claimsRevision } from './json-rpc.ts';
import type { Offer } from './offer.ts';
import { createStdioServer, type StdioServer } from './stdio-server.ts';
import { createStdioTransport } from './stdio-transport.ts';

export type { Offer } from './offer.ts';
export { LOCAL_PRINCIPAL } from './offer.ts';

export interface StdioConnectionOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly offer: Offer;
  readonly log: Log;
  /** Sent first, before the client has said anything. */
  readonly greeting?: unknown;
  /**
   * The client closed its end or died. Called once: its calls are cancelled by then, or answered where there was no
   * handshake, and what else it could still get is written.
   */
  readonly onClientGone?: () => void;
}

export type StdioConnection = ReturnType<typeof serveStdioConnection>;

export function serveStdioConnection(options: StdioConnectionOptions) {
  const { input, output, offer, log, onClientGone } = options;
  let finished: () => void = () => undefined;
  const closed = new Promise<void>((resolve) => {
    finished = resolve;
  });
  const transport = createStdioTransport({
    input,
    output,
    greeting: options.greeting,
    onGone: () => onClientGone?.(),
    onFinished: () => finished(),
  });
  // Mostly what clients did wrong (an answer nobody asked for, a method of another era); they were answered.
  const onError = (error: Error): void => log.debug('stdio', { error: error.message });
  let server: StdioServer | undefined;

  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's interface, no DOM event
  transport.onmessage = (message) => {
    server ??=
      'method' in message && claimsRevision(message)
        ? serveBySdk(offer, transport, onError)
        : createStdioServer({ offer, send: transport.send, onError });
    if ('method' in message) log.debug('message', { method: message.method.slice(0, 64) });
    server.receive(message);
  };
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the same
  transport.onerror = onError;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the same
  transport.onclose = () => server?.close();
  transport.start().catch((error: unknown) => onError(new Error(messageOf(error))));
  return {
    /** Cancels what is under way and stops reading. */
    async close(): Promise<void> {
      await transport.close();
      await closed;
    },
    /** Resolves when the connection has ended and its last answer is written, whichever side ended it. */
    closed,
  };
}

/** What comes while the SDK is being loaded waits in its order. */
function serveBySdk(offer: Offer, transport: Transport, onError: (error: Error) => void): StdioServer {
  let isClosed = false;
  const loading = import('./stdio-sdk.ts').then(({ serveWithSdk }) =>
    serveWithSdk(offer, transport.send, onError),
  );
  loading.catch((error: unknown) => {
    onError(new Error(messageOf(error)));
    void transport.close();
  });
  const whenLoaded = (use: (server: StdioServer) => void): void => {
    const used = loading.then(use, () => undefined);
    used.catch((error: unknown) => onError(new Error(messageOf(error))));
  };
  return {
    receive: (message) => whenLoaded((server) => (isClosed ? undefined : server.receive(message))),
    close() {
      isClosed = true;
      whenLoaded((server) => server.close());
    },
  };
}
