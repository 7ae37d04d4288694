/**
 * `combined`, put together from stdout and stderr by the order of arrival. Only the order is held in memory, never
 * the bytes.
 *
 * A stream that passed its limit has a gap, into which the other stream may have written many times. The whole gap
 * is laid where it begins, so that there are at most two: the order among bytes that are kept is not touched.
 */
import { type ArrivalEntries, type ArrivalReader, openArrival } from './arrival.ts';
import type { LineIndex } from './line-index.ts';
import type { ByteSource, Gap } from './types.ts';

interface Options {
  /** Called before each look: a writer in this process can then write what it still holds. */
  readonly beforeLook?: () => void;
  /** Only once nothing more comes: until then the order of what came last may change. */
  readonly lineIndex?: LineIndex | undefined;
}

/** Takes over the two sources and closes them. Undefined where one is not there, or the order was deleted. */
export function openCombined(
  stdout: ByteSource | undefined,
  stderr: ByteSource | undefined,
  arrivalPath: string,
  options: Options = {},
): ByteSource | undefined {
  const arrival = openArrival(arrivalPath);
  if (stdout !== undefined && stderr !== undefined && arrival !== undefined)
    return combine([stdout, stderr], arrival, options);
  for (const opened of [stdout, stderr, arrival]) opened?.close();
  return undefined;
}

/** Runs of bytes of one stream, by their place in the whole. */
interface Layout {
  readonly starts: readonly number[];
  readonly streams: readonly number[];
  /** Where the run begins in its stream. */
  readonly offsets: readonly number[];
  readonly size: number;
  readonly gaps: readonly Gap[];
}

/** Takes over the two sources and the order, and closes them. */
export function combine(
  sources: readonly [stdout: ByteSource, stderr: ByteSource],
  arrival: ArrivalReader,
  { beforeLook, lineIndex }: Options = {},
): ByteSource {
  let layout: Layout | undefined;
  let seen = '';
  /** For the bytes of each stream before they are put in order. */
  const scratch: Buffer[] = [];

  function look(): Layout {
    beforeLook?.();
    const entries = arrival.read();
    const sizes = sources.map((source) => source.size());
    const gaps = sources.map((source) => source.gaps()[0]);
    const version = JSON.stringify([sizes, gaps, entries.counts.length, entries.counts.at(-1)]);
    if (layout === undefined || version !== seen) layout = layOut(entries, sizes, gaps);
    seen = version;
    return layout;
  }

  function read(offset: number, length: number, into?: Buffer): Buffer {
    const { size, gaps } = layout ?? look();
    const nextGap = gaps.find((gap) => gap.to > offset);
    const end = Math.min(offset + length, size, nextGap?.from ?? size);
    if (offset < 0 || end <= offset) return Buffer.alloc(0);
    const runs = runsWithin(layout ?? look(), offset, end);

    // The runs of each stream follow one another in it, so one read of each stream is enough for all of them.
    const blocks = sources.map((source, stream) => {
      const own = runs.filter((run) => run.stream === stream);
      const bytes = own.reduce((sum, run) => sum + run.length, 0);
      const first = own[0];
      if (first === undefined) return Buffer.alloc(0);
      if ((scratch[stream]?.length ?? 0) < bytes) scratch[stream] = Buffer.allocUnsafe(bytes);
      return source.read(first.offset, bytes, scratch[stream]);
    });

    const result =
      into !== undefined && into.length >= end - offset ? into : Buffer.allocUnsafe(end - offset);
    const used = [0, 0];
    let done = 0;
    for (const run of runs) {
      const from = used[run.stream] ?? 0;
      const copied = blocks[run.stream]?.copy(result, done, from, from + run.length) ?? 0;
      used[run.stream] = from + copied;
      done += copied;
      if (copied < run.length) break;
    }
    return result.subarray(0, done);
  }

  look();
  return {
    size: () => look().size,
    gaps: () => layout?.gaps ?? [],
    read,
    lineIndex,
    close: () => {
      for (const source of sources) source.close();
      arrival.close();
    },
  };
}

function layOut(entries: ArrivalEntries, sizes: number[], streamGaps: (Gap | undefined)[]): Layout {
  const starts: number[] = [];
  const streams: number[] = [];
  const offsets: number[] = [];
  const gaps: Gap[] = [];
  const done = [0, 0];
  let size = 0;

  function addRun(stream: number, from: number, to: number): void {
    if (to <= from) return;
    starts.push(size);
    streams.push(stream);
    offsets.push(from);
    size += to - from;
  }

  function add(stream: number, byteCount: number): void {
    const from = done[stream] ?? 0;
    const to = Math.min(from + byteCount, sizes[stream] ?? 0);
    const gap = streamGaps[stream];
    if (to <= from) return;
    done[stream] = to;
    if (gap === undefined || to <= gap.from || from >= gap.to) {
      addRun(stream, from, to);
      return;
    }
    addRun(stream, from, gap.from);
    if (from <= gap.from) {
      gaps.push({ from: size, to: size + gap.to - gap.from });
      size += gap.to - gap.from;
    }
    addRun(stream, gap.to, to);
  }

  for (const [index, stream] of entries.streams.entries()) add(stream, entries.counts[index] ?? 0);
  for (const stream of [0, 1]) add(stream, Number.POSITIVE_INFINITY);
  return { starts, streams, offsets, size, gaps };
}

interface Run {
  readonly stream: number;
  /** In its stream. */
  readonly offset: number;
  readonly length: number;
}

/** The runs that make up [from, to), the first and the last of them cut to it. */
function runsWithin(layout: Layout, from: number, to: number): Run[] {
  const { starts, streams, offsets } = layout;
  const runs: Run[] = [];
  for (let run = findRun(starts, from); run < starts.length; run++) {
    const start = starts[run] ?? 0;
    if (start >= to) break;
    const next = starts[run + 1] ?? to;
    const begin = Math.max(start, from);
    runs.push({
      stream: streams[run] ?? 0,
      offset: (offsets[run] ?? 0) + begin - start,
      length: Math.min(next, to) - begin,
    });
  }
  return runs;
}

/** The last run that begins at or before the offset. */
function findRun(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}
