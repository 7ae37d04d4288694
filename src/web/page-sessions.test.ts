import { describe, expect, test } from 'vitest';
import { createSessions, type Session } from './page-sessions.ts';

const MINUTE = 60_000;

function setUp() {
  const clock = { ms: 0, now: () => clock.ms };
  const sessions = createSessions(clock);
  const open = (): Session => {
    const session = sessions.redeem(sessions.createCode());
    if (session === undefined) throw new Error('no session');
    return session;
  };
  return { clock, sessions, open };
}

describe('a code', () => {
  test('opens a session once', () => {
    const { sessions } = setUp();
    const code = sessions.createCode();
    expect(sessions.redeem(code)).toMatchObject({ name: 'page 1' });
    expect(sessions.redeem(code)).toBeUndefined();
  });

  test.each([
    [10 * MINUTE - 1, true],
    [10 * MINUTE, false],
  ])('after %i ms opens one: %s', (ms, works) => {
    const { clock, sessions } = setUp();
    const code = sessions.createCode();
    clock.ms = ms;
    expect(sessions.redeem(code) !== undefined).toBe(works);
  });

  test.each(['', 'x', 'undefined', '__proto__', 'a'.repeat(10_000)])(
    'that was made up opens none: %.20s',
    (code) => {
      const { sessions } = setUp();
      sessions.createCode();
      expect(sessions.redeem(code)).toBeUndefined();
    },
  );

  test('that nobody used is forgotten when there are many newer ones', () => {
    const { sessions } = setUp();
    const first = sessions.createCode();
    const others = Array.from({ length: 16 }, () => sessions.createCode());
    expect(sessions.redeem(first)).toBeUndefined();
    expect(sessions.redeem(others[0] ?? '')).toBeDefined();
  });
});

describe('a session', () => {
  test('needs both of its secrets', () => {
    const { sessions, open } = setUp();
    const [one, other] = [open(), open()];
    expect(sessions.find(one.cookie, one.key)).toBe(one);
    for (const [cookie, key] of [
      [one.cookie, other.key],
      [other.cookie, one.key],
      [one.cookie, undefined],
      [undefined, one.key],
      [one.key, one.cookie],
      ['', ''],
    ])
      expect(sessions.find(cookie, key)).toBeUndefined();
  });

  test('ends without a request for an hour, and after a day', () => {
    const { clock, sessions, open } = setUp();
    const session = open();
    for (let hour = 0; hour < 47; hour++) {
      clock.ms += 30 * MINUTE;
      expect(sessions.find(session.cookie, session.key)).toBe(session);
    }
    clock.ms += 31 * MINUTE;
    expect(sessions.find(session.cookie, session.key)).toBeUndefined();
    const another = open();
    clock.ms += 60 * MINUTE;
    expect(sessions.find(another.cookie, another.key)).toBeUndefined();
    expect(sessions.isAlive(another)).toBe(false);
  });

  test('with new secrets keeps the old ones for a minute', () => {
    const { clock, sessions, open } = setUp();
    const old = open();
    const next = sessions.rotate(old);
    expect(next.name).toBe(old.name);
    expect(sessions.find(old.cookie, next.key)).toBeUndefined();
    clock.ms += MINUTE - 1;
    expect(sessions.find(old.cookie, old.key)).toBe(old);
    clock.ms += 1;
    expect(sessions.find(old.cookie, old.key)).toBeUndefined();
    expect(sessions.find(next.cookie, next.key)).toBe(next);
  });

  test('does not live longer for being rotated', () => {
    const { clock, sessions, open } = setUp();
    let session = open();
    for (let quarter = 0; quarter < 96; quarter++) {
      clock.ms += 15 * MINUTE - 1;
      session = sessions.rotate(session);
    }
    clock.ms += 96;
    expect(sessions.find(session.cookie, session.key)).toBeUndefined();
  });
});
