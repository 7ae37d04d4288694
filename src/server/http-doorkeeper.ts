/**
 * Who was turned away at the door: without a token, with a wrong one, or sent by a foreign page. Of each kind only so
 * many a minute are told one by one, and the rest as a number: whoever knocks a million times must not fill a disk, nor
 * hide another kind of attempt behind it.
 */
import type { IncomingMessage } from 'node:http';
import type { ErrorCode } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Refusal } from './http-refusal.ts';
import { clip } from './quote.ts';

export interface TurnedAway {
  readonly requestId: string;
  readonly status: number;
  /** Absent for a Host or Origin that is not ours. */
  readonly code?: ErrorCode;
  readonly reason: string;
  readonly from: string;
  readonly host?: string;
  readonly origin?: string;
  /** So many more like it in the same minute, of which this is the last. */
  readonly others?: number;
}

export interface Doorkeeper {
  turnedAway(request: IncomingMessage, refusal: Refusal, requestId: string): void;
  /** Tells what is not told yet. */
  close(): void;
}

interface Kind {
  told: number;
  untold: number;
  last: TurnedAway;
}

export function createDoorkeeper({
  record,
  windowMs = LIMITS.turnedAwayMs,
}: {
  readonly record: (entry: TurnedAway) => void;
  readonly windowMs?: number | undefined;
}): Doorkeeper {
  const kinds = new Map<string, Kind>();
  let timer: NodeJS.Timeout | undefined;

  function close(): void {
    clearTimeout(timer);
    timer = undefined;
    for (const { untold, last } of kinds.values()) if (untold > 0) record({ ...last, others: untold - 1 });
    kinds.clear();
  }

  return {
    turnedAway(request, refusal, requestId) {
      timer ??= setTimeout(close, windowMs).unref();
      const last = describe(request, refusal, requestId);
      const name = last.code ?? (request.headers.origin === undefined ? 'host' : 'origin');
      const kind = kinds.get(name) ?? { told: 0, untold: 0, last };
      kinds.set(name, kind);
      if (kind.told < LIMITS.turnedAwayLines) {
        kind.told++;
        record(last);
      } else {
        kind.untold++;
        kind.last = last;
      }
    },
    close,
  };
}

function describe({ socket, headers }: IncomingMessage, refusal: Refusal, requestId: string): TurnedAway {
  const { error } = refusal.body as { error: { code: ErrorCode | number; message: string } };
  return {
    requestId,
    status: refusal.status,
    ...(typeof error.code === 'string' && { code: error.code }),
    reason: error.message,
    from: socket.remoteAddress ?? '',
    ...(headers.host !== undefined && { host: clip(headers.host) }),
    ...(headers.origin !== undefined && { origin: clip(headers.origin) }),
  };
}
