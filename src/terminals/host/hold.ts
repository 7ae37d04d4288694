/** While a person has taken over a terminal, what others type waits for them to give it back. */

export interface Hold {
  isHeld(): boolean;
  /** Until the function that is returned is called. */
  take(): () => void;
  /** False where it was still held when the time was over. */
  untilFree(timeoutMs: number, signal: AbortSignal): Promise<boolean>;
}

export function createHold(): Hold {
  const holders = new Set<symbol>();
  const waiting = new Set<() => void>();
  const isHeld = (): boolean => holders.size > 0;
  return {
    isHeld,
    take() {
      const holder = Symbol('holder');
      holders.add(holder);
      return () => {
        holders.delete(holder);
        if (!isHeld()) for (const go of waiting) go();
      };
    },
    async untilFree(timeoutMs, signal) {
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
