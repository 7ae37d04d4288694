/**
 * Who may use the page. A link carries a code that works once and for a few minutes; it is exchanged for a session, which
 * has two secrets: a cookie that scripts cannot read, and a key that only the page's own origin can. Browsers send
 * cookies of 127.0.0.1 to every port of it, so that a cookie alone would be known to servers on other ports.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';

export interface Session {
  /** What the audit log calls it. */
  readonly name: string;
  readonly cookie: string;
  readonly key: string;
}

export type Sessions = ReturnType<typeof createSessions>;

const CODE_MS = 10 * 60_000;
/** Without a request for so long it ends; a page that is open asks every few seconds. */
const IDLE_MS = 60 * 60_000;
const LIFE_MS = 24 * 60 * 60_000;
const GRACE_MS = 60_000;
/** Links that nobody opened, and tabs that nobody closed. */
const MAX_CODES = 16;
const MAX_SESSIONS = 64;

interface Held {
  readonly session: Session;
  readonly createdAtMs: number;
  untilMs: number;
  /** Its secrets are on the way out, and using them does not keep them alive. */
  isReplaced: boolean;
}

/** `clock`: one that nobody sets, or setting it back would prolong every limit. */
export function createSessions(clock: Clock) {
  /** By hash, so that a comparison tells nothing by its time. */
  const codes = new Map<string, number>();
  const held = new Map<string, Held>();
  let count = 0;

  function open(name: string, createdAtMs: number): Session {
    const session = { name, cookie: secret(), key: secret() };
    const untilMs = clock.now() + IDLE_MS;
    held.set(hash(session.cookie), { session, createdAtMs, untilMs, isReplaced: false });
    dropOldest(held, MAX_SESSIONS);
    return session;
  }

  function alive(cookie: string): Held | undefined {
    const found = held.get(hash(cookie));
    if (found === undefined) return undefined;
    const nowMs = clock.now();
    if (nowMs < found.untilMs && nowMs < found.createdAtMs + LIFE_MS) return found;
    held.delete(hash(cookie));
    return undefined;
  }

  return {
    /** A new one for a link. */
    createCode(): string {
      const code = secret();
      codes.set(hash(code), clock.now() + CODE_MS);
      dropOldest(codes, MAX_CODES);
      return code;
    },
    /** Undefined for a code that is unknown, used or too old. */
    redeem(code: string): Session | undefined {
      const untilMs = codes.get(hash(code));
      codes.delete(hash(code));
      if (untilMs === undefined || clock.now() >= untilMs) return undefined;
      count++;
      return open(`page ${count}`, clock.now());
    },
    /** Both secrets must be those of one session. */
    find(cookie: string | undefined, key: string | undefined): Session | undefined {
      if (cookie === undefined || key === undefined) return undefined;
      const found = alive(cookie);
      if (found === undefined || hash(found.session.key) !== hash(key)) return undefined;
      if (!found.isReplaced) found.untilMs = clock.now() + IDLE_MS;
      return found.session;
    },
    /** New secrets for it; the old ones work for another moment, for requests that are under way. */
    rotate(session: Session): Session {
      const found = alive(session.cookie);
      const next = open(session.name, found?.createdAtMs ?? clock.now());
      if (found !== undefined) {
        found.isReplaced = true;
        found.untilMs = Math.min(found.untilMs, clock.now() + GRACE_MS);
      }
      return next;
    },
    /** Under these secrets or newer ones. */
    isAlive: ({ name }: Session): boolean =>
      [...held.values()].some(({ session }) => session.name === name && alive(session.cookie)),
  };
}

const secret = (): string => randomBytes(32).toString('base64url');
const hash = (text: string): string => createHash('sha256').update(text).digest('base64url');

function dropOldest(map: Map<string, unknown>, limit: number): void {
  for (const name of map.keys()) {
    if (map.size <= limit) return;
    map.delete(name);
  }
}
