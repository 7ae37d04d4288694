/** What came of an input, as far as an answer has room: its first lines and its last, and where the others are. */
import { countFitting } from '../base/fit-lines.ts';
import { LIMITS } from '../base/limits.ts';

export interface Written {
  /** The number of its first line. */
  readonly start: number;
  /** Its first lines, where they are known apart from the last. */
  readonly head: readonly string[];
  /** Its last lines, and the number of the first of these. */
  readonly tailFrom: number;
  readonly tail: readonly string[];
}

/** The end is worth more: that is where errors are. */
const HEAD_PART = 1 / 3;

/** All lines of a screen, of which a reader cannot ask for a part; `how` to see the others. */
export const fitScreen = (lines: readonly string[], maxBytes: number, how: string) =>
  fitWritten({ start: 0, head: [], tailFrom: 0, tail: lines }, maxBytes, `; ${how}`);

/** `how` the lines that are left out can be seen, where not by their numbers. */
export function fitWritten(
  written: Written,
  maxBytes: number,
  how?: string,
): { text: string; isCut: boolean } {
  const { start, tailFrom, tail } = written;
  const isWhole = start >= tailFrom;
  const whole = tail.join('\n');
  if (isWhole && Buffer.byteLength(whole) <= maxBytes) return { text: whole, isCut: false };
  const end = tailFrom + tail.length;
  const first = isWhole ? tail : written.head;
  const headCount = countFitting(first, maxBytes * HEAD_PART);
  const tailCount = countFitting(tail.toReversed(), maxBytes * (1 - HEAD_PART));
  const shownHead = first.slice(0, Math.min(headCount, end - start - tailCount));
  const shownTail = tailCount === 0 ? [] : tail.slice(-tailCount);
  const from = start + shownHead.length;
  const left = end - tailCount - from;
  if (left <= 0) return { text: [...shownHead, ...shownTail].join('\n'), isCut: false };
  const begun = shownHead.length === 0 ? beginningOf(first[0] ?? '', maxBytes * HEAD_PART) : [];
  return { text: [...shownHead, ...begun, leftOut(from, left, how), ...shownTail].join('\n'), isCut: true };
}

/** Of a line that is too long for an answer. */
function beginningOf(line: string, maxBytes: number): string[] {
  return line === '' ? [] : [`${new TextDecoder().decode(Buffer.from(line).subarray(0, maxBytes))}…`];
}

function leftOut(from: number, count: number, how: string | undefined): string {
  const lines = count === 1 ? '1 line' : `${count} lines`;
  const most = Math.min(count, LIMITS.terminalLinesMax);
  return `[… ${lines} left out${how ?? `: terminal_get_output with start_line ${from} and line_count ${most}`}]`;
}
