/**
 * Bytes of requests that a principal has sent and that are not answered yet. The body of one is bounded, and so is
 * their sum: a thousand large ones at once, sent as slowly as is allowed, would fill the memory.
 */
import type { ServerResponse } from 'node:http';
import { ShellServerError } from '../../base/errors.ts';
import type { Limits } from '../../base/limits.ts';
import type { Caller } from '../auth.ts';
import { createShares } from '../shares.ts';
import { type Rejection, serverRejection } from './rejection.ts';

/** Asked with every piece of a body: why no more of it is taken. */
export type Intake = (bytes: number) => Rejection | undefined;

export function createIntakes({
  principalBodyBytes: maxBytes,
}: Limits): (caller: Caller, response: ServerResponse, requestId: string) => Intake {
  const held = createShares(maxBytes);
  return (caller, response, requestId) => {
    let own = 0;
    response.once('close', () => held.giveBack(caller, own));
    return (bytes) => {
      // One alone always has room.
      const full = held.count(caller) > own ? held.full(caller, bytes) : undefined;
      if (full !== undefined) return tooMuch(full.limit, requestId);
      own += bytes;
      held.take(caller, bytes);
      return undefined;
    };
  };
}

function tooMuch(limit: number, requestId: string): Rejection {
  const message = `The limit of ${limit} bytes in open requests is reached.`;
  const hint = 'Wait for the answer to one of them.';
  const error = new ShellServerError('RESOURCE_005', message, { hint, details: { limit } });
  return serverRejection(429, error, requestId, { 'retry-after': '1' });
}
