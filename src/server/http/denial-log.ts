/**
 * Records requests that were denied: without a token, with an invalid one, or from a foreign page. Only a few of each kind
 * per minute get a line; the rest are counted. A million attempts must not fill a disk or hide another kind of attempt.
 */
import type { IncomingMessage } from 'node:http';
import type { ErrorCode } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { clip } from '../quote.ts';
import type { Rejection } from './rejection.ts';

export interface DeniedRequest {
  readonly requestId: string;
  readonly status: number;
  /** Absent for a Host or Origin that is not ours. */
  readonly code?: ErrorCode;
  readonly reason: string;
  readonly from: string;
  readonly host?: string;
  readonly origin?: string;
  /** How many more of the same kind there were in the same minute; this is the last of them. */
  readonly others?: number;
}

export type DenialLog = ReturnType<typeof createDenialLog>;

interface Kind {
  recorded: number;
  counted: number;
  last: DeniedRequest;
}

export function createDenialLog(
  record: (entry: DeniedRequest) => void,
  windowMs: number = LIMITS.deniedRequestsMs,
) {
  const kinds = new Map<string, Kind>();
  let timer: NodeJS.Timeout | undefined;

  /** Records the counts of the current minute. */
  function close(): void {
    clearTimeout(timer);
    timer = undefined;
    for (const { counted, last } of kinds.values()) if (counted > 0) record({ ...last, others: counted - 1 });
    kinds.clear();
  }

  return {
    add(request: IncomingMessage, rejection: Rejection, requestId: string): void {
      timer ??= setTimeout(close, windowMs).unref();
      const last = describe(request, rejection, requestId);
      const name = last.code ?? (request.headers.origin === undefined ? 'host' : 'origin');
      const kind = kinds.get(name) ?? { recorded: 0, counted: 0, last };
      kinds.set(name, kind);
      if (kind.recorded < LIMITS.deniedRequestLines) {
        kind.recorded++;
        record(last);
      } else {
        kind.counted++;
        kind.last = last;
      }
    },
    close,
  };
}

function describe(
  { socket, headers }: IncomingMessage,
  rejection: Rejection,
  requestId: string,
): DeniedRequest {
  const { code } = rejection.body.error;
  return {
    requestId,
    status: rejection.status,
    ...(typeof code === 'string' && { code: code as ErrorCode }),
    reason: rejection.message,
    from: socket.remoteAddress ?? '',
    ...(headers.host !== undefined && { host: clip(headers.host) }),
    ...(headers.origin !== undefined && { origin: clip(headers.origin) }),
  };
}
