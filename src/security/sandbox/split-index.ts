/**
 * What git writes into an index that is split: the other file, and which of that one's entries the first entries of this one
 * replace. Those have no names of their own.
 */

export interface SplitIndex {
  /** The end of the other file's name. */
  readonly base: string;
  /** Positions in the other file, in the order of the entries that replace them. */
  readonly replaced: readonly number[];
}

/** More than there are entries of which names are looked for. */
const MAX_BITS = 1_000_000;
const WORD_BYTES = 8;

/** Throws where it is none. `bytes` is what the extension holds. */
export function parseSplitIndex(bytes: Buffer, hashBytes: number): SplitIndex {
  const base = bytes.toString('hex', 0, hashBytes);
  if (bytes.length === hashBytes) return { base, replaced: [] };
  const deleted = parseBitmap(bytes, hashBytes);
  return { base, replaced: parseBitmap(bytes, deleted.end).positions };
}

/** A bitmap that is compressed as EWAH: runs of words that are alike, each with the words that follow as they are. */
function parseBitmap(bytes: Buffer, at: number): { readonly positions: number[]; readonly end: number } {
  const bits = bytes.readUInt32BE(at);
  const words = bytes.readUInt32BE(at + 4);
  if (bits > MAX_BITS) throw new RangeError('the bitmap is too large');
  const positions: number[] = [];
  let bit = 0;
  for (let word = 0; word < words; ) {
    const [high, low] = wordAt(bytes, at, word++);
    const runEnd = bit + ((high & 1) * 2 ** 31 + (low >>> 1)) * 64;
    if ((low & 1) === 1) for (let each = bit; each < Math.min(runEnd, bits); each++) positions.push(each);
    bit = runEnd;
    for (let literals = high >>> 1; literals > 0 && word < words; literals--, bit += 64) {
      const halves = wordAt(bytes, at, word++).toReversed();
      for (const [half, value] of halves.entries())
        for (let each = 0; each < 32; each++)
          if (((value >>> each) & 1) === 1) positions.push(bit + half * 32 + each);
    }
  }
  return { positions, end: at + 8 + words * WORD_BYTES + 4 };
}

function wordAt(bytes: Buffer, at: number, word: number): readonly [high: number, low: number] {
  const start = at + 8 + word * WORD_BYTES;
  return [bytes.readUInt32BE(start), bytes.readUInt32BE(start + 4)];
}
