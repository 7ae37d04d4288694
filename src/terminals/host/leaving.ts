/**
 * Counts the lines that leave the emulator's memory. It says how many rows have left, not which: so the oldest are noted
 * before a piece of output is parsed that may push them out.
 */
import type { IBuffer } from '@xterm/headless';
import { isContinued, rowText } from './buffer-lines.ts';

export type Leaving = ReturnType<typeof createLeaving>;

interface Row {
  /** A line begins here. */
  readonly isFirst: boolean;
  readonly text: string;
}

export function createLeaving(
  normal: () => IBuffer,
  onLine: ((line: string, index: number) => void) | undefined,
) {
  const readRow = onLine === undefined ? readBeginning : readWhole;
  let oldest: Row[] = [];
  let trimmed = 0;
  let lines = 0;
  /** The text of the last line, of which rows may still be there. */
  let text: string | undefined;

  function leave(row: Row): void {
    if (row.isFirst) {
      endLine();
      lines++;
      text = '';
    }
    if (onLine !== undefined) text += row.text;
  }

  /** Nothing more comes of the line that left last. */
  function endLine(): void {
    if (text !== undefined) onLine?.(text.trimEnd(), lines - 1);
    text = undefined;
  }

  /** Counts what has left since. */
  function settle(): void {
    if (trimmed <= 0) return;
    for (const row of oldest.splice(0, trimmed)) leave(row);
    trimmed = 0;
    if (!isContinued(normal(), 0)) endLine();
  }

  return {
    /** Those whose first row has left. */
    lines: () => lines,
    /** Notes all rows above the screen. */
    note(): void {
      const buffer = normal();
      for (let row = oldest.length; row < buffer.baseY; row++) oldest.push(readRow(buffer, row));
    },
    /** The emulator says that so many rows have left. */
    trim(rows: number): void {
      trimmed += rows;
    },
    settle,
    /** The rows before this one are about to go. */
    drop(rows: number): void {
      settle();
      const buffer = normal();
      for (let row = 0; row < rows; row++) leave(readRow(buffer, row));
      if (!isContinued(buffer, rows)) endLine();
      oldest = [];
    },
    endLine,
    /** Lines that were never there. */
    skip(count: number): void {
      lines += count;
    },
    /** Rows are not where they were. True where some have left that were not counted. */
    forget(): boolean {
      oldest = [];
      const haveLeft = trimmed > 0;
      trimmed = 0;
      return haveLeft;
    },
  };
}

/** Where nobody asks for their text. */
const FIRST_ROW: Row = { isFirst: true, text: '' };
const LATER_ROW: Row = { isFirst: false, text: '' };
const readBeginning = (buffer: IBuffer, row: number): Row =>
  isContinued(buffer, row) ? LATER_ROW : FIRST_ROW;

function readWhole(buffer: IBuffer, row: number): Row {
  return {
    isFirst: !isContinued(buffer, row),
    text: rowText(buffer, row, !isContinued(buffer, row + 1)),
  };
}
