/**
 * The schema of a settings file, put together from the table.
 */
import { splitKey } from './fields.ts';
import { SETTING_KEYS, SETTINGS, type SettingKey } from './keys.ts';
import { below, isTable, type JsonSchema, type Problem } from './shapes.ts';

export interface DocumentProblem extends Problem {
  /** There is no such key. */
  readonly isUnknown?: true;
}

/** Every key is optional and none is unknown. Checks what a TOML file holds, before paths are located. */
export function checkDocument(document: Readonly<Record<string, unknown>>): DocumentProblem[] {
  return Object.entries(document).flatMap(([name, value]): DocumentProblem[] => {
    const keys = SECTIONS.get(name);
    if (keys === undefined) return checkKey(undefined, name, value);
    if (!isTable(value)) return [{ path: [name], message: 'must be a table', input: value }];
    return Object.entries(value).flatMap(([inner, each]) =>
      checkKey(name, inner, each).map((problem) => ({ ...problem, path: [name, ...problem.path] })),
    );
  });
}

function checkKey(section: string | undefined, name: string, value: unknown): DocumentProblem[] {
  const key = SECTIONS.get(section)?.get(name);
  if (key === undefined) return [{ path: [name], message: 'unknown key', input: value, isUnknown: true }];
  return below(name, SETTINGS[key].shape.check(value));
}

/** Published, for editors and for programs that write the file. */
export function settingsJsonSchema(): Record<string, unknown> {
  const properties: Record<string, JsonSchema> = {};
  for (const [section, keys] of SECTIONS) {
    const described = Object.fromEntries([...keys].map(([name, key]) => [name, documented(key)]));
    if (section === undefined) Object.assign(properties, described);
    else properties[section] = { type: 'object', properties: described, additionalProperties: false };
  }
  return {
    title: 'mcp-shell-server.toml',
    description: 'Settings of mcp-shell-server.',
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties,
    additionalProperties: false,
  };
}

function documented(key: SettingKey): JsonSchema {
  const { shape, description, default: value } = SETTINGS[key];
  return { ...shape.json, description, ...(value === undefined ? {} : { default: value }) };
}

/** The keys of each table by their names there; those outside of any table first. */
export const SECTIONS: ReadonlyMap<string | undefined, ReadonlyMap<string, SettingKey>> = groupKeys();

function groupKeys(): Map<string | undefined, Map<string, SettingKey>> {
  const sections = new Map<string | undefined, Map<string, SettingKey>>();
  for (const key of SETTING_KEYS) {
    const [section, name] = splitKey(key);
    const keys = sections.get(section) ?? new Map<string, SettingKey>();
    sections.set(section, keys.set(name, key));
  }
  return sections;
}
