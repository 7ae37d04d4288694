/**
 * What is decided about a request when its body is known: whether its principal has too many open, whether a server
 * that is leaving still takes it, and whether its token opens what it asks for. What was let in is counted until its
 * answer is out, so that leaving can wait for it.
 */
import type { ServerResponse } from 'node:http';
import { ShellServerError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Dispatch } from '../dispatch.ts';
import { classify } from '../json-rpc.ts';
import type { HttpCaller } from './auth-info.ts';
import { INSUFFICIENT_SCOPE, type Rejection, serverRejection } from './rejection.ts';

export interface Admission {
  /** Why it is refused; undefined where it may go on. */
  admit(body: unknown, response: ServerResponse, caller: HttpCaller): Rejection | undefined;
  /** Takes no new work from now on; resolves when all that was let in is answered, or after so long. */
  drain(timeoutMs: number): Promise<void>;
  isDraining(): boolean;
  /** Requests that are being answered, standing streams aside. */
  underWay(): number;
}

export function createAdmission(options: {
  readonly dispatch?: Pick<Dispatch, 'denialOf'> | undefined;
  readonly maxRequests?: number | undefined;
}): Admission {
  const { dispatch, maxRequests = LIMITS.principalRequests } = options;
  const open = new Map<string, number>();
  const work = new Set<ServerResponse>();
  let draining: { onIdle(): void } | undefined;

  function count({ principal }: HttpCaller, response: ServerResponse, isWork: boolean): void {
    open.set(principal, (open.get(principal) ?? 0) + 1);
    if (isWork) work.add(response);
    response.once('close', () => {
      const left = (open.get(principal) ?? 1) - 1;
      if (left > 0) open.set(principal, left);
      else open.delete(principal);
      work.delete(response);
      if (work.size === 0) draining?.onIdle();
    });
  }

  return {
    admit(body, response, caller) {
      if ((open.get(caller.principal) ?? 0) >= maxRequests) return tooMany(maxRequests, caller);
      const asked = requestsIn(body);
      // What a call that is under way waits for, an answer of a person say, is no new work.
      if (draining !== undefined && asked.length > 0) return leaving(caller.requestId);
      for (const { method, params } of asked) {
        const error = dispatch?.denialOf(method, params, caller);
        if (error !== undefined) return serverRejection(403, error, caller.requestId, INSUFFICIENT_SCOPE);
      }
      count(caller, response, asked.some(isAnswered));
      return undefined;
    },
    async drain(timeoutMs) {
      draining ??= { onIdle: () => undefined };
      if (work.size === 0) return;
      const waiting = draining;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        waiting.onIdle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
    isDraining: () => draining !== undefined,
    underWay: () => work.size,
  };
}

interface Asked {
  readonly method: string;
  readonly params?: unknown;
}

function requestsIn(body: unknown): Asked[] {
  return (Array.isArray(body) ? body : [body]).flatMap((value) => {
    const incoming = classify(value);
    return incoming.kind === 'request' ? [incoming.message] : [];
  });
}

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
