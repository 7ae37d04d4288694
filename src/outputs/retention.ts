/**
 * Which bundles have to go: those that are too old, then the oldest until count and size are within bounds. What is
 * still running is never among them, though it counts. Pure, so that it can be tried on any history.
 */
export interface Retention {
  readonly maxAgeHours: number;
  readonly maxTotalBytes: number;
  readonly maxCount: number;
}

export interface Candidate {
  readonly id: string;
  /** When it was made, or last known to run. */
  readonly lastActiveMs: number;
  readonly bytes: number;
  readonly isRunning: boolean;
}

const HOUR_MS = 3_600_000;

/** Their ids, oldest first. */
export function decideExpired(
  candidates: readonly Candidate[],
  retention: Retention,
  nowMs: number,
): string[] {
  let count = candidates.length;
  let bytes = candidates.reduce((sum, candidate) => sum + candidate.bytes, 0);
  const expired: string[] = [];
  const oldestFirst = candidates.toSorted((a, b) => a.lastActiveMs - b.lastActiveMs);
  for (const candidate of oldestFirst) {
    if (candidate.isRunning) continue;
    const isOld = nowMs - candidate.lastActiveMs > retention.maxAgeHours * HOUR_MS;
    if (!isOld && count <= retention.maxCount && bytes <= retention.maxTotalBytes) break;
    expired.push(candidate.id);
    count--;
    bytes -= candidate.bytes;
  }
  return expired;
}
