/**
 * The schema of a settings file, put together from the table.
 */
import { z } from 'zod';
import { SETTING_KEYS, SETTINGS } from './keys.ts';

/** Every key is optional and none is unknown. Validates what a TOML file holds, before paths are located. */
export function createSettingsSchema(): z.ZodObject {
  const top: Record<string, z.ZodType> = {};
  const sections = new Map<string, Record<string, z.ZodType>>();
  for (const key of SETTING_KEYS) {
    const setting = SETTINGS[key];
    const documented = setting.schema.meta({
      description: setting.description,
      ...(setting.default === undefined ? {} : { default: setting.default }),
    });
    const [section, name] = splitKey(key);
    if (section === undefined) {
      top[name] = documented.optional();
      continue;
    }
    const shape = sections.get(section) ?? {};
    shape[name] = documented.optional();
    sections.set(section, shape);
  }
  for (const [section, shape] of sections) {
    top[section] = z.strictObject(shape, { error: 'must be a table' }).optional();
  }
  return z.strictObject(top);
}

/** Published, for editors and for whoever writes a file with a program. */
export function settingsJsonSchema(): Record<string, unknown> {
  return {
    title: 'mcp-shell-server.toml',
    description: 'Settings of mcp-shell-server.',
    ...z.toJSONSchema(createSettingsSchema(), { io: 'input' }),
  };
}

/** The table of a TOML file that holds the key (undefined: none), and its name there. */
export function splitKey(key: string): readonly [section: string | undefined, name: string] {
  const dot = key.indexOf('.');
  return dot === -1 ? [undefined, key] : [key.slice(0, dot), key.slice(dot + 1)];
}
