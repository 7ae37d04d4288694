/**
 * What an answer shows of an output that is over its budget and that has something to fold: all of it with folds where that
 * fits, otherwise the beginning and the end of the folded text. Undefined where folding gains nothing.
 */
import { foldLines, mayFold, type Piece } from './fold.ts';
import type { LineCounter } from './line-count.ts';
import type { Pace } from './scan.ts';
import type { ByteSource } from './types.ts';

export type FoldedView = ReturnType<typeof viewOf>;

interface Scan {
  readonly size: number;
  readonly counter: LineCounter;
  readonly pace: Pace;
}

/** Of a budget, for the line that says what is left out. */
const MARKER_BYTES = 256;
const TAIL_SHARE = 0.6;

/** What an output that is over its budget can show, and of that its end. */
export function shareOut(budgetBytes: number): { shownBytes: number; tailBytes: number } {
  const shownBytes = Math.max(budgetBytes - MARKER_BYTES, Math.floor(budgetBytes / 2));
  return { shownBytes, tailBytes: Math.floor(shownBytes * TAIL_SHARE) };
}

/** Of each end, which takes a few milliseconds; all of an output that is not longer than both. */
const END_BYTES = 256 * 1024;

export async function foldedView(
  source: ByteSource,
  budgetBytes: number,
  scan: Scan,
): Promise<FoldedView | undefined> {
  const { size } = scan;
  const folded = await foldEnds(source, scan);
  if (folded === undefined) return undefined;
  const { first, last } = folded;
  const all = last === undefined ? first : undefined;
  const view =
    all !== undefined && textBytes(all) <= budgetBytes
      ? viewOf(all, [], size)
      : selectEnds(first, last ?? first, size, budgetBytes);
  return view !== undefined && view.foldedBytes > 0 ? view : undefined;
}

async function foldEnds(
  source: ByteSource,
  { size, counter, pace }: Scan,
): Promise<{ first: Piece[]; last: Piece[] | undefined } | undefined> {
  if (size <= 2 * END_BYTES) {
    const bytes = source.read(0, size);
    if (!mayFold(bytes)) return undefined;
    return { first: await foldLines({ bytes, offset: 0, firstLine: 1, size }, pace), last: undefined };
  }
  const begin = source.read(0, END_BYTES);
  const from = size - END_BYTES;
  const end = source.read(from, END_BYTES);
  if (!mayFold(begin) && !mayFold(end)) return undefined;
  const offset = from + end.indexOf(10) + 1;
  const firstLine = (await counter.count(0, offset)).ended + 1;
  const head = { bytes: begin.subarray(0, begin.lastIndexOf(10) + 1), offset: 0, firstLine: 1, size };
  const tail = { bytes: end.subarray(offset - from), offset, firstLine, size };
  return { first: await foldLines(head, pace), last: await foldLines(tail, pace) };
}

/** Whole pieces from both ends; undefined where one end shows nothing, as with lines that are too long. */
function selectEnds(
  first: readonly Piece[],
  last: readonly Piece[],
  size: number,
  budgetBytes: number,
): FoldedView | undefined {
  const { shownBytes, tailBytes } = shareOut(budgetBytes);
  const tail = take(last.toReversed(), tailBytes).toReversed();
  const tailFrom = tail[0]?.from ?? size;
  const before = first.filter(({ to }) => to <= tailFrom);
  const head = take(before, shownBytes - textBytes(tail));
  return head.length === 0 || tail.length === 0 ? undefined : viewOf(head, tail, size);
}

function take(pieces: readonly Piece[], room: number): Piece[] {
  const taken: Piece[] = [];
  let bytes = 0;
  for (const piece of pieces) {
    bytes += Buffer.byteLength(piece.text);
    if (bytes > room) break;
    taken.push(piece);
  }
  return taken;
}

function viewOf(head: readonly Piece[], tail: readonly Piece[], size: number) {
  const folds = [...head, ...tail].filter(({ isFold }) => isFold);
  return {
    head: textOf(head),
    /** Empty where everything is in the head. */
    tail: textOf(tail),
    // What is between them: [from, to).
    headTo: head.at(-1)?.to ?? 0,
    tailFrom: tail[0]?.from ?? size,
    // What the folds stand for without being shown.
    foldedBytes: folds.reduce((sum, { from, to, text }) => sum + to - from - Buffer.byteLength(text), 0),
    foldedLines: folds.reduce((sum, { lineCount }) => sum + lineCount - 1, 0),
  };
}

const textOf = (pieces: readonly Piece[]): string => pieces.map(({ text }) => text).join('');
const textBytes = (pieces: readonly Piece[]): number =>
  pieces.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
