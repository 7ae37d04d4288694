/** One look at all processes, which may serve many trees: what costs most, their environments, is then read once. */
import { MARKER_NAME, SERVER_MARKER_NAME } from '../base/marker.ts';
import { listProcesses, type ProcessEntry, readEnvironmentEntries } from './process-table.ts';

export type Look = ReturnType<ReturnType<typeof createLooks>>;

const PREFIXES = [`${MARKER_NAME}=`, `${SERVER_MARKER_NAME}=`];

/** Between fork and exec a process still has the environment of its parent, so that an early "no" may be wrong. */
const SURE_AFTER_MS = 1000;

interface Known {
  readonly markers: readonly string[];
  readonly firstSeenAt: number;
  readonly isSure: boolean;
}

/** For who looks again and again. A process keeps its marks for life, and none of ours comes to others later. */
export function createLooks() {
  let known = new Map<string, Known>();

  function readMarkers(key: string, pid: number): readonly string[] {
    const old = known.get(key);
    if (old?.isSure === true) return old.markers;
    const now = performance.now();
    const read = readEnvironmentEntries(pid, PREFIXES);
    const firstSeenAt = old?.firstSeenAt ?? now;
    const markers = read ?? [];
    known.set(key, {
      markers,
      firstSeenAt,
      isSure: markers.length > 0 || (read !== undefined && now - firstSeenAt > SURE_AFTER_MS),
    });
    return markers;
  }

  return () => {
    const entries = listProcesses();
    const before = known;
    known = new Map();
    for (const entry of entries) {
      const key = keyOf(entry);
      const old = before.get(key);
      if (old !== undefined) known.set(key, old);
    }
    return {
      entries,
      /** Whether it carries "NAME=value" in its environment. */
      hasMarker: (entry: ProcessEntry, marker: string): boolean =>
        readMarkers(keyOf(entry), entry.pid).includes(marker),
    };
  };
}

const keyOf = ({ pid, startTime }: ProcessEntry): string => `${pid} ${startTime}`;

/** A look that begins after it was asked for, and serves all who asked until then: fifty trees that end cost one. */
export const lookTogether = shareNext(createLooks());

/** There is one process table for this process, so that what is read of it can be shared. */
export function shareNext<Value>(read: () => Value): () => Promise<Value> {
  let next: Promise<Value> | undefined;
  return () =>
    (next ??= new Promise<void>((resolve) => void setImmediate(resolve)).then(() => {
      next = undefined;
      return read();
    }));
}
