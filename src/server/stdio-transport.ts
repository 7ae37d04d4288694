/**
 * JSON-RPC lines on two streams, as a transport for the SDK's serveStdio. The SDK's own transport is silent about
 * malformed JSON and batches, and drops what is under way when its input ends; this one answers all of them.
 *
 * It keeps the ids of the requests that wait for an answer: to put the answers of a batch together, to refuse an id
 * that is in use (a second one would make the first impossible to cancel), and to know at the end of the input what is
 * still owed. Input that ends means two things. After a handshake the client has left: calls are cancelled at once,
 * and only what is answered from memory is still written. Without one (`echo '{…}' | mcp-shell-server`) nobody has
 * left, there was just nothing more to ask: everything is answered first.
 */
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JSONRPCMessage, JSONRPCResponse, RequestId, Transport } from '@modelcontextprotocol/server';
import { messageOf } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import {
  cancellationOf,
  cancelledId,
  claimsRevision,
  classify,
  type ErrorReply,
  errorReply,
  INVALID_REQUEST,
  type Incoming,
  parseJson,
} from './json-rpc.ts';
import { createLineReader } from './line-reader.ts';
import { createLineWriter } from './line-writer.ts';

export interface StdioTransportOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** Sent before anything is read. */
  readonly greeting?: unknown;
  /** Called once when the client is gone and has the answers that it could still get. */
  readonly onGone: () => void;
  /** Called once when everything that can be written is written, whichever side closed. */
  readonly onFinished: () => void;
}

interface Batch {
  readonly replies: unknown[];
  readonly owed: Set<RequestId>;
}

interface Owed {
  readonly method: string;
  readonly batch: Batch | undefined;
}

/** Answered from memory, so that their answers are written even to a client that is leaving. */
const QUICK_METHODS = new Set(['initialize', 'server/discover', 'ping', 'tools/list']);

export function createStdioTransport(options: StdioTransportOptions): Transport {
  const { input, output } = options;
  let inputEnded = false;
  let closed = false;

  const transport: Transport = { start, send, close };
  const deliver = (message: JSONRPCMessage): void => transport.onmessage?.(message);
  const ledger = createLedger(post, finishIfDone);
  const inbox = createInbox(ledger, deliver);
  const writer = createLineWriter({ output, onDrained: readOn, onBroken: leave });
  let stopReading: (() => void) | undefined;

  async function start(): Promise<void> {
    if (options.greeting !== undefined) post(options.greeting);
    stopReading = listenTo(input, { onData, onEnd: onInputEnd, onError: leave });
  }

  function onData(chunk: Uint8Array | string): void {
    inbox.lines.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    if (writer.isFull()) input.pause();
  }

  function readOn(): void {
    if (!closed && input.isPaused()) input.resume();
  }

  async function send(message: JSONRPCMessage): Promise<void> {
    if (!closed) await ('method' in message ? writer.write(message) : ledger.answer(message, writer.write));
  }

  /** Nobody waits for it, so a failure (an answer that is no JSON) has nowhere else to go. */
  function post(message: unknown): void {
    writer.write(message).catch((error: unknown) => transport.onerror?.(new Error(messageOf(error))));
  }

  function onInputEnd(): void {
    if (inputEnded || closed) return;
    inbox.lines.end();
    inputEnded = true;
    if (inbox.shookHands()) {
      ledger.callOff(deliver);
      setTimeout(leave, LIMITS.departureMs).unref();
    }
    finishIfDone();
  }

  function finishIfDone(): void {
    if (inputEnded && ledger.isEmpty()) void writer.flush().then(leave);
  }

  /** Nobody reads any more, so there is nothing to wait for. */
  function leave(): void {
    if (closed) return;
    options.onGone();
    void close();
  }

  async function close(): Promise<void> {
    if (closed) return;
    closed = true;
    ledger.clear();
    stopReading?.();
    input.pause();
    transport.onclose?.();
    await Promise.race([writer.flush(), sleep(LIMITS.departureMs, undefined, { ref: false })]);
    options.onFinished();
  }

  return transport;
}

/** Returns what ends it; errors are heard for good. */
function listenTo(
  input: Readable,
  { onData, onEnd, onError }: { onData(chunk: Uint8Array | string): void; onEnd(): void; onError(): void },
): () => void {
  input.on('data', onData);
  input.on('end', onEnd);
  input.on('close', onEnd);
  input.on('error', onError);
  // Read to its end before anybody listened: those events will not come any more.
  if (input.readableEnded || input.destroyed) setImmediate(onEnd);
  return () => input.off('data', onData).off('end', onEnd).off('close', onEnd);
}

