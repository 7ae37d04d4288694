/** What a settings file holds, whatever its language. */
export type Table = Readonly<Record<string, unknown>>;

export function isTable(value: unknown): value is Table {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** Says why a file is left as it is. */
export class EditRefused extends Error {}
