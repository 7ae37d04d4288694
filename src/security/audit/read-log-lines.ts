/** The lines of a file of the log, as bytes: in order, and the last one from its end. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { withFile } from '../../base/files.ts';
import { type Line, parseLine } from './chain.ts';

export interface RawLine {
  readonly bytes: Buffer;
  /** Where the line after it begins. */
  readonly end: number;
  /** False for what stands after the last line end: a line that is being written, or was never finished. */
  readonly isWhole: boolean;
}

const CHUNK_BYTES = 256 * 1024;
const LINE_END = 10;

/** From the offset of a line's beginning to what is the end now. */
export function* readLines(path: string, from = 0): Generator<RawLine> {
  const fd = openSync(path, 'r');
  try {
    let rest = Buffer.alloc(0);
    let offset = from;
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const length = readSync(fd, chunk, 0, CHUNK_BYTES, offset + rest.length);
      if (length === 0) break;
      const bytes = Buffer.concat([rest, chunk.subarray(0, length)]);
      let start = 0;
      for (let at = bytes.indexOf(LINE_END); at !== -1; at = bytes.indexOf(LINE_END, start)) {
        yield { bytes: bytes.subarray(start, at), end: offset + at + 1, isWhole: true };
        start = at + 1;
      }
      rest = bytes.subarray(start);
      offset += start;
    }
    if (rest.length > 0) yield { bytes: rest, end: offset, isWhole: false };
  } finally {
    closeSync(fd);
  }
}

/** The last whole line that can be read; a file may end with half of one. */
export function readLastLine(path: string): Line | undefined {
  const { start, end, bytes } = findLastLine(path);
  return end === 0 ? undefined : parseLine(bytes.subarray(start, end - 1));
}

/** Where the last whole line ends: from there on is what comes next. */
export function endOfLines(path: string): number {
  const { end, offset } = findLastLine(path);
  return offset + end;
}

/** `start` and `end` (behind its line end, or 0) are in `bytes`, which begin at `offset` of the file. */
function findLastLine(path: string): { start: number; end: number; bytes: Buffer; offset: number } {
  return withFile(path, 'r', (fd) => {
    const { size } = fstatSync(fd);
    for (let length = 64 * 1024; ; length *= 8) {
      const bytes = Buffer.alloc(Math.min(length, size));
      const offset = size - bytes.length;
      readSync(fd, bytes, 0, bytes.length, offset);
      const last = bytes.lastIndexOf(LINE_END);
      const before = last <= 0 ? -1 : bytes.lastIndexOf(LINE_END, last - 1);
      if (offset === 0 || (last !== -1 && before !== -1))
        return { start: before + 1, end: last + 1, bytes, offset };
    }
  });
}
