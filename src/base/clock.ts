/** Time, so that tests can hold it still. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** ISO 8601 in UTC with milliseconds, as every time on the wire is written. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
