/** Tables of words stay readable: one row a line, and one row for all that have the same value. */

/** `list('a b')`: its words. */
export const list = (text: string): readonly string[] => text.trim().split(/\s+/);

/** The same as a set. */
export const setOf = (text: string): ReadonlySet<string> => new Set(list(text));

/** `phrases('a b, c')`: what stands between the commas. */
export const phrases = (text: string): readonly string[] => text.trim().split(/,\s+/);

/** `{ 'awk gawk': x }`: the value of each of these names. */
export function byName<Value>(rows: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  return Object.fromEntries(
    Object.entries(rows).flatMap(([names, value]) => list(names).map((name) => [name, value])),
  );
}
