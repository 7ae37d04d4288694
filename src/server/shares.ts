/**
 * What the tokens of one principal hold together, and of that half at most what those hold that only read: they change
 * nothing for anybody, so that they cannot keep the agent that works from getting in either.
 */
import { createQuota } from '../base/quota.ts';
import type { Caller } from './auth.ts';

export type Shares = ReturnType<typeof createShares>;

/** A name for one of the two parts of a principal. No name of a principal has a NUL. */
export const partOf = ({ principal, grant }: Caller): string =>
  grant.isReadOnly ? `${principal}\0reading` : principal;

export const halfOf = (most: number): number => Math.max(1, Math.floor(most / 2));

export function createShares(each: number) {
  const all = createQuota({ each });
  const reading = createQuota({ each: halfOf(each) });
  function take({ principal, grant }: Caller, amount = 1): void {
    all.take(principal, amount);
    if (grant.isReadOnly) reading.take(principal, amount);
  }
  return {
    take,
    giveBack: (caller: Caller, amount = 1) => take(caller, -amount),
    /** Of the part that the caller is bounded by. */
    count: ({ principal, grant }: Caller): number => (grant.isReadOnly ? reading : all).count(principal),
    /** The limit that leaves no room for so much more, where one does. */
    full({ principal, grant }: Caller, amount = 1): { readonly limit: number } | undefined {
      const own = grant.isReadOnly ? reading.full(principal, amount) : undefined;
      return own ?? all.full(principal, amount);
    },
  };
}
