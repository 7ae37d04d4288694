/**
 * Events of 2025-era streams, for clients that lost their connection and come back with Last-Event-ID. One budget
 * for all sessions, in memory; the principal that holds the most of it loses its oldest first, so that nobody's stream is lost by
 * another's noise. A session sees only its own streams.
 */
import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server';
import { LIMITS } from '../../base/limits.ts';

export interface SessionEvents extends Required<EventStore> {
  close(): void;
}

/** What one principal holds. */
interface Share {
  // A set keeps the order of insertion, so its first entry is the oldest.
  readonly events: Set<StoredEvent>;
  bytes: number;
}

interface StoredEvent {
  readonly session: symbol;
  readonly share: Share;
  readonly streamId: string;
  readonly id: string;
  /** As text: what a tool returned must not change under us, and its length is the cost. */
  readonly text: string;
}

export function createEventLog(limits: { maxEvents: number; maxBytes: number }) {
  const budget = createBudget(limits);
  return {
    /** The store of one session of a principal, or of those who read for it; `close` forgets what it holds. */
    open: (holder = ''): SessionEvents => openEvents(budget, budget.shareOf(holder)),
  };
}

type Budget = ReturnType<typeof createBudget>;

function createBudget({ maxEvents, maxBytes }: { maxEvents: number; maxBytes: number }) {
  const shares = new Map<string, Share>();
  let count = 0;
  let bytes = 0;

  function remove(event: StoredEvent): void {
    const { share, text } = event;
    if (!share.events.delete(event)) return;
    share.bytes -= text.length;
    bytes -= text.length;
    count--;
  }

  function makeRoom(): void {
    while (count > maxEvents || bytes > maxBytes) {
      const sizeOf = ({ bytes: held, events }: Share): number => held / maxBytes + events.size / maxEvents;
      const largest = [...shares.values()].reduce((one, other) =>
        sizeOf(other) > sizeOf(one) ? other : one,
      );
      const [oldest] = largest.events;
      if (oldest === undefined) return;
      remove(oldest);
    }
  }

  return {
    remove,
    shareOf(principal: string): Share {
      const share = shares.get(principal) ?? { events: new Set(), bytes: 0 };
      shares.set(principal, share);
      return share;
    },
    add(event: StoredEvent): void {
      const { share, text } = event;
      // One answer must not push out what everybody else may come back for.
      if (text.length > maxBytes / 2) return;
      share.events.add(event);
      share.bytes += text.length;
      bytes += text.length;
      count++;
      makeRoom();
    },
  };
}

function openEvents(budget: Budget, share: Share): SessionEvents {
  const session = Symbol('session');
  const streams = new Set<string>();
  let last = 0;

  function remember(streamId: string): void {
    streams.add(streamId);
    const [oldest] = streams;
    if (streams.size > LIMITS.sessionStreams && oldest !== undefined) streams.delete(oldest);
  }

  /** The stream is part of the id, so that a client can resume after an event that was dropped meanwhile. */
  const streamOf = (eventId: string): string | undefined => {
    const streamId = eventId.slice(0, eventId.lastIndexOf('.'));
    return streams.has(streamId) ? streamId : undefined;
  };

  return {
    async storeEvent(streamId, message) {
      last += 1;
      remember(streamId);
      const id = `${streamId}.${last}`;
      budget.add({ session, share, streamId, id, text: JSON.stringify(message) });
      return id;
    },
    async getStreamIdForEventId(eventId) {
      return streamOf(eventId);
    },
    async replayEventsAfter(lastEventId, { send }) {
      const streamId = streamOf(lastEventId);
      if (streamId === undefined) throw new Error('unknown event');
      const seen = numberOf(lastEventId);
      const missed = [...share.events].filter(
        (event) => event.session === session && event.streamId === streamId && numberOf(event.id) > seen,
      );
      for (const event of missed) {
        // The empty message opens a stream and says nothing.
        if (event.text !== '{}') await send(event.id, JSON.parse(event.text) as JSONRPCMessage);
      }
      return streamId;
    },
    close() {
      for (const event of share.events) {
        if (event.session === session) budget.remove(event);
      }
    },
  };
}

function numberOf(eventId: string): number {
  return Number(eventId.slice(eventId.lastIndexOf('.') + 1));
}
