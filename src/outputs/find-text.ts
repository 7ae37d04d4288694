/** Finding plain text in bytes, by the two of its bytes that are rarest there. */
import { byteKernel, type Pair } from './byte-kernel.ts';

/** The first place of the text from `from` on; -1 where there is none. */
export type FindText = (bytes: Buffer, from: number) => number;

/** Of the bytes that are looked at to know which are rare. */
const SAMPLE_BYTES = 16 * 1024;

export function createFindText(text: Buffer): FindText {
  const kernel = byteKernel();
  if (kernel === undefined || text.length < 2) return (bytes, from) => bytes.indexOf(text, from);
  let pair: Pair | undefined;
  return (bytes, from) => {
    pair ??= rarestPair(text, bytes.subarray(0, SAMPLE_BYTES));
    const to = bytes.length - text.length + 1;
    let at = from;
    while (at < to) {
      at = kernel.findPair(bytes, at, to, pair);
      if (at === -1 || isAt(bytes, at, text)) return at;
      at++;
    }
    return -1;
  };
}

function isAt(bytes: Buffer, at: number, text: Buffer): boolean {
  for (let index = 0; index < text.length; index++) if (bytes[at + index] !== text[index]) return false;
  return true;
}

function rarestPair(text: Buffer, sample: Buffer): Pair {
  const counts = new Uint32Array(256);
  for (const byte of sample) counts[byte] = (counts[byte] ?? 0) + 1;
  const rarity = (index: number): number => counts[text[index] ?? 0] ?? 0;
  const [first = 0, second = 0] = [...text.keys()].sort((a, b) => rarity(a) - rarity(b));
  return { bytes: [text[first] ?? 0, text[second] ?? 0], distances: [first, second] };
}
