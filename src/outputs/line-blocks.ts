/**
 * An output as blocks of whole lines. Only a line longer than `LIMITS.searchPieceBytes` comes in pieces, which overlap.
 */
import { gapAt, lastIndexOfNewline } from './scan.ts';
import type { ByteSource } from './types.ts';

export interface LineBlock {
  readonly bytes: Buffer;
  /** False for a later piece of a long line. */
  readonly startsLine: boolean;
  /** False for a piece that is followed by another of the same line. */
  readonly endsLine: boolean;
}

export interface PlacedBlock extends LineBlock {
  /** Where it is in the output. */
  readonly offset: number;
}

export interface BlockOptions {
  readonly from: number;
  readonly to: number;
  readonly newline: Buffer;
  /** By how much the pieces of a long line overlap. */
  readonly overlapBytes: number;
  /** For the bytes of one block after another, in turn; each has room for `LIMITS.searchPieceBytes`, or for all. */
  readonly buffers: readonly Buffer[];
}

export function* lineBlocks(source: ByteSource, options: BlockOptions): Generator<PlacedBlock> {
  const { from, to, newline, overlapBytes, buffers } = options;
  let offset = from;
  let startsLine = true;
  let blocks = 0;
  while (offset < to) {
    const buffer = buffers[blocks % buffers.length] ?? Buffer.alloc(0);
    const bytes = source.read(offset, Math.min(buffer.length, to - offset), buffer);
    const end = offset + bytes.length;
    const gap = gapAt(source, end);
    if (bytes.length === 0) {
      if (gap === undefined) return;
      offset = gap.to;
      startsLine = true;
      continue;
    }
    blocks++;
    const isLast = end >= to || gap !== undefined;
    const lastNewline = isLast ? -1 : lastIndexOfNewline(bytes, newline);
    const endsLine = isLast || lastNewline !== -1;
    const length = lastNewline === -1 ? bytes.length : lastNewline + newline.length;
    yield { offset, bytes: bytes.subarray(0, length), startsLine, endsLine };
    // What follows the last newline is read again with the rest of its line.
    offset += endsLine ? length : length - overlapBytes;
    startsLine = endsLine;
  }
}
