/**
 * The sessions of 2025-era HTTP clients: bounded in number, each its principal's alone.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isInitializeRequest, type RequestId } from '@modelcontextprotocol/server';
import { messageOf } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Log } from '../../base/log.ts';
import { cancelledId, classify } from '../json-rpc.ts';
import type { ServerFactory } from '../server.ts';
import { authInfoOf, type HttpCaller, withCaller } from './auth-info.ts';
import { createEventLog } from './event-store.ts';
import { protocolRejection, type Rejection } from './rejection.ts';
import { type Current, type HttpSession, openHttpSession } from './session.ts';

export interface HttpSessionsOptions {
  readonly factory: ServerFactory;
  readonly log: Log;
  readonly resumeWindowMs: number;
  readonly maxSessions: number;
}

export interface HttpSessions {
  /** Answers the request, or says with what it must be refused. */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    caller: HttpCaller,
    body: unknown,
  ): Promise<Rejection | undefined>;
  count(): number;
  close(): Promise<void>;
}

interface Entry {
  readonly principal: string;
  readonly session: HttpSession;
}

/** Of all sessions, for one principal. */
const SHARE = 0.5;

export function createHttpSessions(options: HttpSessionsOptions): HttpSessions {
  const { factory, log, resumeWindowMs, maxSessions } = options;
  // Used again, an entry moves to the end: the first is the one idle longest.
  const entries = new Map<string, Entry>();
  const current = new AsyncLocalStorage<Current>();
  const eventLog = createEventLog({ maxEvents: LIMITS.events, maxBytes: LIMITS.eventBytes });

  async function handle(
    request: IncomingMessage,
    response: ServerResponse,
    caller: HttpCaller,
    body: unknown,
  ): Promise<Rejection | undefined> {
    const { principal } = caller;
    const authenticated = withCaller(request, caller);
    const message = { body, ...readIds(body) };
    const id = request.headers['mcp-session-id'];
    if (id === undefined) {
      if (request.method !== 'POST') return noStream();
      if (!isInitializeRequest(body))
        return protocolRejection(400, -32_000, 'The header Mcp-Session-Id is missing');
      if (!makeRoom(principal))
        return protocolRejection(503, -32_000, 'Too many sessions are in use; try again later');
      const session = await open(caller);
      await session.handle(authenticated, response, message);
      // Refused by the SDK before it became a session.
      if (response.statusCode >= 400) await session.close();
      return undefined;
    }
    const entry = typeof id === 'string' ? entries.get(id) : undefined;
    // Another principal's session is answered like one that does not exist, so that ids cannot be tried out.
    if (entry === undefined || entry.principal !== principal)
      return protocolRejection(404, -32_001, 'Session not found');
    entries.delete(String(id));
    entries.set(String(id), entry);
    if (message.requests.some((requestId) => entry.session.isOwed(requestId))) {
      return protocolRejection(400, -32_600, 'Invalid request: this id is in use');
    }
    await entry.session.handle(authenticated, response, message);
    return undefined;
  }

  async function open(caller: HttpCaller): Promise<HttpSession> {
    const { principal } = caller;
    let openedId: string | undefined;
    const session: HttpSession = await openHttpSession({
      factory,
      auth: authInfoOf(caller),
      events: eventLog.open(principal),
      current,
      resumeWindowMs,
      log,
      onOpened: (id) => {
        openedId = id;
        entries.set(id, { principal, session });
      },
      onClosed: () => {
        if (openedId !== undefined) entries.delete(openedId);
      },
    });
    return session;
  }

  /**
   * An evicted session gets a 404 with its next request, and begins anew. The principal with the most sessions makes
   * room for the others, and at its own share for itself: no principal loses sessions because another opens many.
   */
  function makeRoom(principal: string): boolean {
    const counts = new Map<string, number>();
    for (const entry of entries.values()) counts.set(entry.principal, (counts.get(entry.principal) ?? 0) + 1);
    const isAtShare = (counts.get(principal) ?? 0) >= Math.ceil(maxSessions * SHARE);
    if (!isAtShare && entries.size < maxSessions) return true;
    const byCount = [...counts].sort(([, one], [, other]) => other - one).map(([name]) => name);
    return (isAtShare ? [principal] : byCount).some(closeIdlest);
  }

  function closeIdlest(principal: string): boolean {
    for (const [id, entry] of entries) {
      if (entry.principal !== principal || entry.session.isBusy()) continue;
      entries.delete(id);
      entry.session
        .close()
        .catch((error: unknown) => log.warn('closing a session', { error: messageOf(error) }));
      return true;
    }
    return false;
  }

  return {
    handle,
    count: () => entries.size,
    async close() {
      await Promise.all([...entries.values()].map(({ session }) => session.close()));
      entries.clear();
    },
  };
}

/** To clients this says that there is no stream for them here, which they take in their stride; a 400 they report. */
function noStream(): Rejection {
  const rejection = protocolRejection(405, -32_000, 'Without the header Mcp-Session-Id only POST is allowed');
  return { ...rejection, headers: { allow: 'POST' } };
}

function readIds(body: unknown): { requests: RequestId[]; cancelled: RequestId[] } {
  const requests: RequestId[] = [];
  const cancelled: RequestId[] = [];
  for (const value of Array.isArray(body) ? body : [body]) {
    const incoming = classify(value);
    if (incoming.kind === 'request') requests.push(incoming.message.id);
    if (incoming.kind === 'notification') {
      const id = cancelledId(incoming.message);
      if (id !== undefined) cancelled.push(id);
    }
  }
  return { requests, cancelled };
}
