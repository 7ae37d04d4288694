/**
 * What is decided about a request when its body is known: whether its principal has too many open, whether a server
 * that is leaving still takes it, and whether its token opens what it asks for. What was let in is counted until its
 * answer is out, so that leaving can wait for it.
 */
import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { ShellServerError } from '../../base/errors.ts';
import type { Limits } from '../../base/limits.ts';
import type { Dispatch } from '../dispatch.ts';
import { messagesIn } from '../json-rpc.ts';
import { createShares } from '../shares.ts';
import type { HttpCaller } from './auth-info.ts';
import { INSUFFICIENT_SCOPE, type Rejection, serverRejection } from './rejection.ts';

export type Admission = ReturnType<typeof createAdmission>;

export function createAdmission(
  dispatch: Pick<Dispatch, 'denialOf'> | undefined,
  { principalRequests: maxRequests }: Limits,
) {
  const open = createShares(maxRequests);
  const work = new Set<ServerResponse>();
  const events = new EventEmitter();
  let isDraining = false;

  function count(caller: HttpCaller, response: ServerResponse, isWork: boolean): void {
    open.take(caller);
    if (isWork) work.add(response);
    response.once('close', () => {
      open.giveBack(caller);
      work.delete(response);
      if (work.size === 0) events.emit('idle');
    });
  }

  return {
    /** Throws a Rejection where it may not go on. */
    admit(body: unknown, response: ServerResponse, caller: HttpCaller): void {
      const full = open.full(caller);
      if (full !== undefined) throw tooMany(full.limit, caller);
      const asked = requestsIn(body);
      // What a call that is under way waits for, an answer of a person say, is no new work.
      if (isDraining && asked.length > 0) throw leaving(caller.requestId);
      for (const { method, params } of asked) {
        const error = dispatch?.denialOf(method, params, caller);
        if (error !== undefined) throw serverRejection(403, error, caller.requestId, INSUFFICIENT_SCOPE);
      }
      count(caller, response, asked.some(isAnswered));
    },
    /** Takes no new work from now on; resolves when all that was let in is answered, or after so long. */
    async drain(timeoutMs: number): Promise<void> {
      isDraining = true;
      if (work.size === 0) return;
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), timeoutMs);
      await once(events, 'idle', { signal: late.signal }).catch(() => undefined);
      clearTimeout(timer);
    },
    isDraining: () => isDraining,
    /** Requests that are being answered, standing streams aside. */
    underWay: () => work.size,
  };
}

interface Asked {
  readonly method: string;
  readonly params?: unknown;
}

const requestsIn = (body: unknown): Asked[] =>
  messagesIn(body).flatMap((incoming) => (incoming.kind === 'request' ? [incoming.message] : []));

/** A subscription of the 2026-07-28 revision is a request whose answer never ends. */
const isAnswered = ({ method }: Asked): boolean => method !== 'subscriptions/listen';

export function leaving(requestId: string): Rejection {
  const error = new ShellServerError('SYSTEM_002', 'The server is shutting down and accepts no new work.');
  return serverRejection(503, error, requestId, { connection: 'close', 'retry-after': '5' });
}

function tooMany(limit: number, { requestId }: HttpCaller): Rejection {
  const error = new ShellServerError('RESOURCE_005', `The limit of ${limit} open requests is reached.`, {
    hint: 'Wait for the answer to one of them, or close an unused stream.',
    details: { limit },
  });
  return serverRejection(429, error, requestId, { 'retry-after': '1' });
}
