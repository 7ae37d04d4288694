/**
 * One MCP connection over two streams, which are stdin and stdout. Both eras: the first message says which.
 */
import type { Readable, Writable } from 'node:stream';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Log } from '../base/log.ts';
import type { ServerFactory } from './server.ts';
import { createStdioTransport } from './stdio-transport.ts';

export interface StdioConnectionOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly factory: ServerFactory;
  readonly log: Log;
  /** Says 001's first message, which is none of MCP's: for clients that wait for it. */
  readonly greets?: boolean;
  /**
   * The client closed its end or died. Called once: its calls are cancelled by then, or answered where there was no
   * handshake, and what else it could still get is written.
   */
  readonly onClientGone?: () => void;
}

export interface StdioConnection {
  /** Cancels what is under way and stops reading. */
  close(): Promise<void>;
  /** Resolves when the connection has ended and its last answer is written, whoever ended it. */
  readonly closed: Promise<void>;
}

/** Exactly 001's, whatever the toolset is. */
const GREETING = {
  jsonrpc: '2.0',
  id: null,
  result: {
    protocolVersion: '2024-11-05',
    capabilities: {
      tools: [
        { name: 'shell_exec', description: 'Execute allowed shell commands' },
        { name: 'shell_allowed', description: 'List allowed commands' },
      ],
    },
  },
} as const;

export function serveStdioConnection(options: StdioConnectionOptions): StdioConnection {
  const { input, output, factory, log, onClientGone } = options;
  let finished: () => void = () => undefined;
  const closed = new Promise<void>((resolve) => {
    finished = resolve;
  });
  const transport = createStdioTransport({
    input,
    output,
    ...(options.greets === true && { greeting: GREETING }),
    onGone: () => onClientGone?.(),
    onFinished: () => finished(),
  });
  const handle = serveStdio(factory, {
    transport,
    // Mostly what clients did wrong (an answer nobody asked for, a method of another era); they were told.
    onerror: (error) => log.debug('stdio', { error: error.message }),
  });
  return {
    async close() {
      await handle.close();
      await closed;
    },
    closed,
  };
}
