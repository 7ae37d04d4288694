/** How much of something each principal holds, and all together: nobody can use up what others have. */
export function createQuota(
  { each, all = Number.POSITIVE_INFINITY }: { readonly each: number; readonly all?: number },
  /** The principals that hold one already, each as often as it does. */
  holders: Iterable<string> = [],
) {
  const held = new Map<string, number>();
  let total = 0;
  const count = (principal: string): number => held.get(principal) ?? 0;

  function take(principal: string, amount = 1): void {
    const now = count(principal) + amount;
    if (now > 0) held.set(principal, now);
    else held.delete(principal);
    total += amount;
  }

  for (const holder of holders) take(holder);
  return {
    take,
    giveBack: (principal: string, amount = 1) => take(principal, -amount),
    count,
    /** The limit that leaves no room for so much more, where one does. */
    full(principal: string, amount = 1) {
      if (count(principal) + amount > each) return { limit: each, isOwn: true };
      return total + amount > all ? { limit: all, isOwn: false } : undefined;
    },
    /** Principals that hold something, the one with the most first. */
    holders: () => [...held].sort(([, one], [, other]) => other - one).map(([principal]) => principal),
  };
}
