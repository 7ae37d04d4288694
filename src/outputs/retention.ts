/**
 * Which bundles have to go: those that are too old, then the oldest of the principal that has the most, until count and size are
 * within bounds, so that no principal loses outputs because another makes many. What is still running is never among
 * them, though it counts. Pure, so that it can be tried on any history.
 */
export interface Retention {
  readonly maxAgeHours: number;
  readonly maxTotalBytes: number;
  readonly maxCount: number;
}

export interface Candidate {
  readonly id: string;
  readonly owner: string;
  /** When it was made, or last known to run. */
  readonly lastActiveMs: number;
  readonly bytes: number;
  readonly isRunning: boolean;
}

const HOUR_MS = 3_600_000;

/** Their ids, in the order in which they were chosen. */
export function decideExpired(
  candidates: readonly Candidate[],
  retention: Retention,
  nowMs: number,
): string[] {
  const shares = shareOut(candidates);
  const expired: string[] = [];
  let count = candidates.length;
  let bytes = candidates.reduce((sum, candidate) => sum + candidate.bytes, 0);
  const expire = (share: Share): void => {
    const oldest = share.ended.shift();
    if (oldest === undefined) return;
    expired.push(oldest.id);
    share.count--;
    share.bytes -= oldest.bytes;
    count--;
    bytes -= oldest.bytes;
  };
  const isOld = (candidate: Candidate | undefined): boolean =>
    candidate !== undefined && nowMs - candidate.lastActiveMs > retention.maxAgeHours * HOUR_MS;
  for (const share of shares) while (isOld(share.ended[0])) expire(share);
  while (count > retention.maxCount || bytes > retention.maxTotalBytes) {
    const sizeOf = (share: Share): number =>
      share.bytes / retention.maxTotalBytes + share.count / Math.max(1, retention.maxCount);
    const [largest, ...others] = shares.filter(({ ended }) => ended.length > 0);
    if (largest === undefined) break;
    expire(others.reduce((one, other) => (sizeOf(other) > sizeOf(one) ? other : one), largest));
  }
  return expired;
}

/** What one owner has. */
interface Share {
  count: number;
  bytes: number;
  /** Oldest first. */
  readonly ended: Candidate[];
}

function shareOut(candidates: readonly Candidate[]): Share[] {
  const shares = new Map<string, Share>();
  for (const candidate of candidates.toSorted((a, b) => a.lastActiveMs - b.lastActiveMs)) {
    const share = shares.get(candidate.owner) ?? { count: 0, bytes: 0, ended: [] };
    shares.set(candidate.owner, share);
    share.count++;
    share.bytes += candidate.bytes;
    if (!candidate.isRunning) share.ended.push(candidate);
  }
  return [...shares.values()];
}
