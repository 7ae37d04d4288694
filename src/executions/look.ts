/** One look at all processes, which may serve many trees: what costs most, their environments, is then read once. */
import { MARKER_NAME } from '../base/marker.ts';
import {
  hasEnvironmentEntry,
  listProcesses,
  type ProcessEntry,
  readEnvironmentEntries,
} from './process-table.ts';

export interface Look {
  readonly entries: readonly ProcessEntry[];
  /** Whether it carries "NAME=value" in its environment. */
  hasMarker(entry: ProcessEntry, marker: string): boolean;
}

export function lookOnce(): Look {
  return {
    entries: listProcesses(),
    hasMarker: ({ pid }, marker) => hasEnvironmentEntry(pid, marker),
  };
}

/** Between fork and exec a process still has the environment of its parent, so that a first "no" may be early. */
const SURE_AFTER_LOOKS = 2;

interface Known {
  readonly markers: readonly string[];
  looks: number;
}

/** For who looks again and again. A process keeps its marks for life, and none of ours comes to others later. */
export function createLooks(): () => Look {
  let known = new Map<string, Known>();
  return () => {
    const entries = listProcesses();
    const before = known;
    known = new Map();
    for (const entry of entries) {
      const key = `${entry.pid} ${entry.startTime}`;
      const old = before.get(key);
      if (old !== undefined) known.set(key, old);
    }
    const seen = known;
    return {
      entries,
      hasMarker(entry, marker) {
        const key = `${entry.pid} ${entry.startTime}`;
        const old = seen.get(key);
        if (old !== undefined && (old.markers.length > 0 || old.looks >= SURE_AFTER_LOOKS))
          return old.markers.includes(marker);
        const markers = readEnvironmentEntries(entry.pid, `${MARKER_NAME}=`);
        seen.set(key, { markers, looks: (old?.looks ?? 0) + 1 });
        return markers.includes(marker);
      },
    };
  };
}
