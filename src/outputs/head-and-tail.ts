/**
 * What an answer shows of an output: all of it where it fits, otherwise how it began and how it ended, with one line
 * between them that says what is missing and how to read it. More is given to the end: that is where errors are. Where it
 * does not fit, repetitions may be folded.
 */
import { createHash } from 'node:crypto';
import { LIMITS } from '../base/limits.ts';
import { alignEnd, alignStart, LINE_REACH_BYTES } from './cut.ts';
import { getEncoding } from './encoding.ts';
import { type FoldedView, foldedView, shareOut } from './folded-view.ts';
import { createLineCounter, type LineCounter } from './line-count.ts';
import { notKept, plural } from './phrases.ts';
import { chunksOf, createPace, gapBytes, type Pace } from './scan.ts';
import { asShown } from './shown-text.ts';
import type { ByteSource } from './types.ts';
import { countInvalidBytes } from './utf8.ts';

export interface HeadAndTailOptions {
  /** Named in the line that says how to read the rest; undefined for callers without a tool that reads it. */
  readonly outputId: string | undefined;
  /** Fold repetitions where it does not fit; absent: no. */
  readonly folds?: boolean;
  /** Where the source begins in the output that is named, where it is only a part of it. */
  readonly base?: number;
  readonly signal?: AbortSignal;
}

export interface HeadAndTail {
  readonly text: string;
  readonly truncated: boolean;
  /** The text describes the data instead of showing it. */
  readonly binary: boolean;
  /** How many bytes of what is shown were not UTF-8 and are U+FFFD in the text. */
  readonly invalidBytes: number;
  /** Something is neither shown nor stands in a fold. */
  readonly isCut: boolean;
  /** What is not shown, kept or not. */
  readonly omittedBytes: number;
  /** Lines that end in the part that is kept but not shown. */
  readonly omittedLines: number;
  /** Where what is not shown begins in the source, where it is one part. */
  readonly omittedFrom?: number;
}

const UTF8 = getEncoding('utf-8');
/** Room for the line that explains folds. */
const LEGEND_BYTES = 160;
const BINARY_PROBE_BYTES = 8192;
const BINARY_INVALID_SHARE = 0.1;
/** Below this, replaced characters tell a reader more than a checksum. */
const BINARY_INVALID_MIN = 16;

export async function headAndTail(
  source: ByteSource,
  budgetBytes: number,
  options: HeadAndTailOptions,
): Promise<HeadAndTail> {
  const pace = createPace(options.signal);
  const size = source.size();
  const { headTo, tailFrom } = cut(source, size, budgetBytes);
  const head = source.read(0, headTo);
  const tail = source.read(tailFrom, size - tailFrom);
  const invalidBytes = countInvalidBytes(head) + countInvalidBytes(tail);
  const binary = isBinary(source, invalidBytes, head.length + tail.length);
  if (binary) {
    const text = await describeBinary(source, size, options.outputId, pace);
    return { text, truncated: true, binary, invalidBytes, isCut: true, omittedBytes: size, omittedLines: 0 };
  }
  const omittedBytes = tailFrom - headTo;
  const truncated = omittedBytes > 0;
  const counter = createLineCounter(source, UTF8.newline, pace);
  const folded =
    truncated && options.folds === true && source.gaps().length === 0
      ? await foldedView(source, budgetBytes - LEGEND_BYTES, { size, counter, pace })
      : undefined;
  if (folded !== undefined) return describeFolded(folded, counter, options.outputId, invalidBytes);
  const omittedLines = truncated ? (await counter.count(headTo, tailFrom)).ended : 0;
  const about = { truncated, binary, invalidBytes, isCut: truncated, omittedBytes, omittedLines };
  const text = asShown(head.toString('utf8'));
  if (!truncated) return { text, ...about };
  const omitted = { bytes: omittedBytes, lines: omittedLines, notKeptBytes: gapBytes(source) };
  const marker = describeOmission(omitted, (options.base ?? 0) + headTo, options.outputId);
  const between = `${text === '' || text.endsWith('\n') ? '' : '\n'}${marker}\n`;
  return { text: `${text}${between}${asShown(tail.toString('utf8'))}`, ...about, omittedFrom: headTo };
}

async function describeFolded(
  { head, tail, headTo, tailFrom, foldedBytes, foldedLines }: FoldedView,
  counter: LineCounter,
  outputId: string | undefined,
  invalidBytes: number,
): Promise<HeadAndTail> {
  const cutBytes = tailFrom - headTo;
  const cutLines = cutBytes === 0 ? 0 : (await counter.count(headTo, tailFrom)).ended;
  const omitted = { bytes: cutBytes, lines: cutLines, notKeptBytes: 0 };
  const marker = cutBytes === 0 ? '' : `${describeOmission(omitted, headTo, outputId)}\n`;
  const shown = `${head}${marker}${tail}`;
  const of =
    outputId === undefined ? 'the output' : `output_id "${outputId}"; read_execution_output has them`;
  const legend = `[folded: "[× …]" and "[last state …]" stand for lines and bytes of ${of}]`;
  return {
    text: `${shown}${shown.endsWith('\n') ? '' : '\n'}${legend}\n`,
    truncated: true,
    binary: false,
    invalidBytes,
    isCut: cutBytes > 0,
    omittedBytes: cutBytes + foldedBytes,
    omittedLines: cutLines + foldedLines,
  };
}

