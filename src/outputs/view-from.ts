/** The part of a source from one offset to another, as a source of its own. */
import type { ByteSource } from './types.ts';

export function viewFrom(source: ByteSource, from: number, to: number): ByteSource {
  const start = Math.min(Math.max(0, from), to);
  return {
    size: () => to - start,
    gaps: () =>
      source.gaps().flatMap((gap) => {
        const part = { from: Math.max(gap.from, start) - start, to: Math.min(gap.to, to) - start };
        return part.from < part.to ? [part] : [];
      }),
    read(offset, length, into) {
      const at = Math.max(0, offset);
      const end = Math.min(offset + length, to - start);
      return end <= at ? Buffer.alloc(0) : source.read(start + at, end - at, into);
    },
    // Counted lines are counted from the beginning.
    lineIndex: start === 0 ? source.lineIndex : undefined,
    close: () => undefined,
  };
}
