/**
 * One session of a 2025-era HTTP client: an MCP server behind the SDK's sessionful transport.
 *
 * In this era a closed connection is no cancellation, since the client may resume the stream with Last-Event-ID. It
 * may also never come back, and its command would run on for nobody. So each POST with requests is an exchange: when
 * the connection it is answered on breaks, the client has the resume window to take the stream up again, after which
 * the requests are cancelled as if it had said so.
 */
import type { AsyncLocalStorage } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import type { AuthInfo, EventStore, RequestId } from '@modelcontextprotocol/server';
import { randomText } from '../../base/ids.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Log } from '../../base/log.ts';
import { cancellationOf } from '../json-rpc.ts';
import type { ServerFactory } from '../server.ts';
import type { AuthenticatedRequest } from './auth-info.ts';
import type { SessionEvents } from './event-store.ts';

export interface HttpSessionOptions {
  readonly factory: ServerFactory;
  /** Who opens it; what each request of it may do is said with the request. */
  readonly auth: AuthInfo;
  readonly events: SessionEvents;
  readonly current: AsyncLocalStorage<Current>;
  readonly resumeWindowMs: number;
  readonly log: Log;
  readonly onOpened: (id: string) => void;
  readonly onClosed: () => void;
}

export interface HttpSession {
  /** `requests`: the ids of what the body asks; `cancelled`: those it calls off. */
  handle(
    request: AuthenticatedRequest,
    response: ServerResponse,
    message: { body: unknown; requests: readonly RequestId[]; cancelled: readonly RequestId[] },
  ): Promise<void>;
  isOwed(id: RequestId): boolean;
  isBusy(): boolean;
  close(): Promise<void>;
}

/**
 * The SDK hands the event store a stream and a message, not the request they belong to: that is found here. All sessions
 * share one storage, since Node 20 copies each that there is into every promise.
 */
export interface Current {
  readonly exchange?: Exchange | undefined;
  readonly response?: ServerResponse;
}

/** The SDK's name for the stream of what belongs to no request. */
const STANDALONE = '_GET_stream';

interface Exchange {
  readonly owed: Set<RequestId>;
  /** The SDK's name for the stream of answers; known from the first event that is stored for it. */
  streamId: string | undefined;
  /** Where the answers go now; undefined while the client is away. */
  connection: ServerResponse | undefined;
  timer: NodeJS.Timeout | undefined;
}

