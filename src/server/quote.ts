import { LIMITS } from '../base/limits.ts';

/** What a caller typed, for an error message: in quotes, control characters escaped, and not longer than a line. */
export function quote(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(clip(value)) : clip(String(value));
}

/** Some messages are compared letter by letter by clients, and have no full stop. */
export const closed = (sentence: string): string => (/[.?!]$/.test(sentence) ? sentence : `${sentence}.`);

export function clip(text: string): string {
  return text.length > LIMITS.quotedCharacters ? `${text.slice(0, LIMITS.quotedCharacters)}…` : text;
}
