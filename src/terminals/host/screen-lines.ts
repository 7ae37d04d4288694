/** The lines of a screen and of the memory above it, counted from the first that was ever written. */
import type { SerializeAddon } from '@xterm/addon-serialize';
import type { IBuffer } from '@xterm/headless';
import { endOfLine, isContinued, lastRow, textOf } from './buffer-lines.ts';
import type { Drawing, ScreenOptions } from './drawing.ts';

export function createLines(
  { terminal, leaving, catchUp, version, isParsing }: Drawing,
  serializer: SerializeAddon,
  onDropped: ScreenOptions['onDropped'],
) {
  const normal = (): IBuffer => terminal.buffer.normal;
  /** The rows in which lines begin, until something changes. */
  let starts: { readonly rows: readonly number[]; readonly version: number } | undefined;

  /** The rows in which lines begin; what is left of one that began before them is not read. */
  function firstRows(): readonly number[] {
    catchUp();
    if (starts?.version === version() && !isParsing()) return starts.rows;
    const rows: number[] = [];
    const buffer = normal();
    const last = lastRow(buffer);
    for (let row = 0; row <= last; row++) if (!isContinued(buffer, row)) rows.push(row);
    if (!isParsing()) starts = { rows, version: version() };
    return rows;
  }

  function total(): number {
    const inMemory = firstRows().length;
    return leaving.lines() + inMemory;
  }

  function read(from: number, to: number, withAnsi = false): string[] {
    const rows = firstRows();
    const buffer = normal();
    const found = rows.slice(Math.max(0, from - leaving.lines()), Math.max(0, to - leaving.lines()));
    return found.map((start) => {
      const end = endOfLine(buffer, start);
      if (!withAnsi) return textOf(buffer, start, end);
      const range = { start, end: end - 1 };
      return serializer.serialize({ range, excludeModes: true }).replaceAll('\r\n', '');
    });
  }

  /** The line that a row belongs to, and how much of it stands in the rows above. */
  function ofRow(row: number): { readonly line: number; readonly column: number } {
    const rows = firstRows();
    const index = rows.findLastIndex((start) => start <= row);
    const column = (row - (rows[index] ?? row)) * terminal.cols;
    return { line: Math.max(0, leaving.lines() + index), column };
  }

  return {
    total,
    read,
    ofRow,
    ofCursor(): number {
      catchUp();
      return ofRow(normal().baseY + normal().cursorY).line;
    },
    resize(columns: number, rows: number): void {
      const count = total();
      const first = leaving.lines();
      const before = onDropped === undefined ? [] : read(first, count);
      terminal.resize(columns, rows);
      starts = undefined;
      // Narrower rows are more of them, and the oldest may have left.
      const gone = leaving.forget() ? count - total() : 0;
      if (gone <= 0) return;
      leaving.endLine();
      leaving.skip(gone);
      for (const [at, line] of before.slice(0, gone).entries()) onDropped?.(line, first + at);
    },
  };
}
