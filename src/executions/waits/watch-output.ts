/** Whether a line of the output matches, and whether nothing was printed for a while. */
import { LIMITS } from '../../base/limits.ts';
import type { Pattern } from '../../base/pattern.ts';
import type { Bundle, ByteSource, StreamType } from '../../outputs/types.ts';
import { asShown, type SearchThread, searchLines } from '../../outputs/views.ts';
import type { Live } from '../live.ts';
import type { Sighting, Watcher } from './conditions.ts';

/** Where to begin in each stream; a stream that is not named from its beginning. */
export type Positions = ReadonlyMap<StreamType, number>;

interface WatchedOutput {
  readonly bundle: Bundle;
  readonly streams: readonly StreamType[];
  readonly from: Positions;
  readonly thread: SearchThread | undefined;
  /** Told where the matching line ends, so that the next wait begins after it. */
  onMatched(type: StreamType, end: number): void;
}

/** More at once is searched in another thread. */
const INLINE_BYTES = 64 * 1024;

export function watchOutput(pattern: Pattern, source: string, output: WatchedOutput): Watcher {
  const positions = new Map<StreamType, number>(output.from);
  let searching: Promise<Sighting | undefined> | undefined;

  function conclude(type: StreamType, stream: ByteSource, found: Found): Sighting | undefined {
    if (found.line === undefined) {
      positions.set(type, lineStartBefore(stream, found.end, positions.get(type) ?? 0));
      return undefined;
    }
    output.onMatched(type, found.end);
    return { kind: 'met', line: found.line };
  }

  /** At once where little is new, which is nearly always. */
  function lookAt(type: StreamType): Sighting | undefined | Promise<Sighting | undefined> {
    const stream = output.bundle.source(type);
    if (stream === undefined) return undefined;
    const from = positions.get(type) ?? 0;
    const to = stream.size();
    if (to - from > INLINE_BYTES) {
      searching = matchFar(stream, source, from, output.thread)
        .then((found) => conclude(type, stream, found))
        .finally(() => {
          searching = undefined;
          stream.close();
        });
      return searching;
    }
    try {
      return to <= from ? undefined : conclude(type, stream, matchInline(stream, pattern, from, to));
    } finally {
      stream.close();
    }
  }

  async function lookToEnd(): Promise<Sighting | undefined> {
    const early = await searching;
    if (early !== undefined) return early;
    for (const type of output.streams) {
      for (let before = -1; before !== (positions.get(type) ?? 0); ) {
        before = positions.get(type) ?? 0;
        const seen = await lookAt(type);
        if (seen !== undefined) return seen;
      }
    }
    return undefined;
  }

  return {
    look(hasEnded) {
      if (hasEnded) return lookToEnd();
      if (searching !== undefined) return searching;
      for (const type of output.streams) {
        const seen = lookAt(type);
        if (seen !== undefined) return seen;
      }
      return undefined;
    },
  };
}

interface Found {
  readonly line: string | undefined;
  /** Behind the line, or as far as it was searched. */
  readonly end: number;
}

function matchInline(stream: ByteSource, pattern: Pattern, from: number, to: number): Found {
  const bytes = stream.read(from, to - from);
  for (let at = 0; at < bytes.length; ) {
    const newline = bytes.indexOf(10, at);
    const end = newline === -1 ? bytes.length : newline;
    const raw = bytes.toString('utf8', at, end);
    const text = asShown(raw).trimEnd();
    if (text.length <= pattern.textLength && pattern.test(text))
      return { line: cutLine(text), end: from + Math.min(end + 1, bytes.length) };
    at = end + 1;
  }
  return { line: undefined, end: to };
}

async function matchFar(
  stream: ByteSource,
  pattern: string,
  from: number,
  thread: SearchThread | undefined,
): Promise<Found> {
  const { content, matchCount, nextOffset, totalBytes } = await searchLines(
    stream,
    {
      pattern,
      contextLines: 0,
      maxMatches: 1,
      fromOffset: from,
      deadlineMs: LIMITS.searchMs,
      encoding: 'utf-8',
    },
    thread,
  );
  const end = nextOffset ?? totalBytes;
  return { line: matchCount === 0 ? undefined : cutLine(content.replace(/^\d+: /, '')), end };
}

/** A line that is not complete may match once it is. */
function lineStartBefore(stream: ByteSource, offset: number, from: number): number {
  const reach = Math.min(LIMITS.lineBytes, offset - from);
  const newline = stream.read(offset - reach, reach).lastIndexOf(10);
  return newline === -1 ? offset - reach : offset - reach + newline + 1;
}

const LINE_CHARS = 500;
const cutLine = (text: string): string => (text.length > LINE_CHARS ? `${text.slice(0, LINE_CHARS)}…` : text);

export function watchQuiet(ms: number, live: Live | undefined): Watcher {
  let bytes = live?.outputBytes() ?? 0;
  let sinceMs = performance.now();
  const touch = (): void => {
    sinceMs = performance.now();
  };
  return {
    touch,
    look(hasEnded) {
      const now = live?.outputBytes() ?? 0;
      if (now !== bytes) touch();
      bytes = now;
      return !hasEnded && performance.now() - sinceMs >= ms ? { kind: 'met' } : undefined;
    },
  };
}
