/**
 * Bounds what one cell of the emulator holds. Characters without a width of their own (accents, joiners, variation
 * selectors) are added to the cell before them, and REP, insertion and reflow copy cells: one with a million of them
 * would be copied a hundred times by one sequence.
 */

/** A row of the emulator: what its pinned version has inside. */
export interface Line {
  getString(column: number): string;
  addCodepointToCell(column: number, codePoint: number, width: number): void;
}

/**
 * UTF-16 units. The flag of England takes 16, and text that is decorated until it is hard to read about as many; a
 * terminal keeps a handful.
 */
export const MAX_CELL_LENGTH = 32;

const BOUNDED = Symbol('bounded');

/**
 * Characters beyond that are dropped, by the length of the cell: a run can come in many pieces. It is done for the class
 * of the rows, since the emulator makes rows all the time.
 */
export function boundCells(line: Line): void {
  const rows = Object.getPrototypeOf(line) as Line & { [BOUNDED]?: true };
  if (rows[BOUNDED] === true) return;
  const add = rows.addCodepointToCell;
  rows.addCodepointToCell = function bounded(column, codePoint, width) {
    if (this.getString(column).length >= MAX_CELL_LENGTH) return;
    add.call(this, column, codePoint, width);
    // V8 keeps a sum of strings as a list of its parts, with a kilobyte for each cell, until it is read as a whole.
    Number(this.getString(column));
  };
  rows[BOUNDED] = true;
}
