/**
 * Settings, from what was typed to what the server reads: flags, environment, the project's file, the user's file,
 * defaults, in this order. A file that was merely found in the project can only tighten (strictness.ts); the file
 * that `--config` names replaces both files and is the operator's own.
 *
 * Nothing is written and nothing is started here. Every mistake of every source is reported at once, as SYSTEM_003.
 */
import { dirname, resolve } from 'node:path';
import { ShellServerError } from '../errors.ts';
import { findSettingsFiles } from './find-files.ts';
import { readFlagLayer } from './flags.ts';
import { readEnvironmentLayer } from './from-environment.ts';
import type { SettingFlags } from './kinds.ts';
import type { Layer, Mistakes } from './layers.ts';
import { realPathOf } from './paths.ts';
import { type LoadedSettings, resolveSettings } from './resolve.ts';
import type { Toolsets } from './strictness.ts';
import { readSettingsFile } from './toml-file.ts';
import { unknownTools } from './tool-names.ts';

export { SETTINGS_FILE_NAME } from './find-files.ts';
export { readEnvironment } from './from-environment.ts';
export { hasAllowList, ownList } from './in-force.ts';
export {
  flagOf,
  OTHER_VARIABLES,
  SETTING_KEYS,
  SETTINGS,
  type SettingKey,
  unsetText,
  variablesOf,
} from './keys.ts';
export type { Setting, SettingFlags } from './kinds.ts';
export type { Source } from './layers.ts';
export { userConfigDirectory } from './paths.ts';
export type { LoadedSettings, Origin } from './resolve.ts';
export { SECTIONS, settingsJsonSchema } from './schema.ts';
export { operatorOnly, type Toolsets } from './strictness.ts';
export { checkSettingsText } from './toml-file.ts';

export interface SettingsInput {
  readonly flags: SettingFlags;
  readonly environment: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly homedir: string;
  readonly platform?: NodeJS.Platform;
  /** Where given, unknown names in `tools` are mistakes, and a project's file may pick single tools of a set. */
  readonly toolsets?: Toolsets;
}

export function loadSettings(input: SettingsInput): LoadedSettings {
  const { flags, environment, homedir, toolsets, platform = process.platform } = input;
  const cwd = resolve(input.cwd);
  const mistakes: Mistakes = [];
  const base = { directory: cwd, homedir };

  const layers: Layer[] = [
    readFlagLayer(flags, { base, mistakes }),
    readEnvironmentLayer(environment, { base, mistakes }),
  ];
  let projectDirectory: string | undefined;
  const files: string[] = [];
  for (const file of findSettingsFiles({ flags, environment, cwd, homedir, mistakes })) {
    layers.push(readSettingsFile(file, { cwd, homedir, mistakes }));
    if (file.source === 'project') projectDirectory = realPathOf(dirname(file.path));
    else files.push(file.path);
  }
  if (toolsets !== undefined) mistakes.push(...unknownTools(layers, toolsets));

  const resolved = resolveSettings(layers, {
    cwd,
    homedir,
    environment,
    platform,
    toolsets,
    projectDirectory,
    files,
    mistakes,
  });
  if (mistakes.length > 0) throw mistakesError(mistakes);
  return resolved;
}

function mistakesError(mistakes: readonly string[]): ShellServerError {
  const [first = ''] = mistakes;
  const message =
    mistakes.length === 1
      ? first
      : `${mistakes.length} mistakes in the settings:\n${mistakes.map((one) => `  ${one}`).join('\n')}`;
  return new ShellServerError('SYSTEM_003', message, { hint: hintFor(mistakes), details: { mistakes } });
}

/** By where they are: a mistake ends with its place. */
function hintFor(mistakes: readonly string[]): string {
  const [, absent] = /^(.+): the settings file cannot be read: ENOENT$/.exec(mistakes[0] ?? '') ?? [];
  if (absent !== undefined && mistakes.length === 1)
    return `Name a file that exists, or write it with \`mcp-shell-server --config ${absent} config init\`.`;
  const all = (place: RegExp): boolean => mistakes.every((mistake) => place.test(mistake));
  if (all(/\(--[\w-]+\)$/)) return 'Correct what was typed.';
  if (all(/\(MCP_SHELL_\w+(?:, \w+)*\)$|\(environment\)$/)) return 'Correct the variable, or unset it.';
  return 'Correct the named key, then start again.';
}
