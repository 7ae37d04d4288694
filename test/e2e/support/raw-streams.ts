/**
 * A stdio connection to the fixture tools without a process: two streams, and raw JSON-RPC messages.
 */
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLog } from '../../../src/base/log.ts';
import { serveStdioConnection } from '../../../src/server/stdio.ts';
import { createFixtureOffer, createFixtureTools } from './fixture-tools.ts';

export type Message = Record<string, unknown>;

export function connectStreams() {
  const fixtures = createFixtureTools();
  const input = new PassThrough();
  const output = new PassThrough();
  const received: (Message | Message[])[] = [];
  const events: string[] = [];
  let rest = '';
  output.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) received.push(JSON.parse(line));
  });
  const connection = serveStdioConnection({
    input,
    output,
    offer: createFixtureOffer(fixtures),
    log: silentLog,
    onClientGone: () => events.push('gone'),
  });
  void connection.closed.then(() => events.push('closed'));

  async function next(count = 1): Promise<(Message | Message[])[]> {
    const deadline = Date.now() + 5000;
    while (received.length < count) {
      if (Date.now() > deadline) throw new Error(`only ${JSON.stringify(received)} came`);
      await sleep(2);
    }
    return received.splice(0, count);
  }
  const say = (...messages: unknown[]): void => {
    input.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  };
  return { fixtures, input, output, connection, received, events, next, say };
}

export const request = (id: unknown, method: string, params: unknown = {}): Message => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
export const call = (id: unknown, name: string, args: unknown): Message =>
  request(id, 'tools/call', { name, arguments: args });
export const initialize = request(0, 'initialize', {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'raw', version: '9' },
});
/** The same in the 2026-07-28 revision. */
export const modern = (message: Message): Message => ({
  ...message,
  params: {
    ...(message['params'] as Message),
    _meta: {
      ...((message['params'] as Message)['_meta'] as Message | undefined),
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 'modern', version: '7' },
    },
  },
});
export const textOf = (message: unknown): unknown =>
  (message as { result: { content: { text: string }[] } }).result.content[0]?.text;
