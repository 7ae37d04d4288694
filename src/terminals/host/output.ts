/** What the program in a terminal writes: without secrets, it is recorded, drawn and passed on to viewers. */
import { ticks } from '../../base/clock.ts';
import { createMasker } from '../../security/security.ts';
import type { TerminalSpec } from '../protocol.ts';
import { createRecorder } from '../recording.ts';
import type { Marks } from './marks.ts';
import type { Screen } from './screen.ts';

/** What may be the beginning of a secret is held back no longer than this. */
const MASK_FLUSH_MS = 20;

export interface Activity {
  receivedBytes: number;
  /** How often a person has typed. */
  byPerson: number;
  /** Monotonic; of the last output. */
  lastDataAt: number;
  /** By the clock; of output or input. */
  lastMs: number;
}

export type Output = ReturnType<typeof createOutput>;

export function createOutput(spec: TerminalSpec, screen: Screen) {
  const { masked } = spec.permit;
  const recorder = createRecorder(spec.directory, { ...spec, ...spec.dimensions, now: ticks });
  const masker = masked.length === 0 ? undefined : createMasker(masked);
  const viewers = new Set<(chunk: Uint8Array) => void>();
  const activity: Activity = {
    receivedBytes: 0,
    byPerson: 0,
    lastDataAt: performance.now(),
    lastMs: Date.now(),
  };
  let flushing: NodeJS.Timeout | undefined;

  function pass(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    recorder.write(chunk);
    screen.write(chunk);
    for (const viewer of viewers) viewer(chunk);
  }

  return {
    viewers,
    activity,
    receive(chunk: Uint8Array): void {
      activity.receivedBytes += chunk.length;
      activity.lastDataAt = performance.now();
      activity.lastMs = Date.now();
      if (masker === undefined) return pass(chunk);
      pass(masker.push(chunk));
      clearTimeout(flushing);
      flushing = setTimeout(() => pass(masker.rest()), MASK_FLUSH_MS);
    },
    /** Everything that was received is on the screen. */
    flush(): void {
      clearTimeout(flushing);
      if (masker !== undefined) pass(masker.rest());
      screen.catchUp();
    },
    resize(columns: number, rows: number): void {
      screen.resize(columns, rows);
      recorder.resize(columns, rows);
    },
    close: recorder.close,
  };
}

/** Says when output was parsed, and whether it changed what the shell says of itself. */
export function createChanges(marks: Marks) {
  const listeners = new Set<(isMark: boolean) => void>();
  let { state, finished } = marks;
  return {
    tell(hasEnded: boolean): void {
      const isMark = state !== marks.state || finished !== marks.finished || hasEnded;
      ({ state, finished } = marks);
      for (const listener of listeners) listener(isMark);
    },
    onChange(listener: (isMark: boolean) => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
