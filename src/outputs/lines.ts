/**
 * Lines by the offset they begin at. A line is shown cut where it is longer than `LIMITS.lineBytes`, and is never held
 * whole for that.
 */
import { ShellServerError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { alignEnd, alignStart } from './cut.ts';
import { type Encoding, getEncoding } from './encoding.ts';
import { plural } from './phrases.ts';
import { chunksOf, gapAt, indexOfNewline, lastIndexOfNewline } from './scan.ts';
import type { ByteSource } from './types.ts';

export interface Line {
  readonly start: number;
  /** Without its newline. */
  readonly end: number;
  /** Where the next line begins. */
  readonly next: number;
}

export type LineReader = ReturnType<typeof createLineReader>;

const BLOCK_BYTES = 64 * 1024;

export function createLineReader(source: ByteSource, size: number, encoding: Encoding) {
  const { newline } = encoding;
  let block: Buffer = Buffer.alloc(0);
  let blockStart = 0;

  /** The line that begins at `start`; undefined at the end of the output. */
  function lineAt(start: number): Line | undefined {
    if (start >= size) return undefined;
    if (start < blockStart || start >= blockStart + block.length) load(start);
    let at = indexOfNewline(block, newline, start - blockStart);
    if (at === -1 && start > blockStart) {
      load(start);
      at = indexOfNewline(block, newline, 0);
    }
    return at === -1
      ? longLine(source, start, size, newline)
      : endedLine(source, start, blockStart + at, newline);
  }

  function load(start: number): void {
    block = source.read(start, Math.min(BLOCK_BYTES, size - start));
    blockStart = start;
  }

  /** The beginnings of the last few lines before the one at `start`, oldest first; none begins before `floor`. */
  function startsBefore(start: number, floor: number, count: number): number[] {
    const starts: number[] = [];
    for (let at = start; starts.length < count; ) {
      const gap = source.gaps().find((one) => one.to === at);
      at = gap?.from ?? at;
      if (at <= floor) break;
      if (gap !== undefined && gapAt(source, at - 1) !== undefined) continue;
      at = startOfLineTo(source, at, floor, newline);
      starts.unshift(at);
    }
    return starts;
  }

  /** Its text; where it is too long, the part around `focus`, and how much is missing. */
  function show(line: Line, focus = line.start): string {
    const length = line.end - line.start;
    if (length <= LIMITS.lineBytes) return decodeLine(line.start, line.end);
    const wanted = encoding.cut === 'stateful' ? line.start : focus - LIMITS.lineBytes / 4;
    const clamped = Math.max(line.start, Math.min(wanted, line.end - LIMITS.lineBytes));
    const from = alignStart(source, Math.floor(clamped), encoding);
    const to = alignEnd(source, { from, to: from + LIMITS.lineBytes, last: line.end }, encoding);
    const before = from > line.start ? `[… ${plural(from - line.start, 'byte')} of this line] ` : '';
    const after = to < line.end ? ` [… ${plural(line.end - to, 'byte')} more of this line]` : '';
    return `${before}${decodeLine(from, to)}${after}`;
  }

  function decodeLine(from: number, to: number): string {
    const at = from - blockStart;
    const isLoaded = at >= 0 && to <= blockStart + block.length;
    const bytes = isLoaded ? block.subarray(at, to - blockStart) : source.read(from, to - from);
    const text = encoding.decode(bytes);
    return text.endsWith('\r') ? text.slice(0, -1) : text;
  }

  return { lineAt, startsBefore, show };
}

/** What was not kept is no line. */
function endedLine(source: ByteSource, start: number, end: number, newline: Buffer): Line {
  const after = end + newline.length;
  return { start, end, next: gapAt(source, after)?.to ?? after };
}

/** Beyond the block: the line ends at a newline, at a gap, or with the output. */
function longLine(source: ByteSource, start: number, size: number, newline: Buffer): Line {
  let end = start;
  for (const chunk of chunksOf(source, start, size)) {
    if (chunk.isAfterGap) return { start, end, next: chunk.offset };
    const at = indexOfNewline(chunk.bytes, newline, 0);
    if (at !== -1) return endedLine(source, start, chunk.offset + at, newline);
    end = chunk.offset + chunk.bytes.length;
  }
  return { start, end, next: size };
}

/** Where the line begins that ends before `next`, with a newline or at a gap. */
function startOfLineTo(source: ByteSource, next: number, floor: number, newline: Buffer): number {
  const base = source.gaps().reduce((latest, { to }) => (to <= next ? Math.max(latest, to) : latest), floor);
  for (let end = next - newline.length; end > base; ) {
    // In UTF-16 an even number of bytes from where the lines begin.
    const back = Math.min(end - base, BLOCK_BYTES + ((end - base) % newline.length));
    const at = lastIndexOfNewline(source.read(end - back, back), newline);
    if (at !== -1) return end - back + at + newline.length;
    end -= back;
  }
  return base;
}

/** Lines are text: base64 has none. */
export function getLineEncoding(label: string): Encoding {
  const encoding = getEncoding(label);
  if (encoding.name !== 'base64') return encoding;
  throw new ShellServerError('PARAM_002', 'encoding "base64" cannot be used with lines or a pattern.', {
    hint: 'Use offset and size to read the bytes, or another encoding to read lines.',
    details: { parameter: 'encoding' },
  });
}
