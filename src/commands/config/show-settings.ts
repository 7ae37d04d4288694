/** `mcp-shell-server config show`: every setting, the value in force, and where it comes from. */
import { resolve } from 'node:path';
import {
  BY_PRESET,
  type LoadedSettings,
  modeOf,
  ownList,
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
  const mode = modeOf(security);
  const isBuiltIn = ownList(security) === undefined;
  const hasAllowList = mode === 'restrictive' || (mode === 'custom' && !isBuiltIn);
  const allowsAll = hasAllowList ? undefined : 'all commands';
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
    'security.allow_writes': hasAllowList
      ? { value: !isBuiltIn && !security.extendsAllowed }
      : { about: 'there is no allow-list' },
    'security.allowed_directories': {
      about: `commands run anywhere, and write in ${security.workspace.join(', ')}`,
    },
  };
}

/** As a settings file would say it, so that a part of it can be pasted into one. */
export function renderSettings(loaded: LoadedSettings, cwd: string): string {
  const shown = listSettings(loaded, cwd).map((setting) => ({ ...splitKey(setting.key), ...setting }));
  const sections = [...new Set(shown.map(({ section }) => section))];
  const blocks = sections.map((section) => {
    const rows = shown.filter((setting) => setting.section === section);
    const lines = rows.map(({ name, key, value, source, where, about }) =>
      value === undefined
        ? { text: `# ${name}`, about: about ?? unsetText(key) }
        : {
            text: `${name} = ${tomlValue(value)}`,
            about: where === undefined ? source : `${source} ${where}`,
          },
    );
    const width = Math.min(48, Math.max(...lines.map(({ text }) => text.length)));
    const body = lines.map(({ text, about }) => `${text.padEnd(width)}  # ${about}`);
    return [...(section === '' ? [] : [`[${section}]`]), ...body].join('\n');
  });
  const warnings = [...loaded.warnings, ...loaded.withoutEffect].map((warning) => `# warning: ${warning}`);
  return `${[...blocks, ...(warnings.length === 0 ? [] : [warnings.join('\n')])].join('\n\n')}\n`;
}

/** A preset without a value of its own sets no limit. */
function unsetText(key: SettingKey): string {
  const { unset } = SETTINGS[key];
  return unset === undefined || unset === BY_PRESET ? 'no limit' : unset.replaceAll('`', '');
}

function splitKey(key: string): { section: string; name: string } {
  const dot = key.indexOf('.');
  return { section: dot === -1 ? '' : key.slice(0, dot), name: key.slice(dot + 1) };
}
