/**
 * What each principal has been answered and has not taken yet. Above a bound nothing more is begun for it, so that one
 * who asks and does not read fills neither memory nor anybody else's time; who takes nothing at all is dropped after a
 * minute (listen.ts), and what waits for it goes on.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { LIMITS, type Limits } from '../../base/limits.ts';
import type { Caller } from '../auth.ts';
import { halfOf, partOf } from '../shares.ts';

export interface Outbox {
  /** Resolves when there is room for another answer; rejects with the signal. */
  room(signal: AbortSignal): Promise<void>;
  /** So much was answered. */
  add(bytes: number): void;
}

interface Owed {
  readonly socket: Socket;
  readonly takenBefore: number;
  bytes: number;
}

export function createOutboxes({ unreadBytes: maxBytes }: Limits) {
  const all = new Map<string, Set<Owed>>();

  function waitingFor(part: string): number {
    let bytes = 0;
    for (const owed of all.get(part) ?? [])
      bytes += Math.max(0, owed.bytes - (takenBy(owed.socket) - owed.takenBefore));
    return bytes;
  }

  function open(part: string, response: ServerResponse, socket: Socket): Owed {
    const theirs = all.get(part) ?? new Set();
    all.set(part, theirs);
    const owed = { socket, takenBefore: takenBy(socket), bytes: 0 };
    theirs.add(owed);
    response.once('close', () => {
      theirs.delete(owed);
      if (theirs.size === 0 && all.get(part) === theirs) all.delete(part);
    });
    return owed;
  }

  return (caller: Caller, response: ServerResponse): Outbox => {
    const part = partOf(caller);
    const most = caller.grant.isReadOnly ? halfOf(maxBytes) : maxBytes;
    let owed: Owed | undefined;
    return {
      async room(signal) {
        while (waitingFor(part) >= most) await sleep(LIMITS.unreadLookMs, undefined, { signal });
      },
      add(bytes) {
        const { socket } = response;
        // The connection is gone, and the answer is kept for one that resumes, or for nobody.
        if (socket === null || response.closed) return;
        owed ??= open(part, response, socket);
        owed.bytes += bytes;
      },
    };
  };
}

const takenBy = (socket: Socket): number => socket.bytesWritten - socket.writableLength;
