/**
 * The first lines of what comes of an input. By the time the answer is made they may have left memory, so they are kept
 * when there are enough of them. Looked at once for each piece of output, never for each byte.
 */
import type { IMarker, Terminal } from '@xterm/headless';
import { endOfLine, textOf } from './buffer-lines.ts';

export type Head = ReturnType<typeof createHead>;

/** More than an answer shows of them. */
export const HEAD_ROWS = 300;

export function createHead(terminal: Terminal) {
  let marker: IMarker | undefined;
  let kept: readonly string[] | undefined;

  /** Some are still to come, so that lines must be drawn even if nobody will see them. */
  const isWaiting = (): boolean => marker !== undefined && kept === undefined && !marker.isDisposed;

  function read(first: number): string[] {
    const buffer = terminal.buffer.normal;
    const found: string[] = [];
    for (let row = first; row < Math.min(first + HEAD_ROWS, buffer.length); ) {
      const end = endOfLine(buffer, row);
      found.push(textOf(buffer, row, end));
      row = end;
    }
    // Of the last one there may be more.
    return found.slice(0, -1);
  }

  return {
    /** Begins anew where the cursor is. */
    begin(): void {
      marker?.dispose();
      kept = undefined;
      marker = terminal.buffer.active.type === 'normal' ? terminal.registerMarker(0) : undefined;
    },
    isWaiting,
    /** There will be no more of them. */
    forget: (): void => marker?.dispose(),
    /** A piece was parsed. */
    check(): void {
      if (marker === undefined || !isWaiting()) return;
      const { baseY, cursorY } = terminal.buffer.normal;
      if (baseY + cursorY - marker.line > HEAD_ROWS) kept = read(marker.line);
    },
    /** From the line in which the cursor was; undefined where nothing has left memory since. */
    lines: () => (marker?.isDisposed === true ? kept : undefined),
  };
}
