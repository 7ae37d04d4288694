/**
 * How many newlines there are up to each mebibyte of an output. What is written does not change, so that what was
 * counted once need not be counted again: a reader that goes through an output, page by page, reads each part once.
 */

/** Grows as far as lines were counted. One for each output, kept as long as that can be read. */
export interface LineIndex {
  /** At place `n`: newlines in the first `n + 1` blocks. */
  readonly newlines: number[];
}

export const INDEX_BLOCK_BYTES = 1024 * 1024;

export function createLineIndex(): LineIndex {
  return { newlines: [] };
}

/** The last border of a block, at or before `offset`, that is known. */
export function borderBefore(index: LineIndex, offset: number) {
  return borderAt(index, Math.min(index.newlines.length, Math.floor(offset / INDEX_BLOCK_BYTES)));
}

/** The last one of them with fewer than so many newlines before it. */
export function borderWithFewer(index: LineIndex, newlines: number, offset: number) {
  let low = 0;
  let high = borderBefore(index, offset).offset / INDEX_BLOCK_BYTES;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (borderAt(index, middle).newlines < newlines) low = middle;
    else high = middle - 1;
  }
  return borderAt(index, low);
}

/** With the newlines before it. */
function borderAt(index: LineIndex, blocks: number) {
  return { offset: blocks * INDEX_BLOCK_BYTES, newlines: index.newlines[blocks - 1] ?? 0 };
}