export async function openHttpSession(options: HttpSessionOptions): Promise<HttpSession> {
  const { factory, events, current, resumeWindowMs, log } = options;
  const exchanges = new Map<RequestId, Exchange>();
  const byStream = new Map<string, Exchange>();
  /** Ids of requests that were cancelled before they came, and of those that were answered. */
  const calledOff = new Set<RequestId>();
  const answered = new Set<RequestId>();
  /** Those that have reached the server, so that a cancellation finds them there. */
  const delivered = new Set<RequestId>();
  const eventStore: EventStore = {
    storeEvent(streamId, message) {
      const exchange = current.getStore()?.exchange;
      if (exchange !== undefined && exchange.owed.size > 0 && exchange.streamId === undefined) {
        exchange.streamId = streamId;
        byStream.set(streamId, exchange);
      }
      return events.storeEvent(streamId, message);
    },
    getStreamIdForEventId: (eventId) => events.getStreamIdForEventId(eventId),
    async replayEventsAfter(lastEventId, sink) {
      const streamId = await events.replayEventsAfter(lastEventId, sink);
      const exchange = byStream.get(streamId);
      const response = current.getStore()?.response;
      if (exchange !== undefined && response !== undefined) attach(exchange, response);
      return streamId;
    },
  };

  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomText,
    eventStore,
    retryInterval: LIMITS.retryMs,
    onsessioninitialized: options.onOpened,
  });
  const sendNow = transport.send.bind(transport);
  transport.send = async (message, sendOptions) => {
    const id = 'method' in message ? sendOptions?.relatedRequestId : message.id;
    const exchange = id === undefined ? undefined : exchanges.get(id);
    try {
      await current.run({ exchange }, () => sendNow(message, sendOptions));
    } finally {
      if (!('method' in message) && id !== undefined) settle(id);
    }
  };

  const server = factory({ era: 'legacy', authInfo: options.auth });
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's callback, no DOM event
  server.onerror = (error) => log.debug('http session', { error: error.message });
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the same
  server.onclose = () => {
    for (const exchange of exchanges.values()) clearTimeout(exchange.timer);
    exchanges.clear();
    byStream.clear();
    events.close();
    options.onClosed();
  };
  await server.connect(transport);
  const deliver = transport.onmessage;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the same
  transport.onmessage = (message, extra) => {
    if ('id' in message && 'method' in message) delivered.add(message.id);
    deliver?.(message, extra);
    if ('id' in message && 'method' in message && calledOff.delete(message.id))
      cancel(message.id, 'called off');
  };

  function attach(exchange: Exchange, response: ServerResponse): void {
    clearTimeout(exchange.timer);
    exchange.connection = response;
    response.once('close', () => {
      if (exchange.connection !== response) return;
      exchange.connection = undefined;
      if (exchange.owed.size === 0) return;
      exchange.timer = setTimeout(() => giveUp(exchange), resumeWindowMs);
      exchange.timer.unref();
    });
  }

  /** A client that opens a stream again has lost the old one, although we may not know: the SDK would reject it. */
  async function makeWay(lastEventId: string | string[] | undefined): Promise<void> {
    const resumed = lastEventId && (await events.getStreamIdForEventId(String(lastEventId)));
    const [owed] = (resumed && byStream.get(resumed)?.owed) || [];
    if (owed !== undefined) transport.closeSSEStream(owed);
    else if (!lastEventId || resumed === STANDALONE) transport.closeStandaloneSSEStream();
  }

  function giveUp(exchange: Exchange): void {
    for (const id of exchange.owed) cancel(id, 'the connection was lost and not resumed');
  }

  function cancel(id: RequestId, reason: string): void {
    deliver?.(cancellationOf(id, reason));
    endStream(id);
  }

  /** It comes by another connection than the request, and may be faster; a late one, for what was answered, is nothing. */
  function noteCancelled(id: RequestId): void {
    if (delivered.has(id)) endStream(id);
    else if (!answered.has(id)) keep(calledOff, id);
  }

  /**
   * The SDK answers no cancelled request and leaves its stream open for good. Closed without an answer, clients would
   * try to resume it; so the stream is closed and the answer stored, where only one that resumes will find it.
   */
  function endStream(id: RequestId): void {
    setImmediate(() => {
      const exchange = exchanges.get(id);
      if (exchange === undefined) return;
      if (exchange.owed.size === 1) transport.closeSSEStream(id);
      const error = { code: -32_000, message: 'The request was cancelled' };
      transport.send({ jsonrpc: '2.0', id, error }).catch(() => undefined);
    });
  }

  function settle(id: RequestId): void {
    const exchange = exchanges.get(id);
    if (exchange === undefined) return;
    exchanges.delete(id);
    delivered.delete(id);
    calledOff.delete(id);
    keep(answered, id);
    exchange.owed.delete(id);
    if (exchange.owed.size > 0) return;
    clearTimeout(exchange.timer);
    if (exchange.streamId !== undefined) byStream.delete(exchange.streamId);
  }

  return {
    async handle(request, response, { body, requests, cancelled }) {
      const exchange: Exchange = {
        owed: new Set(requests),
        streamId: undefined,
        connection: undefined,
        timer: undefined,
      };
      if (request.method === 'GET') await makeWay(request.headers['last-event-id']);
      if (requests.length > 0) {
        for (const id of requests) {
          exchanges.set(id, exchange);
          answered.delete(id);
        }
        attach(exchange, response);
      }
      await current.run({ exchange, response }, () => transport.handleRequest(request, response, body));
      // Refused by the SDK (a wrong Accept, an unknown revision): nothing will be answered.
      if (response.statusCode >= 400) for (const id of requests) settle(id);
      for (const id of cancelled) noteCancelled(id);
    },
    isOwed: (id) => exchanges.has(id),
    isBusy: () => exchanges.size > 0,
    close: () => server.close(),
  };
}

/** The newest so many: a client that is further behind does not come back. */
function keep(ids: Set<RequestId>, id: RequestId): void {
  ids.add(id);
  const [oldest] = ids;
  if (ids.size > LIMITS.sessionStreams && oldest !== undefined) ids.delete(oldest);
}
