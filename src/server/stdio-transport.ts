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
import type { JSONRPCMessage, RequestId, Transport } from '@modelcontextprotocol/server';
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
  const owed = new Map<RequestId, Owed>();
  let shookHands = false;
  let inputEnded = false;
  let closed = false;
  let goneSaid = false;

  const reader = createLineReader({
    maxBytes: LIMITS.stdioLineBytes,
    onLine: receive,
    onTooLong: refuseTooLong,
  });
  const writer = createLineWriter({ output, onDrained: readOn, onBroken: leave });

  const transport: Transport = { start, send, close };

  async function start(): Promise<void> {
    if (options.greeting !== undefined) post(options.greeting);
    input.on('data', onData);
    input.on('end', onInputEnd);
    input.on('close', onInputEnd);
    input.on('error', leave);
    // Read to its end before anybody listened: those events will not come any more.
    if (input.readableEnded || input.destroyed) setImmediate(onInputEnd);
  }

  function onData(chunk: Uint8Array | string): void {
    reader.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    if (writer.isFull()) input.pause();
  }

  function readOn(): void {
    if (!closed && input.isPaused()) input.resume();
  }

  function receive(line: Uint8Array): void {
    const parsed = parseJson(line);
    if (!parsed.ok) reply(parsed.reply, undefined);
    else if (Array.isArray(parsed.value)) receiveBatch(parsed.value);
    else take(classify(parsed.value), undefined);
  }

  function refuseTooLong(): void {
    const text = `Invalid request: message too large, a line may have ${LIMITS.stdioLineBytes} bytes`;
    reply(errorReply(null, INVALID_REQUEST, text), undefined);
  }

  function receiveBatch(values: readonly unknown[]): void {
    const { batchMessages } = LIMITS;
    if (values.length === 0 || values.length > batchMessages) {
      const problem =
        values.length === 0 ? 'an empty batch' : `a batch of more than ${batchMessages} messages`;
      reply(errorReply(null, INVALID_REQUEST, `Invalid request: ${problem}`), undefined);
      return;
    }
    const batch: Batch = { replies: [], owed: new Set() };
    const messages = values.map((value) => classify(value));
    for (const incoming of messages) {
      if (incoming.kind === 'request') batch.owed.add(incoming.message.id);
    }
    for (const incoming of messages) take(incoming, batch);
    if (batch.owed.size === 0) finishBatch(batch);
  }

  function take(incoming: Incoming, batch: Batch | undefined): void {
    if (incoming.kind === 'ignored') return;
    if (incoming.kind === 'invalid') return reply(incoming.reply, batch);
    const { message } = incoming;
    if (incoming.kind === 'request') {
      const { id, method, params } = incoming.message;
      const before = owed.get(id);
      if (before !== undefined) {
        // Its answer is the refusal, unless the id is in use by another message of this very batch.
        if (before.batch !== batch) batch?.owed.delete(id);
        return reply(errorReply(id, INVALID_REQUEST, 'Invalid request: this id is in use'), batch);
      }
      owed.set(id, { method, batch });
      shookHands ||= method === 'initialize' || claimsRevision({ params });
    }
    transport.onmessage?.(message);
    if (incoming.kind === 'notification') {
      const id = cancelledId(incoming.message);
      // The SDK answers no request that was cancelled, so nothing is owed for it any more.
      if (id !== undefined) settle(id);
    }
  }

  async function send(message: JSONRPCMessage): Promise<void> {
    if (closed) return;
    if ('method' in message) return writer.write(message);
    const { id } = message;
    const entry = id === undefined ? undefined : owed.get(id);
    // An answer that crossed with the cancellation of its request: the client no longer knows the id.
    if (id === undefined || entry === undefined) return;
    const written =
      entry.batch === undefined ? writer.write(message) : void entry.batch.replies.push(message);
    settle(id);
    await written;
  }

  function reply(error: ErrorReply, batch: Batch | undefined): void {
    if (batch === undefined) post(error);
    else batch.replies.push(error);
  }

  /** Nobody waits for it, so a failure (an answer that is no JSON) has nowhere else to go. */
  function post(message: unknown): void {
    writer.write(message).catch((error: unknown) => transport.onerror?.(new Error(messageOf(error))));
  }

  function settle(id: RequestId): void {
    const entry = owed.get(id);
    if (entry === undefined) return;
    owed.delete(id);
    if (entry.batch !== undefined) {
      entry.batch.owed.delete(id);
      if (entry.batch.owed.size === 0) finishBatch(entry.batch);
    }
    if (inputEnded && owed.size === 0) void finish();
  }

  function finishBatch({ replies }: Batch): void {
    if (replies.length > 0) post(replies);
  }

  function onInputEnd(): void {
    if (inputEnded || closed) return;
    reader.end();
    inputEnded = true;
    if (shookHands) {
      for (const [id, { method }] of owed) {
        if (QUICK_METHODS.has(method)) continue;
        transport.onmessage?.(cancellationOf(id, 'the client left'));
        settle(id);
      }
      setTimeout(leave, LIMITS.departureMs).unref();
    }
    if (owed.size === 0) void finish();
  }

  async function finish(): Promise<void> {
    await writer.flush();
    sayGone();
    await close();
  }

  /** Nobody reads any more, so there is nothing to wait for. */
  function leave(): void {
    if (closed) return;
    sayGone();
    void close();
  }

  function sayGone(): void {
    if (goneSaid || closed) return;
    goneSaid = true;
    options.onGone();
  }

  async function close(): Promise<void> {
    if (closed) return;
    closed = true;
    owed.clear();
    input.off('data', onData);
    input.off('end', onInputEnd);
    input.off('close', onInputEnd);
    input.pause();
    transport.onclose?.();
    const given = new Promise((resolve) => setTimeout(resolve, LIMITS.departureMs).unref());
    await Promise.race([writer.flush(), given]);
    options.onFinished();
  }

  return transport;
}
