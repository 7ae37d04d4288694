/** A stdio connection that begins in the 2026-07-28 revision, served by the SDK, which also knows the way back. */
import type { Transport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { LOCAL_PRINCIPAL, type Offer } from './offer.ts';
import { createServerFactory } from './server.ts';
import type { StdioServer } from './stdio-server.ts';

export async function serveWithSdk(
  offer: Offer,
  send: Transport['send'],
  onError: (error: Error) => void,
): Promise<StdioServer> {
  const names = offer.definitions.map(({ name }) => name);
  const [dispatch, instructions] = await Promise.all([
    offer.dispatch(),
    offer.instructions(LOCAL_PRINCIPAL, names),
  ]);
  const factory = createServerFactory({ ...offer, dispatch, instructions: () => instructions });
  const transport: Transport = { start: async () => undefined, send, close: async () => undefined };
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's option, no DOM event
  const handle = serveStdio(factory, { transport, onerror: onError });
  return {
    receive: (message) => transport.onmessage?.(message),
    close: () => void handle.close(),
  };
}
