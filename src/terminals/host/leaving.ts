/**
 * Counts the lines that leave the emulator's memory. It says how many rows have left, not which: so the oldest are noted
 * before a piece of output is parsed that may push them out.
 */
import type { IBuffer } from '@xterm/headless';

export interface Leaving {
  /** Lines whose first row has left. */
  readonly lines: number;
  /** Notes all rows above the screen. */
  note(): void;
  /** The emulator says that so many rows have left. */
  trim(rows: number): void;
  /** Rows that left when nothing was noted, and were not counted. */
  takeTrimmed(): number;
  /** Counts what has left since. */
  settle(): void;
  /** The rows before this one are about to go. */
  drop(rows: number): void;
  /** Nothing more comes of the line that left last. */
  endLine(): void;
  /** Lines that were never there. */
  skip(lines: number): void;
  /** Rows are not where they were. */
  forget(): void;
}

interface Row {
  /** A line begins here. */
  readonly isFirst: boolean;
  readonly text: string;
}

/** Where nobody asks for their text. */
const FIRST_ROW: Row = { isFirst: true, text: '' };
const LATER_ROW: Row = { isFirst: false, text: '' };

export const isContinued = (buffer: IBuffer, row: number): boolean => buffer.getLine(row)?.isWrapped === true;

export function createLeaving(
  normal: () => IBuffer,
  onLine: ((line: string, index: number) => void) | undefined,
): Leaving {
  let oldest: Row[] = [];
  let trimmed = 0;
  let lines = 0;
  /** The text of the last line, of which rows may still be there. */
  let text: string | undefined;

  function rowAt(buffer: IBuffer, row: number): Row {
    const isFirst = !isContinued(buffer, row);
    if (onLine === undefined) return isFirst ? FIRST_ROW : LATER_ROW;
    const isLast = !isContinued(buffer, row + 1);
    return { isFirst, text: buffer.getLine(row)?.translateToString(isLast) ?? '' };
  }

  function leave(row: Row): void {
    if (row.isFirst) {
      endLine();
      lines++;
      text = '';
    }
    if (onLine !== undefined) text += row.text;
  }

  function endLine(): void {
    if (text !== undefined) onLine?.(text.trimEnd(), lines - 1);
    text = undefined;
  }

  function settle(): void {
    if (trimmed <= 0) return;
    for (const row of oldest.splice(0, trimmed)) leave(row);
    trimmed = 0;
    if (!isContinued(normal(), 0)) endLine();
  }

  return {
    get lines() {
      return lines;
    },
    note() {
      const buffer = normal();
      for (let row = oldest.length; row < buffer.baseY; row++) oldest.push(rowAt(buffer, row));
    },
    trim(rows) {
      trimmed += rows;
    },
    takeTrimmed() {
      const rows = trimmed;
      trimmed = 0;
      return rows;
    },
    settle,
    drop(rows) {
      settle();
      const buffer = normal();
      for (let row = 0; row < rows; row++) leave(rowAt(buffer, row));
      if (!isContinued(buffer, rows)) endLine();
      oldest = [];
    },
    endLine,
    skip(count) {
      lines += count;
    },
    forget() {
      oldest = [];
    },
  };
}
