/**
 * Bearer tokens. Only their hashes are kept, and every hash is compared to its last byte whichever one matches, so
 * that the time of an answer says nothing about any of them.
 */
import { createHash, timingSafeEqual } from 'node:crypto';

export interface Tokens {
  /** The principal whose token it is. */
  verify(token: string): string | undefined;
}

export type TokenEntry =
  | { readonly principal: string; readonly token: string }
  /** As it is kept on disk: the SHA-256 of the token in hexadecimal. */
  | { readonly principal: string; readonly sha256: string };

export function createTokens(entries: readonly TokenEntry[]): Tokens {
  const known = entries.map((entry) => ({
    principal: entry.principal,
    hash: 'token' in entry ? hash(entry.token) : Buffer.from(entry.sha256, 'hex'),
  }));
  return {
    verify(token) {
      const presented = hash(token);
      let principal: string | undefined;
      for (const entry of known) {
        // The length differs only for an entry that is not a SHA-256 at all, which no token matches.
        if (entry.hash.length === presented.length && timingSafeEqual(entry.hash, presented)) {
          principal = entry.principal;
        }
      }
      return token === '' ? undefined : principal;
    },
  };
}

function hash(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
