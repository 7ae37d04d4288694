import { nearest } from '../base/nearest.ts';

/** What was probably meant: a slip of the keyboard, else a name that holds the typed one or is held by it. */
export function suggest(typed: string, candidates: readonly string[]): string | undefined {
  const slip = nearest(typed, candidates);
  if (slip !== undefined) return slip;
  const wanted = typed.toLowerCase();
  if (wanted.length < 3) return undefined;
  return (
    candidates.find((candidate) => candidate.startsWith(wanted)) ??
    candidates.find((candidate) => candidate.includes(wanted) || wanted.includes(candidate))
  );
}
