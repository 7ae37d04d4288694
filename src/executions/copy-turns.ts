/**
 * Whose output is copied next. Commands that print without end would have the event loop copy from all of them before it
 * does anything else, and every step of another caller's call would wait for that. So each copies a little, and then
 * waits until it is its turn again: in one turn of the loop only a few go on, however many wait. What prints little
 * never waits.
 */
export type Turns = ReturnType<typeof createTurns>;

/** Four reads of a full pipe: enough that one alone hardly notices, some 0.2 ms of work. */
export const TURN_BYTES = 256 * 1024;
/** Of those who wait, in one turn of the event loop. */
export const TURNS_AT_ONCE = 2;

export function createTurns() {
  const waiting = new Set<() => void>();
  let isPlanned = false;

  function plan(): void {
    if (isPlanned || waiting.size === 0) return;
    isPlanned = true;
    setImmediate(() => {
      isPlanned = false;
      // The order of a set is that of waiting.
      const next = [...waiting].slice(0, TURNS_AT_ONCE);
      for (const resume of next) waiting.delete(resume);
      for (const resume of next) resume();
      plan();
    });
  }

  return {
    /** `resume` is called when it is the turn of this copy again. */
    join(resume: () => void) {
      let copied = 0;
      const goOn = (): void => {
        copied = 0;
        resume();
      };
      return {
        /** Counts what was copied; false where it has to wait now. */
        take(bytes: number): boolean {
          copied += bytes;
          if (copied < TURN_BYTES) return true;
          waiting.add(goOn);
          plan();
          return false;
        },
        leave: (): void => void waiting.delete(goOn),
      };
    },
  };
}
