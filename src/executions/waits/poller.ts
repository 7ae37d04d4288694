/**
 * The one timer of all conditions that have to be looked for. A wait is looked at less often the longer it lasts, and
 * all looks together take a bounded share of the time, however many waits there are.
 */

interface Item {
  readonly look: () => void;
  readonly addedAt: number;
  dueAt: number;
}

const MIN_MS = 20;
const MAX_MS = 1000;
/** Between looks, as a share of the time it has waited already. */
const PATIENCE = 0.1;
/** Chunks of output come in bursts. */
const HURRY_MS = 10;
/** Looking may take this share of the time at most: a single wait is answered soon, and a thousand cost little. */
const shareOf = (waits: number): number => (waits <= 10 ? 0.1 : waits <= 100 ? 0.03 : 0.01);

export function createPoller() {
  const items = new Set<Item>();
  let timer: NodeJS.Timeout | undefined;
  let timerAt = Number.POSITIVE_INFINITY;
  let notBefore = 0;

  function schedule(dueAt: number): void {
    const at = Math.max(dueAt, notBefore);
    if (at >= timerAt) return;
    clearTimeout(timer);
    timerAt = at;
    timer = setTimeout(serve, Math.max(1, at - performance.now())).unref();
  }

  function serve(): void {
    const began = performance.now();
    timerAt = Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    for (const item of items) {
      if (item.dueAt <= began + 1) {
        item.dueAt = began + Math.min(MAX_MS, Math.max(MIN_MS, (began - item.addedAt) * PATIENCE));
        item.look();
      }
      if (items.has(item)) next = Math.min(next, item.dueAt);
    }
    const ended = performance.now();
    notBefore = ended + (ended - began) / shareOf(items.size);
    if (next !== Number.POSITIVE_INFINITY) schedule(next);
  }

  return {
    /** Looked at again and again until stopped. */
    add(look: () => void) {
      const addedAt = performance.now();
      const item: Item = { look, addedAt, dueAt: addedAt + MIN_MS };
      items.add(item);
      schedule(item.dueAt);
      return {
        /** Something has happened: it is looked at soon. */
        hurry(): void {
          if (!items.has(item)) return;
          item.dueAt = Math.min(item.dueAt, performance.now() + HURRY_MS);
          schedule(item.dueAt);
        },
        stop(): void {
          items.delete(item);
          if (items.size > 0) return;
          clearTimeout(timer);
          timerAt = Number.POSITIVE_INFINITY;
        },
      };
    },
  };
}