function cut(source: ByteSource, size: number, budgetBytes: number) {
  const firstGap = source.gaps()[0];
  const lastGap = source.gaps().at(-1);
  if (size <= budgetBytes && firstGap === undefined) return { headTo: size, tailFrom: size };
  const { shownBytes, tailBytes } = shareOut(budgetBytes);

  let tailFrom = Math.max(0, size - tailBytes);
  if (lastGap !== undefined && tailFrom <= lastGap.to) tailFrom = lastGap.to;
  else tailFrom = lineStartAfter(source, alignStart(source, tailFrom, UTF8), size);

  // What a short tail leaves of the budget goes to the head.
  let headTo = Math.min(tailFrom, shownBytes - (size - tailFrom));
  if (firstGap !== undefined && headTo >= firstGap.from) headTo = firstGap.from;
  else headTo = lineEndBefore(source, alignEnd(source, { from: 0, to: headTo, last: size }, UTF8));
  return { headTo, tailFrom };
}

/** The next line's beginning, where it is in reach; otherwise the offset itself. */
function lineStartAfter(source: ByteSource, offset: number, size: number): number {
  const reach = Math.min(LINE_REACH_BYTES, Math.floor((size - offset) / 2));
  // With the byte before it: the offset may be a line's beginning already.
  const newline = source.read(offset - 1, reach + 1).indexOf(10);
  return newline === -1 ? offset : offset + newline;
}

/** The last line's end, where it is in reach; otherwise the offset itself. */
function lineEndBefore(source: ByteSource, offset: number): number {
  const reach = Math.min(LINE_REACH_BYTES, Math.floor(offset / 2));
  const newline = source.read(offset - reach, reach).lastIndexOf(10);
  return newline === -1 ? offset : offset - reach + newline + 1;
}

function isBinary(source: ByteSource, invalidBytes: number, shownBytes: number): boolean {
  if (source.read(0, BINARY_PROBE_BYTES).includes(0)) return true;
  return invalidBytes >= BINARY_INVALID_MIN && invalidBytes > shownBytes * BINARY_INVALID_SHARE;
}

const REDIRECT = 'to read them, redirect the output to a file and read that in parts';

function describeOmission(
  omitted: { readonly bytes: number; readonly lines: number; readonly notKeptBytes: number },
  offset: number,
  outputId: string | undefined,
): string {
  const { bytes: omittedBytes, notKeptBytes } = omitted;
  const lines = omitted.lines === 0 ? 'part of a line' : plural(omitted.lines, 'line');
  if (outputId === undefined) return `[… ${plural(omittedBytes, 'byte')} (${lines}) left out; ${REDIRECT}]`;
  const how = `read_execution_output with output_id "${outputId}"`;
  if (notKeptBytes === 0) {
    return `[… ${plural(omittedBytes, 'byte')} (${lines}) left out; to read them: ${how} and offset ${offset}]`;
  }
  if (notKeptBytes === omittedBytes) return `[… ${notKept(notKeptBytes)}; to read the rest: ${how}]`;
  const kept = `${plural(omittedBytes - notKeptBytes, 'byte')} (${lines}) can be read`;
  return `[… ${plural(omittedBytes, 'byte')} left out: ${kept} by ${how} and offset ${offset}; ${notKept(notKeptBytes)}]`;
}

async function describeBinary(
  source: ByteSource,
  size: number,
  outputId: string | undefined,
  pace: Pace,
): Promise<string> {
  const keptBytes = size - gapBytes(source);
  const begins = source
    .read(0, 16)
    .toString('hex')
    .replace(/(..)(?=.)/g, '$1 ');
  const parts = [plural(size, 'byte'), `beginning with ${begins}`];
  if (keptBytes <= LIMITS.checksumBytes) {
    const hash = createHash('sha256');
    for (const { bytes } of chunksOf(source, 0, size)) {
      hash.update(bytes);
      await pace();
    }
    const what = keptBytes === size ? 'sha256' : `sha256 of the ${plural(keptBytes, 'byte')} kept`;
    parts.push(`${what} ${hash.digest('hex')}`);
  }
  const how = `; to read it: read_execution_output with output_id "${outputId}" and encoding "base64"`;
  return `[binary data: ${parts.join(', ')}${outputId === undefined ? '' : how}]`;
}
