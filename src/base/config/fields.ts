/** The field of Settings that each entry of the table becomes: its name, its type, and its place among the others. */
import type { Kind } from './kinds.ts';

type Camel<Text extends string> = Text extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Text;

/** In its section: `metrics.host` for `http.metrics_host`. */
export type FieldName<Key, Entry> = Entry extends { readonly field: infer Name extends string }
  ? Name
  : Key extends `${string}.${infer Name}`
    ? Camel<Name>
    : Camel<Key & string>;

type FieldPath<Key, Entry> = Key extends `${infer Section}.${string}`
  ? `${Camel<Section>}.${FieldName<Key, Entry>}`
  : FieldName<Key, Entry>;

/** A number without a default is a limit, which may be absent under every preset. */
export type FieldValue<Entry> =
  Entry extends Kind<infer _Value, infer Field>
    ? Entry extends { readonly default: unknown }
      ? Field
      : Entry extends { readonly presets: unknown }
        ? Field | (Field extends number ? undefined : never)
        : Field | undefined
    : never;

/** The fields of a table, nested by the dots of their paths. */
export type FieldsOf<Table> = Nested<{
  [Key in keyof Table as FieldPath<Key, Table[Key]>]: FieldValue<Table[Key]>;
}>;

type Nested<Flat> = {
  readonly [Head in HeadOf<keyof Flat>]: Head extends keyof Flat ? Flat[Head] : Nested<Below<Flat, Head>>;
};
type HeadOf<Path> = Path extends `${infer Head}.${string}` ? Head : Path & string;
type Below<Flat, Head extends string> = {
  [Path in keyof Flat as Path extends `${Head}.${infer Rest}` ? Rest : never]: Flat[Path];
};

const camel = (text: string): string =>
  text.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The table of a TOML file that holds the key (undefined: none), and its name there. */
export function splitKey(key: string): readonly [section: string | undefined, name: string] {
  const dot = key.indexOf('.');
  return dot === -1 ? [undefined, key] : [key.slice(0, dot), key.slice(dot + 1)];
}

/** As FieldName says. */
export function fieldName(key: string, { field }: { readonly field?: string }): string {
  return field ?? camel(splitKey(key)[1]);
}

/** Puts the value where FieldsOf says. */
export function placeField(
  fields: Record<string, unknown>,
  key: string,
  entry: { readonly field?: string },
  value: unknown,
): void {
  const [section] = splitKey(key);
  const path = [...(section === undefined ? [] : [camel(section)]), ...fieldName(key, entry).split('.')];
  let place = fields;
  for (const name of path.slice(0, -1)) place = (place[name] ??= {}) as Record<string, unknown>;
  place[path.at(-1) ?? ''] = value;
}
