/** Time, so that tests can hold it still. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/**
 * Milliseconds that no step of the clock changes (NTP, a person, a suspended machine): for how long something took. The
 * same in every process of a boot, and nothing across one.
 */
export function ticks(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return Math.round(seconds * 1000 + nanoseconds / 1e6);
}

/** ISO 8601 in UTC with milliseconds, as every time on the wire is written. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
