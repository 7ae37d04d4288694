/**
 * Bytes of requests that a principal has sent and that are not answered yet. The body of one is bounded, and so is
 * their sum: a thousand large ones at once, sent as slowly as is allowed, would fill the memory.
 */
import type { ServerResponse } from 'node:http';
import { ShellServerError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { type Rejection, serverRejection } from './rejection.ts';

/** Asked with every piece of a body: why no more of it is taken. */
export type Intake = (bytes: number) => Rejection | undefined;

export function createIntakes(
  maxBytes: number = LIMITS.principalBodyBytes,
): (principal: string, response: ServerResponse, requestId: string) => Intake {
  const held = new Map<string, number>();

  function change(principal: string, bytes: number): void {
    const now = (held.get(principal) ?? 0) + bytes;
    if (now > 0) held.set(principal, now);
    else held.delete(principal);
  }

  return (principal, response, requestId) => {
    let own = 0;
    response.once('close', () => change(principal, -own));
    return (bytes) => {
      // One alone always has room.
      const others = (held.get(principal) ?? 0) - own;
      if (others > 0 && others + own + bytes > maxBytes) return tooMuch(maxBytes, requestId);
      own += bytes;
      change(principal, bytes);
      return undefined;
    };
  };
}

function tooMuch(limit: number, requestId: string): Rejection {
  const error = new ShellServerError(
    'RESOURCE_005',
    `The limit of ${limit} bytes in open requests is reached.`,
    {
      hint: 'Wait for the answer to one of them.',
      details: { limit },
    },
  );
  return serverRejection(429, error, requestId, { 'retry-after': '1' });
}
