/**
 * The first lines of what comes of an input. By the time the answer is made they may have left memory, so they are kept
 * when there are enough of them. Looked at once for each piece of output, never for each byte.
 */
import type { IMarker, Terminal } from '@xterm/headless';

export interface Head {
  /** Begins anew where the cursor is. */
  begin(): void;
  /** Some are still to come, so that lines must be drawn even if nobody will see them. */
  readonly isWaiting: boolean;
  /** A piece was parsed. */
  check(): void;
  /** From the line in which the cursor was; undefined where nothing has left memory since. */
  lines(): readonly string[] | undefined;
}

/** More than an answer shows of them. */
export const HEAD_ROWS = 300;

export function createHead(terminal: Terminal): Head {
  let marker: IMarker | undefined;
  let kept: readonly string[] | undefined;

  const isWaiting = (): boolean => marker !== undefined && kept === undefined && !marker.isDisposed;

  function read(first: number): string[] {
    const buffer = terminal.buffer.normal;
    const found: string[] = [];
    for (let row = first; row < first + HEAD_ROWS; row++) {
      const line = buffer.getLine(row);
      if (line === undefined) break;
      const isJoined = buffer.getLine(row + 1)?.isWrapped === true;
      const text = line.translateToString(!isJoined);
      if (line.isWrapped && found.length > 0) found.push(`${found.pop() ?? ''}${text}`);
      else found.push(text);
    }
    // Of the last one there may be more.
    return found.slice(0, -1).map((line) => line.trimEnd());
  }

  return {
    begin() {
      marker?.dispose();
      kept = undefined;
      marker = terminal.buffer.active.type === 'normal' ? terminal.registerMarker(0) : undefined;
    },
    get isWaiting() {
      return isWaiting();
    },
    check() {
      if (marker === undefined || !isWaiting()) return;
      const { baseY, cursorY } = terminal.buffer.normal;
      if (baseY + cursorY - marker.line > HEAD_ROWS) kept = read(marker.line);
    },
    lines: () => (marker?.isDisposed === true ? kept : undefined),
  };
}
