/**
 * Ids: a prefix that says what it names, and 119 random bits. Never a path, never a pid. Models read and write them:
 * letters alone are a fifth fewer tokens than letters and digits.
 */
import { randomFillSync } from 'node:crypto';

/** 32 symbols without the ones that are easily confused (0, 1, l, o). Ids of earlier versions have digits too. */
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';
const LETTERS = 24;
const LENGTH = 26;

export type IdPrefix =
  | 'exec'
  | 'out'
  | 'term'
  | 'mon'
  | 'rst'
  | 'req'
  | 'inst'
  | 'question'
  | 'secret'
  | 'grant';

/** Random bytes that nobody has used: to ask for many takes as long as to ask for a few. */
const unused = Buffer.alloc(4096);
let used = unused.length;

function randomByte(): number {
  if (used === unused.length) {
    randomFillSync(unused);
    used = 0;
  }
  const byte = unused[used] as number;
  // What was used is kept nowhere but where it was used.
  unused[used++] = 0;
  return byte;
}

export function createId(prefix: IdPrefix): string {
  let text = '';
  while (text.length < LENGTH) {
    const byte = randomByte();
    // Others would make some letters likelier.
    if (byte < LETTERS * 10) text += ALPHABET[byte % LETTERS];
  }
  return `${prefix}_${text}`;
}

/** 130 random bits without a prefix, for markers and nonces. */
export function randomText(): string {
  let text = '';
  while (text.length < LENGTH) text += ALPHABET[randomByte() & 31];
  return text;
}

/** Of another thing with the same random part: a terminal and its execution. */
export function renameId(id: string, prefix: IdPrefix): string {
  return `${prefix}_${id.slice(id.indexOf('_') + 1)}`;
}

export function isId(prefix: IdPrefix, value: string): boolean {
  return new RegExp(`^${prefix}_[${ALPHABET}]{${LENGTH}}$`).test(value);
}
