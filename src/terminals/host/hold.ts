/** While a person has taken over a terminal, what others type waits for them to give it back. */

export type Hold = ReturnType<typeof createHold>;

export function createHold() {
  const holders = new Set<symbol>();
  const waiting = new Set<() => void>();
  const isHeld = (): boolean => holders.size > 0;
  return {
    isHeld,
    /** Until the function that is returned is called. */
    take(): () => void {
      const holder = Symbol('holder');
      holders.add(holder);
      return () => {
        holders.delete(holder);
        if (!isHeld()) for (const go of waiting) go();
      };
    },
    /** False where it was still held when the time was over. */
    async untilFree(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
      if (!isHeld()) return true;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(go, timeoutMs);
        signal.addEventListener('abort', go, { once: true });
        waiting.add(go);
        function go(): void {
          clearTimeout(timer);
          waiting.delete(go);
          signal.removeEventListener('abort', go);
          resolve();
        }
      });
      return !isHeld();
    },
  };
}
