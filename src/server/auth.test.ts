import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createTokens } from './auth.ts';
import { EVERYTHING } from './grants.ts';

describe('tokens', () => {
  const hashed = createHash('sha256').update('kept as a hash').digest('hex');
  const createdAt = '2026-11-16T00:00:00.000Z';
  const tokens = createTokens(
    [
      { token: 'first', principal: 'alice' },
      { token: 'second', principal: 'bob' },
    ],
    {
      stored: () => [
        { name: 'carol', principal: 'carol', sha256: hashed, createdAt },
        { name: 'mallory', principal: 'mallory', sha256: 'not a hash', createdAt },
      ],
    },
  );

  it.each([
    ['first', 'alice', EVERYTHING],
    ['second', 'bob', EVERYTHING],
    ['kept as a hash', 'carol', { ...EVERYTHING, token: 'carol' }],
  ])('tells whose %j is', (token, principal, grant) => {
    expect(tokens.verify(token)).toEqual({ principal, grant });
  });

  it.each(['third', '', 'First', hashed, 'not a hash', 'x'.repeat(1_000_000)])(
    'knows nobody by %j',
    (token) => {
      expect(tokens.verify(token)).toBe('unknown');
    },
  );

  it('takes nothing where there are none, or an empty one', () => {
    expect(createTokens([]).verify('x')).toBe('unknown');
    expect(createTokens([{ token: '', principal: 'eve' }]).verify('')).toBe('unknown');
  });
});
