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

export type HttpSession = Awaited<ReturnType<typeof openHttpSession>>;

interface Message {
  readonly body: unknown;
  /** The ids of what the body asks. */
  readonly requests: readonly RequestId[];
  /** Those it calls off. */
  readonly cancelled: readonly RequestId[];
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

export async function openHttpSession(options: HttpSessionOptions) {
  const { factory, events, current, log } = options;
  const exchanges = createExchanges(options.resumeWindowMs, (id) =>
    cancel(id, 'the connection was lost and not resumed'),
  );
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomText,
    eventStore: noteStreams(events, exchanges, current),
    retryInterval: LIMITS.retryMs,
    onsessioninitialized: options.onOpened,
  });
  noteAnswers(transport, exchanges, current);
  const server = factory({ era: 'legacy', authInfo: options.auth });
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's callback, no DOM event
  server.onerror = (error) => log.debug('http session', { error: error.message });
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the same
  server.onclose = () => {
    exchanges.clear();
    events.close();
    options.onClosed();
  };
  await server.connect(transport);
  const deliver = transport.onmessage;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the same
  transport.onmessage = (message, extra) => {
    const id = 'id' in message && 'method' in message ? message.id : undefined;
    if (id !== undefined) exchanges.delivered.add(id);
    deliver?.(message, extra);
    if (id !== undefined && exchanges.calledOff.delete(id)) cancel(id, 'called off');
  };

  function cancel(id: RequestId, reason: string): void {
    deliver?.(cancellationOf(id, reason));
    endStream(id, transport, exchanges);
  }

  return {
    async handle(request: AuthenticatedRequest, response: ServerResponse, message: Message): Promise<void> {
      const { body, requests, cancelled } = message;
      if (request.method === 'GET') await makeWay(request, events, transport, exchanges);
      const exchange = exchanges.begin(requests, response);
      await current.run({ exchange, response }, () => transport.handleRequest(request, response, body));
      // Refused by the SDK (a wrong Accept, an unknown revision): nothing will be answered.
      if (response.statusCode >= 400) for (const id of requests) exchanges.settle(id);
      for (const id of cancelled) {
        // It comes by another connection than the request, and may be faster; a late one, for what was answered, is nothing.
        if (exchanges.delivered.has(id)) endStream(id, transport, exchanges);
        else if (!exchanges.answered.has(id)) keep(exchanges.calledOff, id);
      }
    },
    isOwed: (id: RequestId) => exchanges.open.has(id),
    isBusy: () => exchanges.open.size > 0,
    close: () => server.close(),
  };
}

type Exchanges = ReturnType<typeof createExchanges>;

/** The requests of a session, from their arrival until they are answered. */
function createExchanges(resumeWindowMs: number, giveUp: (id: RequestId) => void) {
  const open = new Map<RequestId, Exchange>();
  const byStream = new Map<string, Exchange>();
  /** Ids of requests that were cancelled before they came, and of those that were answered. */
  const calledOff = new Set<RequestId>();
  const answered = new Set<RequestId>();
  /** Those that have reached the server, so that a cancellation finds them there. */
  const delivered = new Set<RequestId>();

  function attach(exchange: Exchange, response: ServerResponse): void {
    clearTimeout(exchange.timer);
    exchange.connection = response;
    response.once('close', () => {
      if (exchange.connection !== response) return;
      exchange.connection = undefined;
      if (exchange.owed.size === 0) return;
      exchange.timer = setTimeout(() => exchange.owed.forEach(giveUp), resumeWindowMs);
      exchange.timer.unref();
    });
  }

  return {
    open,
    byStream,
    calledOff,
    answered,
    delivered,
    attach,
    begin(requests: readonly RequestId[], response: ServerResponse): Exchange {
      const exchange: Exchange = {
        owed: new Set(requests),
        streamId: undefined,
        connection: undefined,
        timer: undefined,
      };
      for (const id of requests) {
        open.set(id, exchange);
        answered.delete(id);
      }
      if (requests.length > 0) attach(exchange, response);
      return exchange;
    },
    settle(id: RequestId): void {
      const exchange = open.get(id);
      if (exchange === undefined) return;
      open.delete(id);
      delivered.delete(id);
      calledOff.delete(id);
      keep(answered, id);
      exchange.owed.delete(id);
      if (exchange.owed.size > 0) return;
      clearTimeout(exchange.timer);
      if (exchange.streamId !== undefined) byStream.delete(exchange.streamId);
    },
    clear(): void {
      for (const exchange of open.values()) clearTimeout(exchange.timer);
      open.clear();
      byStream.clear();
    },
  };
}

/** The events of the session, with the streams of its exchanges noted as they come by. */
function noteStreams(
  events: SessionEvents,
  { byStream, attach }: Exchanges,
  current: HttpSessionOptions['current'],
): EventStore {
  return {
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
}

function noteAnswers(
  transport: NodeStreamableHTTPServerTransport,
  { open, settle }: Exchanges,
  current: HttpSessionOptions['current'],
): void {
  const send = transport.send.bind(transport);
  transport.send = async (message, sendOptions) => {
    const id = 'method' in message ? sendOptions?.relatedRequestId : message.id;
    const exchange = id === undefined ? undefined : open.get(id);
    try {
      await current.run({ exchange }, () => send(message, sendOptions));
    } finally {
      if (!('method' in message) && id !== undefined) settle(id);
    }
  };
}

/** A client that opens a stream again has lost the old one, although we may not know: the SDK would reject it. */
async function makeWay(
  { headers }: AuthenticatedRequest,
  events: SessionEvents,
  transport: NodeStreamableHTTPServerTransport,
  { byStream }: Exchanges,
): Promise<void> {
  const lastEventId = headers['last-event-id'];
  const resumed = lastEventId && (await events.getStreamIdForEventId(String(lastEventId)));
  const [owed] = (resumed && byStream.get(resumed)?.owed) || [];
  if (owed !== undefined) transport.closeSSEStream(owed);
  else if (!lastEventId || resumed === STANDALONE) transport.closeStandaloneSSEStream();
}

/**
 * The SDK answers no cancelled request and leaves its stream open for good. Closed without an answer, clients would
 * try to resume it; so the stream is closed and the answer stored, where only one that resumes will find it.
 */
function endStream(id: RequestId, transport: NodeStreamableHTTPServerTransport, { open }: Exchanges): void {
  setImmediate(() => {
    const exchange = open.get(id);
    if (exchange === undefined) return;
    if (exchange.owed.size === 1) transport.closeSSEStream(id);
    const error = { code: -32_000, message: 'The request was cancelled' };
    transport.send({ jsonrpc: '2.0', id, error }).catch(() => undefined);
  });
}

/** The newest so many: a client that is further behind does not come back. */
function keep(ids: Set<RequestId>, id: RequestId): void {
  ids.add(id);
  const [oldest] = ids;
  if (ids.size > LIMITS.sessionStreams && oldest !== undefined) ids.delete(oldest);
}
