/**
 * Lines of an output as pieces of a shorter text. A run of lines that are equal but for numbers becomes its first line and a
 * marker, and a line that a program wrote over and over becomes its last state and a marker. A marker names the lines or
 * bytes it stands for. Lines that may say that something went wrong, and the lines around them, are never folded.
 */
import { isAlike } from './alike.ts';
import { grouped } from './phrases.ts';
import type { Pace } from './scan.ts';
import { asShown } from './shown-text.ts';

export interface Piece {
  /** As an answer shows it, with its newline. */
  readonly text: string;
  /** What it stands for, as offsets into the output. */
  readonly from: number;
  readonly to: number;
  readonly lineCount: number;
  readonly isFold: boolean;
}

interface FoldRequest {
  /** Whole lines, but for the first and the last one of the output. */
  readonly bytes: Buffer;
  /** Where the bytes begin in the output, and the number of their first line. */
  readonly offset: number;
  readonly firstLine: number;
  /** Of the whole output: lines before or after these may be in need of their neighbours. */
  readonly size: number;
}

/** Words of failures. Too many rather than too few: a line more costs less than an error that is not seen. */
const ALARM =
  /err(?:or|no|s?\b)|warn|fail|panic|traceback|denied|exception|fatal|abort|critical|refused|crash|segfault|killed|assert|cannot|can't|unable|missing|not found|not ok|time[d-]?[ -]?out|invalid|unexpected|unreachable|conflict|corrupt|[✗✘✖❌⚠]/i;
/** Around such a line. */
const CONTEXT_LINES = 3;
/** Fewer are read faster than a marker. */
const MIN_RUN = 4;
/** Lines without a word are data, such as a column of numbers: those are only folded where they are equal. */
const WORD = /\p{L}{3}/u;
/** A longer line is not compared. */
const MAX_COMPARED_CHARS = 2000;

/** So many are looked at before others may get a turn. */
const LINES_A_TURN = 1000;

interface Line {
  readonly from: number;
  /** After its newline. */
  readonly to: number;
  readonly shown: string;
  readonly isOverwritten: boolean;
  readonly isAlarm: boolean;
}

/** Whether there is anything to fold, in a fraction of the time that folding takes: most long outputs have nothing. */
export function mayFold(bytes: Buffer): boolean {
  const text = bytes.toString('utf8');
  if (/\r(?!\n)/.test(text)) return true;
  let before: string | undefined;
  let run = 0;
  for (const line of text.split('\n')) {
    const isSame = before !== undefined && (line === before || (isAlike(before, line) && WORD.test(line)));
    run = isSame ? run + 1 : 1;
    if (run >= MIN_RUN) return true;
    before = line;
  }
  return false;
}

export async function foldLines(request: FoldRequest, pace: Pace): Promise<Piece[]> {
  const lines: Line[] = [];
  for (const line of linesOf(request.bytes)) {
    if (lines.push(line) % LINES_A_TURN === 0) await pace();
  }
  const isProtected = protectedLines(lines, request);
  const pieces: Piece[] = [];
  for (let at = 0; at < lines.length; ) {
    const end = endOfRun(lines, isProtected, at);
    pieces.push(...piecesOf(lines.slice(at, end), at, isProtected[at] === 1, request));
    at = end;
  }
  return pieces;
}

function* linesOf(bytes: Buffer): Generator<Line> {
  for (let from = 0; from < bytes.length; ) {
    const newline = bytes.indexOf(10, from);
    const to = newline === -1 ? bytes.length : newline + 1;
    yield describeLine(bytes.toString('utf8', from, to), from, to);
    from = to;
  }
}

function describeLine(raw: string, from: number, to: number): Line {
  const isOverwritten = raw.includes('\r') && /\r(?!\n?$)/.test(raw);
  const alarms = isOverwritten ? overwrittenAlarms(raw) : [];
  const shown = [...alarms, asShown(raw)].join('');
  return { from, to, shown, isOverwritten, isAlarm: alarms.length > 0 || ALARM.test(shown) };
}

/** States that said that something went wrong; the last one is shown anyway. */
function overwrittenAlarms(raw: string): string[] {
  const states = raw
    .replace(/\r?\n$/, '')
    .split('\r')
    .slice(0, -1);
  return states.map((state) => `${asShown(state)}\n`).filter((state) => ALARM.test(state));
}

function protectedLines(lines: readonly Line[], { bytes, offset, size }: FoldRequest): Uint8Array {
  const flags = new Uint8Array(lines.length);
  const protect = (from: number, to: number): void => void flags.fill(1, Math.max(0, from), Math.max(0, to));
  lines.forEach(({ isAlarm }, at) => {
    if (isAlarm) protect(at - CONTEXT_LINES, at + CONTEXT_LINES + 1);
  });
  if (offset > 0) protect(0, CONTEXT_LINES);
  if (offset + bytes.length < size) protect(lines.length - CONTEXT_LINES, lines.length);
  return flags;
}

/** Where the lines end that are like the one at `at`; a protected line stands alone. */
function endOfRun(lines: readonly Line[], isProtected: Uint8Array, at: number): number {
  const first = lines[at]?.shown ?? '';
  let end = at + 1;
  if (isProtected[at] === 1 || first.length > MAX_COMPARED_CHARS || !first.endsWith('\n')) return end;
  while (end < lines.length && isProtected[end] === 0 && isAlike(first, lines[end]?.shown ?? '')) end++;
  return end;
}

function piecesOf(run: readonly Line[], at: number, isProtected: boolean, request: FoldRequest): Piece[] {
  const { offset, firstLine } = request;
  const [first] = run;
  const last = run.at(-1);
  if (first === undefined || last === undefined) return [];
  if (run.length >= MIN_RUN && (WORD.test(first.shown) || run.every(({ shown }) => shown === first.shown))) {
    const number = firstLine + at;
    const marker = `[× ${grouped(run.length)}, lines ${number}–${number + run.length - 1}]\n`;
    const text = `${first.shown}${marker}`;
    if (Buffer.byteLength(text) < last.to - first.from)
      return [
        {
          text,
          from: offset + first.from,
          to: offset + last.to,
          lineCount: run.length,
          isFold: true,
        },
      ];
  }
  return run.map((line) => pieceOf(line, offset, isProtected));
}

function pieceOf({ from, to, shown, isOverwritten }: Line, offset: number, isProtected: boolean): Piece {
  const whole = { from: offset + from, to: offset + to, lineCount: 1 };
  const end = shown.endsWith('\n') ? '' : '\n';
  const text = `${shown}${end}[last state of bytes ${whole.from}–${whole.to - 1}]\n`;
  const isFold = isOverwritten && !isProtected && Buffer.byteLength(text) < to - from;
  return { ...whole, text: isFold ? text : shown, isFold };
}
