/** A download is a plain link, which has no headers: it carries a ticket that works once, and with its cookie alone. */
import { randomBytes } from 'node:crypto';
import type { Session } from './page-sessions.ts';

interface Wanted {
  readonly id: string;
  readonly stream: string;
}

export type Tickets = ReturnType<typeof createTickets>;

const LIFE_MS = 60_000;
const MAX = 64;

export function createTickets(now: () => number) {
  const open = new Map<string, { session: Session; wanted: Wanted; untilMs: number }>();
  return {
    create(session: Session, wanted: Wanted): string {
      const ticket = randomBytes(32).toString('base64url');
      open.set(ticket, { session, wanted, untilMs: now() + LIFE_MS });
      for (const oldest of open.keys()) if (open.size > MAX) open.delete(oldest);
      return ticket;
    },
    /** Undefined where it is used, too old or unknown. */
    redeem(ticket: string) {
      const found = open.get(ticket);
      open.delete(ticket);
      return found === undefined || now() >= found.untilMs ? undefined : found;
    },
  };
}
