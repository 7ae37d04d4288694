/**
 * Events of 2025-era streams, for clients that lost their connection and come back with Last-Event-ID. One budget
 * for all sessions, in memory, oldest dropped first; a session sees only its own streams.
 */
import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server';
import { LIMITS } from '../base/limits.ts';

export interface EventLog {
  /** The store of one session; `close` forgets what it holds. */
  open(): SessionEvents;
}

export interface SessionEvents extends Required<EventStore> {
  close(): void;
}

interface StoredEvent {
  readonly session: symbol;
  readonly streamId: string;
  readonly id: string;
  /** As text: what a tool returned must not change under us, and its length is the cost. */
  readonly text: string;
}

export function createEventLog({ maxEvents, maxBytes }: { maxEvents: number; maxBytes: number }): EventLog {
  // A set keeps the order of insertion, so its first entry is the oldest.
  const events = new Set<StoredEvent>();
  let bytes = 0;

  function remove(event: StoredEvent): void {
    if (events.delete(event)) bytes -= event.text.length;
  }

  function makeRoom(): void {
    for (const oldest of events) {
      if (events.size <= maxEvents && bytes <= maxBytes) return;
      remove(oldest);
    }
  }

  function open(): SessionEvents {
    const session = Symbol('session');
    const streams = new Set<string>();
    let count = 0;

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
        count += 1;
        remember(streamId);
        const id = `${streamId}.${count}`;
        const text = JSON.stringify(message);
        // One answer must not push out what everybody else may come back for.
        if (text.length > maxBytes / 2) return id;
        events.add({ session, streamId, id, text });
        bytes += text.length;
        makeRoom();
        return id;
      },
      async getStreamIdForEventId(eventId) {
        return streamOf(eventId);
      },
      async replayEventsAfter(lastEventId, { send }) {
        const streamId = streamOf(lastEventId);
        if (streamId === undefined) throw new Error('unknown event');
        const last = numberOf(lastEventId);
        const missed = [...events].filter(
          (event) => event.session === session && event.streamId === streamId && numberOf(event.id) > last,
        );
        for (const event of missed) {
          // The empty message opens a stream and says nothing.
          if (event.text !== '{}') await send(event.id, JSON.parse(event.text) as JSONRPCMessage);
        }
        return streamId;
      },
      close() {
        for (const event of events) {
          if (event.session === session) remove(event);
        }
      },
    };
  }

  return { open };
}

function numberOf(eventId: string): number {
  return Number(eventId.slice(eventId.lastIndexOf('.') + 1));
}
