/** Finding plain text in bytes, by those of its bytes that are rarest there. */
import { byteKernel, type Mark, type Marks } from './byte-kernel.ts';

/** The first place of the text from `from` on; -1 where there is none. */
export type FindText = (bytes: Buffer, from: number) => number;

/** Of the bytes that are looked at to know which are rare. */
const SAMPLE_BYTES = 16 * 1024;

export function createFindText(text: Buffer): FindText {
  const kernel = byteKernel();
  if (kernel === undefined || text.length < 2) return (bytes, from) => bytes.indexOf(text, from);
  let marks: Marks | undefined;
  return (bytes, from) => {
    marks ??= rarestMarks(text, bytes.subarray(0, SAMPLE_BYTES));
    const to = bytes.length - text.length + 1;
    let at = from;
    while (at < to) {
      at = kernel.find(bytes, at, to, marks);
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

/** In a text of fewer than four bytes the last one stands for those that are missing. */
function rarestMarks(text: Buffer, sample: Buffer): Marks {
  const counts = new Uint32Array(256);
  for (const byte of sample) counts[byte] = (counts[byte] ?? 0) + 1;
  const rarity = (mark: Mark): number => counts[mark.byte] ?? 0;
  const marks = [...text].map((byte, distance) => ({ distance, byte })).sort((a, b) => rarity(a) - rarity(b));
  const last = { distance: text.length - 1, byte: text[text.length - 1] ?? 0 };
  const [a = last, b = last, c = last, d = last] = marks;
  return [a, b, c, d];
}
