import { LIMITS } from '../base/limits.ts';

/** What a caller typed, for an error message: in quotes, control characters escaped, and not longer than a line. */
export function quote(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(clip(value)) : clip(String(value));
}

export function clip(text: string): string {
  return text.length > LIMITS.quotedCharacters ? `${text.slice(0, LIMITS.quotedCharacters)}…` : text;
}
