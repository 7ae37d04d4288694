/** Lines in the emulator's memory, each of which takes up one row or more. */
import type { IBuffer } from '@xterm/headless';

export const isContinued = (buffer: IBuffer, row: number): boolean => buffer.getLine(row)?.isWrapped === true;

/** The last row that has something in it, or the cursor. */
export function lastRow(buffer: IBuffer): number {
  const cursor = buffer.baseY + buffer.cursorY;
  return Math.max(lastWritten(buffer, cursor), cursor);
}

/** The last row that has something in it, from this one on; the one before where none has. */
export function lastWritten(buffer: IBuffer, first = 0): number {
  let row = buffer.length - 1;
  while (row >= first && (buffer.getLine(row)?.translateToString(true) ?? '') === '') row--;
  return row;
}

/** The row after the last of the line that begins in this row. */
export function endOfLine(buffer: IBuffer, start: number): number {
  let row = start + 1;
  while (row < buffer.length && isContinued(buffer, row)) row++;
  return row;
}

/** Of a row that goes on in the next one also the blanks at its end, which are in the middle of a line. */
export const rowText = (buffer: IBuffer, row: number, isLast: boolean): string =>
  buffer.getLine(row)?.translateToString(isLast, 0, isLast ? undefined : filledColumns(buffer, row)) ?? '';

/**
 * How many columns of a row are part of its line. A wide character that does not fit into the last one goes to the next row
 * and leaves a cell without a character, which is no blank that was written.
 */
export function filledColumns(buffer: IBuffer, row: number): number | undefined {
  const line = buffer.getLine(row);
  const last = line?.getCell(line.length - 1);
  const isLeftOver = last?.getCode() === 0 && last.getWidth() === 1;
  const isBeforeWide =
    isContinued(buffer, row + 1) &&
    buffer
      .getLine(row + 1)
      ?.getCell(0)
      ?.getWidth() === 2;
  return line !== undefined && isLeftOver && isBeforeWide ? line.length - 1 : undefined;
}

export function textOf(buffer: IBuffer, start: number, end: number): string {
  let text = '';
  for (let row = start; row < end; row++) text += rowText(buffer, row, row === end - 1);
  // Nobody sees what a shell or an editor fills its line up with.
  return text.trimEnd();
}
