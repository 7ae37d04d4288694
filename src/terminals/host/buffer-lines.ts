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

export function textOf(buffer: IBuffer, start: number, end: number): string {
  let text = '';
  for (let row = start; row < end; row++)
    text += buffer.getLine(row)?.translateToString(row === end - 1) ?? '';
  // Nobody sees what a shell or an editor fills its line up with.
  return text.trimEnd();
}
