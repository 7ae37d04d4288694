/** One timer for everything in this process that is looked at from time to time, each at a pace of its own. */

export type Rounds = ReturnType<typeof createRounds>;

interface Watched {
  readonly look: () => Promise<number>;
  dueAt: number;
  /** It may be looked at this much earlier, if others are looked at then. */
  slackMs: number;
  isLooking: boolean;
}

/** Of the time until the next look: idle trees of one server are soon looked at together. */
const SLACK = 0.2;

export function createRounds() {
  const all = new Set<Watched>();
  let timer: NodeJS.Timeout | undefined;
  let timerAt = Number.POSITIVE_INFINITY;

  function schedule(): void {
    let next = Number.POSITIVE_INFINITY;
    for (const { dueAt, isLooking } of all) if (!isLooking && dueAt < next) next = dueAt;
    if (next === timerAt) return;
    clearTimeout(timer);
    timerAt = next;
    if (next === Number.POSITIVE_INFINITY) return;
    timer = setTimeout(serve, Math.max(1, next - performance.now())).unref();
  }

  function serve(): void {
    timerAt = Number.POSITIVE_INFINITY;
    const now = performance.now();
    for (const one of all) if (!one.isLooking && one.dueAt - one.slackMs <= now) void serveOne(one);
    schedule();
  }

  async function serveOne(one: Watched): Promise<void> {
    one.isLooking = true;
    const nextMs = await one.look();
    one.isLooking = false;
    one.dueAt = performance.now() + nextMs;
    one.slackMs = nextMs * SLACK;
    if (all.has(one)) schedule();
  }

  return {
    /** Looks after so many milliseconds, and then whenever the look says; the function that is returned stops it. */
    add(look: () => Promise<number>, firstMs: number): () => void {
      const slackMs = firstMs * SLACK;
      const one: Watched = { look, dueAt: performance.now() + firstMs, slackMs, isLooking: false };
      all.add(one);
      schedule();
      return () => {
        all.delete(one);
        if (one.dueAt === timerAt) schedule();
      };
    },
  };
}
