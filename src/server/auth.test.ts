import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createTokens } from './auth.ts';
import { EVERYTHING } from './grants.ts';

describe('tokens', () => {
  const hashed = createHash('sha256').update('kept as a hash').digest('hex');
  const tokens = createTokens([
    { token: 'first', principal: 'alice' },
    { token: 'second', principal: 'bob' },
    { sha256: hashed, principal: 'carol' },
    { sha256: 'not a hash', principal: 'mallory' },
  ]);

  it.each([
    ['first', 'alice'],
    ['second', 'bob'],
    ['kept as a hash', 'carol'],
  ])('tells whose %j is', (token, principal) => {
    expect(tokens.verify(token)).toEqual({ principal, grant: EVERYTHING });
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
