/** `mcp-shell-server config show`: every setting, what holds, and who said so. */
import {
  type LoadedSettings,
  SETTING_KEYS,
  SETTINGS,
  type SettingKey,
  type Source,
} from '../../base/config/config.ts';
import { tomlValue } from './toml-value.ts';

export interface ShownSetting {
  readonly key: SettingKey;
  /** Absent where nobody set it and the default is found out. */
  readonly value?: unknown;
  readonly source: Source;
  readonly where?: string;
}

export function listSettings({ values, origins }: LoadedSettings): ShownSetting[] {
  return SETTING_KEYS.map((key) => ({
    key,
    ...(values[key] !== undefined && { value: values[key] }),
    ...origins[key],
  }));
}

/** As a settings file would say it, so that a part of it can be pasted into one. */
export function renderSettings(loaded: LoadedSettings): string {
  const shown = listSettings(loaded).map((setting) => ({ ...splitKey(setting.key), ...setting }));
  const sections = [...new Set(shown.map(({ section }) => section))];
  const blocks = sections.map((section) => {
    const rows = shown.filter((setting) => setting.section === section);
    const lines = rows.map(({ name, key, value, source, where }) => {
      if (value === undefined)
        return { text: `# ${name}`, about: (SETTINGS[key].unset ?? 'not set').replaceAll('`', '') };
      const about =
        source === 'default' ? 'default' : `${SOURCES[source]}${where === undefined ? '' : ` ${where}`}`;
      return { text: `${name} = ${tomlValue(value)}`, about };
    });
    const width = Math.min(48, Math.max(...lines.map(({ text }) => text.length)));
    const body = lines.map(({ text, about }) => `${text.padEnd(width)}  # ${about}`);
    return [...(section === '' ? [] : [`[${section}]`]), ...body].join('\n');
  });
  const warnings = loaded.warnings.map((warning) => `# warning: ${warning}`);
  return `${[...blocks, ...(warnings.length === 0 ? [] : [warnings.join('\n')])].join('\n\n')}\n`;
}

const SOURCES: Readonly<Record<Exclude<Source, 'default'>, string>> = {
  flag: 'flag',
  environment: 'environment',
  file: 'file',
  project: 'project',
  user: 'user',
};

function splitKey(key: string): { section: string; name: string } {
  const dot = key.indexOf('.');
  return { section: dot === -1 ? '' : key.slice(0, dot), name: key.slice(dot + 1) };
}
