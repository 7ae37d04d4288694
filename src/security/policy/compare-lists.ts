/** Which of two lists of commands allows more. */
import { type CompiledEntry, compileEntry } from './list-entry.ts';
import { type Allowed, rowsOf } from './policy.ts';
import type { Entry } from './policy-types.ts';

/** Entries of the second that the first does not cover. */
export function looserThan(
  had: Allowed | undefined,
  asked: Allowed,
): (readonly ['allowedCommands' | 'allowedArguments', string])[] {
  if (had === undefined) return [];
  const all = [
    ...asked.entries.map((entry) => ['allowedCommands', sourceOf(entry)] as const),
    ...rowsOf(asked.table).map(({ source }) => ['allowedArguments', source] as const),
  ];
  return all.filter(([, source]) => !isCovered(source, had));
}

/** What both allow: entries of either that the other covers. */
export function intersect(one: Allowed, other: Allowed): Allowed {
  const covered = (from: Allowed, by: Allowed): Entry[] =>
    from.entries.filter((entry) => isCovered(sourceOf(entry), by));
  const rows = (from: Allowed, by: Allowed): [string, readonly string[]][] =>
    Object.entries(from.table).flatMap(([name, list]): [string, readonly string[]][] => {
      if (list.length === 0) return isCovered(name, by) ? [[name, []]] : [];
      const left = list.filter((word) => isCovered(`${name} ${word}`, by));
      return left.length === 0 ? [] : [[name, left]];
    });
  const entries = [...new Set([...covered(one, other), ...covered(other, one)])];
  return {
    entries,
    table: Object.fromEntries([...rows(one, other), ...rows(other, one)]),
    isBuiltIn: one.isBuiltIn && other.isBuiltIn,
  };
}

function isCovered(source: string, by: Allowed): boolean {
  if (by.entries.some((entry) => sourceOf(entry).trim() === source.trim())) return true;
  const asked = compileEntry(source, 'allowed_commands');
  if ('problem' in asked || asked.name === undefined || source.trim().startsWith('/')) return false;
  const isBeginning = (entry: CompiledEntry): boolean =>
    entry.name === asked.name && entry.words.every((word, index) => asked.words[index] === word);
  const entries = by.entries.map((entry) => compileEntry(sourceOf(entry), 'allowed_commands'));
  const isPlain = (entry: CompiledEntry): boolean => !entry.source.trim().startsWith('/');
  if (entries.some((entry) => !('problem' in entry) && isPlain(entry) && isBeginning(entry))) return true;
  const row = Object.entries(by.table).find(
    ([name]) => name.toLowerCase() === asked.name?.toLowerCase(),
  )?.[1];
  return row !== undefined && (row.length === 0 || row.includes(asked.words[0] ?? ''));
}

function sourceOf(entry: Entry): string {
  return typeof entry === 'string' ? entry : entry.entry;
}