type Ledger = ReturnType<typeof createLedger>;

/** What is owed: an answer to each request, and to a batch all of its answers together. */
function createLedger(post: (message: unknown) => void, onSettled: () => void) {
  const owed = new Map<RequestId, Owed>();

  function finishBatch({ replies }: Batch): void {
    if (replies.length > 0) post(replies);
  }

  function settle(id: RequestId): void {
    const entry = owed.get(id);
    if (entry === undefined) return;
    owed.delete(id);
    if (entry.batch !== undefined) {
      entry.batch.owed.delete(id);
      if (entry.batch.owed.size === 0) finishBatch(entry.batch);
    }
    onSettled();
  }

  return {
    add: (id: RequestId, entry: Owed): void => void owed.set(id, entry),
    find: (id: RequestId): Owed | undefined => owed.get(id),
    isEmpty: () => owed.size === 0,
    clear: () => owed.clear(),
    finishBatch,
    settle,
    reply(error: ErrorReply, batch: Batch | undefined): void {
      if (batch === undefined) post(error);
      else batch.replies.push(error);
    },
    async answer(message: JSONRPCResponse, write: (message: unknown) => Promise<void>): Promise<void> {
      const { id } = message;
      const entry = id === undefined ? undefined : owed.get(id);
      // An answer that crossed with the cancellation of its request: the client no longer knows the id.
      if (id === undefined || entry === undefined) return;
      const written = entry.batch === undefined ? write(message) : void entry.batch.replies.push(message);
      settle(id);
      await written;
    },
    /** What takes longer than the client is there. */
    callOff(deliver: (message: JSONRPCMessage) => void): void {
      for (const [id, { method }] of owed) {
        if (QUICK_METHODS.has(method)) continue;
        deliver(cancellationOf(id, 'the client left'));
        settle(id);
      }
    },
  };
}

/** Lines that come in: what cannot be read is answered at once, and the rest is delivered. */
function createInbox(ledger: Ledger, deliver: (message: JSONRPCMessage) => void) {
  let shookHands = false;
  const refuse = (problem: string): void =>
    ledger.reply(errorReply(null, INVALID_REQUEST, `Invalid request: ${problem}`), undefined);

  function take(incoming: Incoming, batch: Batch | undefined): void {
    if (incoming.kind === 'ignored') return;
    if (incoming.kind === 'invalid') return ledger.reply(incoming.reply, batch);
    if (incoming.kind === 'request') {
      const { id, method, params } = incoming.message;
      const before = ledger.find(id);
      if (before !== undefined) {
        // Its answer is the refusal, unless the id is in use by another message of this very batch.
        if (before.batch !== batch) batch?.owed.delete(id);
        return ledger.reply(errorReply(id, INVALID_REQUEST, 'Invalid request: this id is in use'), batch);
      }
      ledger.add(id, { method, batch });
      shookHands ||= method === 'initialize' || claimsRevision({ params });
    }
    deliver(incoming.message);
    if (incoming.kind === 'notification') {
      const id = cancelledId(incoming.message);
      // The SDK answers no request that was cancelled, so nothing is owed for it any more.
      if (id !== undefined) ledger.settle(id);
    }
  }

  function receiveBatch(values: readonly unknown[]): void {
    if (values.length === 0) return refuse('an empty batch');
    if (values.length > LIMITS.batchMessages)
      return refuse(`a batch of more than ${LIMITS.batchMessages} messages`);
    const batch: Batch = { replies: [], owed: new Set() };
    const messages = values.map((value) => classify(value));
    for (const incoming of messages) {
      if (incoming.kind === 'request') batch.owed.add(incoming.message.id);
    }
    for (const incoming of messages) take(incoming, batch);
    if (batch.owed.size === 0) ledger.finishBatch(batch);
  }

  const lines = createLineReader({
    maxBytes: LIMITS.stdioLineBytes,
    onTooLong: () => refuse(`message too large, a line may have ${LIMITS.stdioLineBytes} bytes`),
    onLine(line) {
      const parsed = parseJson(line);
      if (!parsed.ok) ledger.reply(parsed.reply, undefined);
      else if (Array.isArray(parsed.value)) receiveBatch(parsed.value);
      else take(classify(parsed.value), undefined);
    },
  });
  return { lines, shookHands: () => shookHands };
}
