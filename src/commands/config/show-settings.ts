/** `mcp-shell-server config show`: every setting, the value in force, and where it comes from. */
import { resolve } from 'node:path';
import {
  hasAllowList,
  type LoadedSettings,
  ownList,
  SECTIONS,
  SETTING_KEYS,
  SETTINGS,
  type SettingKey,
  type Source,
} from '../../base/config/config.ts';
import { PRESET_COMMANDS } from '../../security/security.ts';
import { chooseShells } from '../../security/shells.ts';
import { tomlValue } from './toml-value.ts';

export interface ShownSetting {
  readonly key: SettingKey;
  /** Absent where nothing is set; `about` then says what that means. */
  readonly value?: unknown;
  readonly about?: string;
  readonly source: Source;
  readonly where?: string;
}

/** With files by their absolute paths: mistakes name them as seen from the directory `cwd`. */
export function listSettings(loaded: LoadedSettings, cwd: string): ShownSetting[] {
  const found = findDefaults(loaded);
  return SETTING_KEYS.map((key) => {
    const value = loaded.values[key];
    const { source, where } = loaded.origins[key];
    const isFile = source === 'project' || source === 'user' || source === 'file';
    const origin = { source, ...(where !== undefined && { where: isFile ? resolve(cwd, where) : where }) };
    return value === undefined ? { key, ...origin, ...found[key] } : { key, value, ...origin };
  });
}

type Found = Pick<ShownSetting, 'value' | 'about'> & Partial<Pick<ShownSetting, 'source' | 'where'>>;

const NO_MORE = 'no further commands';

/** Defaults that depend on the machine or on other settings. */
function findDefaults({ settings }: LoadedSettings): Partial<Record<SettingKey, Found>> {
  const { security, environment } = settings;
  const { allowedArguments } = PRESET_COMMANDS[security.preset];
  const isBuiltIn = ownList(security) === undefined;
  const isListed = hasAllowList(security);
  const allowsAll = isListed ? undefined : 'all commands';
  const usesPreset = security.mode === undefined && isBuiltIn && allowedArguments !== undefined;
  const shell = chooseShells(undefined, environment['SHELL']).forCommands;
  return {
    shell: {
      value: shell,
      ...(shell === environment['SHELL'] && { source: 'environment', where: 'SHELL' }),
    },
    'security.allowed_commands': {
      about: allowsAll ?? (usesPreset ? NO_MORE : 'the built-in reading commands'),
    },
    'security.allowed_arguments': usesPreset
      ? { value: allowedArguments, source: 'preset', where: security.preset }
      : { about: allowsAll ?? NO_MORE },
    'security.allow_writes': isListed
      ? { value: !isBuiltIn && !security.extendsAllowed }
      : { about: 'there is no allow-list' },
    'security.allowed_directories': {
      about: `commands run anywhere, and write in ${security.workspace.join(', ')}`,
    },
  };
}

/** As a settings file would say it, so that a part of it can be pasted into one. */
export function renderSettings(loaded: LoadedSettings, cwd: string): string {
  const shown = new Map(listSettings(loaded, cwd).map((setting) => [setting.key, setting]));
  const blocks = Array.from(SECTIONS, ([section, keys]) => {
    const lines = Array.from(keys, ([name, key]) => {
      const { value, source = 'default', where, about = withoutValue(key) } = shown.get(key) ?? {};
      if (value === undefined) return { text: `# ${name}`, about };
      const text = `${name} = ${tomlValue(value)}`;
      return { text, about: where === undefined ? source : `${source} ${where}` };
    });
    const width = Math.min(48, Math.max(...lines.map(({ text }) => text.length)));
    const body = lines.map(({ text, about }) => `${text.padEnd(width)}  # ${about}`);
    return [...(section === undefined ? [] : [`[${section}]`]), ...body].join('\n');
  });
  const warnings = [...loaded.warnings, ...loaded.withoutEffect].map((warning) => `# warning: ${warning}`);
  return `${[...blocks, ...(warnings.length === 0 ? [] : [warnings.join('\n')])].join('\n\n')}\n`;
}

/** A preset without a value of its own sets no limit. */
const withoutValue = (key: SettingKey): string => SETTINGS[key].unset?.replaceAll('`', '') ?? 'no limit';
