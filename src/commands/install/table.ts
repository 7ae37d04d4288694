/** What a settings file holds, whatever its language. */
export type Table = Readonly<Record<string, unknown>>;

/** Says why a file is left as it is. */
export class EditRefused extends Error {}
