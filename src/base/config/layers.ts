/**
 * What one source (the flags, the environment, a file) says, key by key, and how its mistakes are worded.
 */
import { SETTINGS, type SettingKey, type SettingValues } from './keys.ts';
import type { PathBase } from './paths.ts';

export type Source = 'flag' | 'environment' | 'project' | 'user' | 'file' | 'preset' | 'default';

export interface Entry<Value> {
  /** Judged by the key's shape, and located. */
  readonly value: Value;
  /** The flag, the variable, or the file with its line. */
  readonly where: string;
}

export type Entries = { [Key in SettingKey]?: Entry<SettingValues[Key]> };

export interface Layer {
  readonly source: Exclude<Source, 'default' | 'preset'>;
  readonly entries: Readonly<Entries>;
}

/** Gathers sentences, so that all mistakes are reported at once. */
export type Mistakes = string[];

export function mistake(subject: string, what: string, where: string): string {
  return `${subject}: ${what} (${where})`;
}

export interface Typed<Key extends SettingKey> {
  readonly key: Key;
  readonly where: string;
  readonly base: PathBase;
}

/** Judges a value and enters it; the sentence that says what is wrong with it otherwise. */
export function enterValue<Key extends SettingKey>(
  entries: Entries,
  value: unknown,
  { key, where, base }: Typed<Key>,
): string | undefined {
  const setting = SETTINGS[key];
  const [problem] = setting.shape.check(value);
  if (problem !== undefined) return withGot(problem.message, problem.input);
  const entry: Entry<SettingValues[Key]> = {
    value: setting.locate(value as SettingValues[Key], base),
    where,
  };
  Object.assign(entries, { [key]: entry });
  return undefined;
}

/** Enters what the text of a variable or of a flag means. */
export function enterText<Key extends SettingKey>(
  entries: Entries,
  text: string,
  typed: Typed<Key> & { readonly mistakes: Mistakes },
): void {
  const trimmed = text.trim();
  // An unset shell variable must not lift a restriction, so that empty is not the same as absent.
  const problem =
    trimmed === ''
      ? 'must not be empty; leave it out instead'
      : enterValue(entries, SETTINGS[typed.key].fromText(trimmed), typed);
  if (problem !== undefined) typed.mistakes.push(mistake(typed.key, problem, typed.where));
}

/** The message of a shape with the value that broke it. */
export function withGot(message: string, value: unknown): string {
  if (value === '' || (Array.isArray(value) && value.length === 0)) return message;
  const shown = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? typeof value);
  return `${message}, got ${shown.length > 60 ? `${shown.slice(0, 60)}…` : shown}`;
}
