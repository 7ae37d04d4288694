/** A download is a plain link, which has no headers: it carries a ticket that works once, and with its cookie alone. */
import { randomBytes } from 'node:crypto';
import type { Session } from './page-sessions.ts';

export interface Wanted {
  readonly id: string;
  readonly stream: string;
}

export interface Tickets {
  create(session: Session, wanted: Wanted): string;
  /** Undefined where it is used, too old or unknown. */
  redeem(ticket: string): { readonly session: Session; readonly wanted: Wanted } | undefined;
}

const LIFE_MS = 60_000;
const MAX = 64;

export function createTickets(now: () => number): Tickets {
  const open = new Map<string, { session: Session; wanted: Wanted; untilMs: number }>();
  return {
    create(session, wanted) {
      const ticket = randomBytes(32).toString('base64url');
      open.set(ticket, { session, wanted, untilMs: now() + LIFE_MS });
      for (const oldest of open.keys()) if (open.size > MAX) open.delete(oldest);
      return ticket;
    },
    redeem(ticket) {
      const found = open.get(ticket);
      open.delete(ticket);
      return found === undefined || now() >= found.untilMs ? undefined : found;
    },
  };
}
