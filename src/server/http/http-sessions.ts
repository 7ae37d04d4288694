/**
 * The sessions of 2025-era HTTP clients: bounded in number, each its principal's alone. Tokens of one principal share its
 * part of them.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isInitializeRequest, type RequestId } from '@modelcontextprotocol/server';
import { messageOf } from '../../base/errors.ts';
import { LIMITS, type Limits } from '../../base/limits.ts';
import type { Log } from '../../base/log.ts';
import { createQuota } from '../../base/quota.ts';
import { cancelledId, messagesIn } from '../json-rpc.ts';
import type { ServerFactory } from '../server.ts';
import { partOf } from '../shares.ts';
import { authInfoOf, type HttpCaller, withCaller } from './auth-info.ts';
import { createEventLog } from './event-store.ts';
import { protocolRejection, type Rejection } from './rejection.ts';
import { type Current, type HttpSession, openHttpSession } from './session.ts';

export interface HttpSessionsOptions {
  readonly factory: ServerFactory;
  readonly log: Log;
  readonly limits: Limits;
}

interface Holder {
  readonly principal: string;
  /** The name of the token that it was opened with. */
  readonly token: string;
}

interface Entry extends Holder {
  readonly session: HttpSession;
}

/** Of all sessions, for one principal. */
const SHARE = 0.5;

export function createHttpSessions(options: HttpSessionsOptions) {
  const pool = createPool(options.log, options.limits.httpSessions);
  const open = createOpener(options, pool.entries);

  /** Answers the request, or throws a Rejection. */
  async function handle(
    request: IncomingMessage,
    response: ServerResponse,
    caller: HttpCaller,
    body: unknown,
  ): Promise<void> {
    const authenticated = withCaller(request, caller);
    const message = { body, ...readIds(body) };
    const id = request.headers['mcp-session-id'];
    if (id === undefined) {
      if (request.method !== 'POST') throw noStream();
      if (!isInitializeRequest(body))
        throw protocolRejection(400, -32_000, 'The header Mcp-Session-Id is missing');
      if (!pool.makeRoom(holderOf(caller)))
        throw protocolRejection(503, -32_000, 'Too many sessions are in use; try again later');
      const session = await open(caller);
      await session.handle(authenticated, response, message);
      // Refused by the SDK before it became a session.
      if (response.statusCode >= 400) await session.close();
      return;
    }
    const session = pool.find(String(id), caller.principal);
    if (session === undefined) throw protocolRejection(404, -32_001, 'Session not found');
    if (message.requests.some((requestId) => session.isOwed(requestId)))
      throw protocolRejection(400, -32_600, 'Invalid request: this id is in use');
    await session.handle(authenticated, response, message);
  }

  return {
    handle,
    count: () => pool.entries.size,
    async close(): Promise<void> {
      await Promise.all([...pool.entries.values()].map(({ session }) => session.close()));
      pool.entries.clear();
    },
  };
}

function createOpener(
  { factory, log, limits }: HttpSessionsOptions,
  entries: Map<string, Entry>,
): (caller: HttpCaller) => Promise<HttpSession> {
  const current = new AsyncLocalStorage<Current>();
  const eventLog = createEventLog({ maxEvents: LIMITS.events, maxBytes: LIMITS.eventBytes });
  return async (caller) => {
    let openedId: string | undefined;
    const session: HttpSession = await openHttpSession({
      factory,
      auth: authInfoOf(caller),
      events: eventLog.open(partOf(caller)),
      current,
      resumeWindowMs: limits.resumeWindowMs,
      log,
      onOpened: (id) => {
        openedId = id;
        entries.set(id, { ...holderOf(caller), session });
      },
      onClosed: () => {
        if (openedId !== undefined) entries.delete(openedId);
      },
    });
    return session;
  };
}

const holderOf = ({ principal, grant }: HttpCaller): Holder => ({ principal, token: grant.token });

function createPool(log: Log, maxSessions: number) {
  // Used again, an entry moves to the end: the first is the one idle longest.
  const entries = new Map<string, Entry>();

  function closeIdlest({ principal, token }: Holder): boolean {
    for (const [id, entry] of entries) {
      if (entry.principal !== principal || entry.token !== token || entry.session.isBusy()) continue;
      entries.delete(id);
      entry.session
        .close()
        .catch((error: unknown) => log.warn('closing a session', { error: messageOf(error) }));
      return true;
    }
    return false;
  }

  return {
    entries,
    /** Another principal's session is answered like one that does not exist, so that ids cannot be tried out. */
    find(id: string, principal: string): HttpSession | undefined {
      const entry = entries.get(id);
      if (entry?.principal !== principal) return undefined;
      entries.delete(id);
      entries.set(id, entry);
      return entry.session;
    },
    /**
     * An evicted session gets a 404 with its next request, and begins anew. The principal with the most sessions makes
     * room for the others, and at its own share for itself: no principal loses sessions because another opens many. Nor
     * does a token, to another of its principal that has more.
     */
    makeRoom(opener: Holder): boolean {
      const owners = Array.from(entries.values(), ({ principal }) => principal);
      const quota = createQuota({ each: Math.ceil(maxSessions * SHARE), all: maxSessions }, owners);
      const full = quota.full(opener.principal);
      if (full === undefined) return true;
      return (full.isOwn ? [opener.principal] : quota.holders()).some((principal) =>
        tokensToGiveWay(entries.values(), principal, opener).some((token) =>
          closeIdlest({ principal, token }),
        ),
      );
    },
  };
}

/** The one with the most sessions first, and of the opener's own principal none with fewer than the opener has. */
function tokensToGiveWay(entries: Iterable<Entry>, principal: string, opener: Holder): readonly string[] {
  const isOwn = principal === opener.principal;
  const held = [...entries].filter((entry) => entry.principal === principal).map(({ token }) => token);
  // With the one that is about to be opened.
  const holders = createQuota(
    { each: Number.POSITIVE_INFINITY },
    isOwn ? [opener.token, ...held] : held,
  ).holders();
  return isOwn ? holders.slice(0, holders.indexOf(opener.token) + 1) : holders;
}

/** To clients this says that there is no stream for them here, which they take in their stride; a 400 they report. */
function noStream(): Rejection {
  const message = 'Without the header Mcp-Session-Id only POST is allowed';
  return protocolRejection(405, -32_000, message, { allow: 'POST' });
}

function readIds(body: unknown): { requests: RequestId[]; cancelled: RequestId[] } {
  const messages = messagesIn(body);
  return {
    requests: messages.flatMap((one) => (one.kind === 'request' ? [one.message.id] : [])),
    cancelled: messages.flatMap((one) =>
      one.kind === 'notification' ? (cancelledId(one.message) ?? []) : [],
    ),
  };
}
