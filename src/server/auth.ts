/**
 * Bearer tokens. Only their hashes are kept, and every hash is compared to its last byte whichever one matches, so
 * that the time of an answer says nothing about any of them.
 */
import { timingSafeEqual } from 'node:crypto';
import { type Clock, systemClock } from '../base/clock.ts';
import type { PresetName } from '../base/config/presets.ts';
import { hashOf, isExpired, type StoredToken } from '../security/tokens/tokens.ts';
import { EVERYTHING, type Grant } from './grants.ts';

export type { Grant } from './grants.ts';

/** Who is calling, and what their token lets them do. */
export interface Caller {
  readonly principal: string;
  readonly grant: Grant;
}

export interface Tokens {
  /** Whose token it is, or why it opens nothing. */
  verify(token: string): Caller | 'unknown' | 'expired';
}

export interface TokensOptions {
  /** Those on disk, as they are now. */
  readonly stored?: () => readonly StoredToken[];
  /** The names that a token for these toolsets and tools grants. */
  readonly grantedNames?: (tools: readonly string[]) => ReadonlySet<string>;
  /** Called with each valid token that is presented, before anything is done for it; refuses by throwing. */
  readonly onAccepted?: (principal: string, preset: PresetName | undefined) => void;
  readonly clock?: Clock;
}

/** `entries` are the operator's own, without any scope. */
export function createTokens(
  entries: readonly { readonly principal: string; readonly token: string }[],
  options: TokensOptions = {},
): Tokens {
  const { stored = () => [], onAccepted = () => undefined, clock = systemClock } = options;
  const { grantedNames = (tools) => new Set(tools) } = options;
  const own = entries.map(({ principal, token }) => ({ principal, hash: hashOf(token) }));
  // Those on disk are the same objects until the file changes.
  const known = new WeakMap<StoredToken, { readonly hash: Buffer; readonly caller: Caller }>();
  const callerOf = (token: StoredToken): Caller => ({
    principal: token.principal,
    grant: grantOf(token, grantedNames),
  });
  const prepared = (token: StoredToken) => {
    const found = known.get(token) ?? { hash: Buffer.from(token.sha256, 'hex'), caller: callerOf(token) };
    known.set(token, found);
    return found;
  };
  return {
    verify(token) {
      const presented = hashOf(token);
      let found: StoredToken | undefined;
      let principal: string | undefined;
      for (const entry of own) if (isSame(entry.hash, presented)) principal = entry.principal;
      for (const entry of stored()) if (isSame(prepared(entry).hash, presented)) found = entry;
      if (token === '') return 'unknown';
      if (principal !== undefined) {
        onAccepted(principal, undefined);
        return { principal, grant: EVERYTHING };
      }
      if (found === undefined) return 'unknown';
      if (isExpired(found, clock.now())) return 'expired';
      onAccepted(found.principal, found.preset);
      return prepared(found).caller;
    },
  };
}

/** What a token on disk lets its bearer do. */
export const grantOf = (
  { name, tools, isReadOnly = false }: StoredToken,
  grantedNames: (tools: readonly string[]) => ReadonlySet<string>,
): Grant => ({ names: tools && grantedNames(tools), isReadOnly, token: name });

/** The length differs only for an entry that is not a SHA-256 at all, which no token matches. */
function isSame(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}
