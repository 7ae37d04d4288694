/**
 * `mcp-shell-server config init`: asks a person the few questions that matter and writes a settings file in which every
 * other setting stands with its default, commented out.
 */
import { presetValues, SETTING_KEYS, SETTINGS, type SettingKey } from '../../base/config/config.ts';
import { directoryProblem, locatePath } from '../../base/config/paths.ts';
import { PRESET_NAMES, PRESETS, type PresetName } from '../../base/config/presets.ts';
import { ShellServerError } from '../../base/errors.ts';
import { EXPOSURES } from '../../security/security.ts';
import type { Asker } from '../ask.ts';
import { wrapText } from '../paint.ts';
import { tomlKey, tomlValue } from './toml-value.ts';

export interface Wishes {
  readonly preset?: string | undefined;
  readonly workspace?: string | undefined;
  readonly network?: boolean | undefined;
  readonly expose?: string | undefined;
}

export interface Answers {
  readonly preset: PresetName;
  /** undefined: wherever the server is started. */
  readonly workspace: string | undefined;
  readonly network: boolean;
  readonly expose: readonly string[];
}

const ABOUT: Readonly<Record<PresetName, string>> = {
  development: 'all commands, network, your files without credentials (default)',
  sandbox: 'all commands, no network, only the workspace and /tmp',
  production: 'a list of reading commands, no network, only the workspace',
  minimal: 'a few commands of npm, git and ls, no network, 30 seconds',
};

/** What was said on the command line is not asked; without anybody to ask, the default holds. */
export async function askWishes(
  wishes: Wishes,
  asker: Asker,
  base: { readonly directory: string; readonly homedir: string },
): Promise<Answers> {
  const preset = await settle(wishes.preset, (typed) => parsePreset(typed), {
    about: [
      'The preset decides what commands may do:',
      ...PRESET_NAMES.map((name) => `  ${name.padEnd(12)} ${ABOUT[name]}`),
    ],
    question: 'Preset',
    usual: 'development',
    asker,
  });
  const workspace = await settle(wishes.workspace, (typed) => parseWorkspace(typed, base), {
    about: [
      'The workspace is the directory that commands work in and write to.',
      '"any" is wherever the server is started.',
    ],
    question: 'Workspace',
    usual: base.directory,
    asker,
  });
  const network = await settle(
    wishes.network === undefined ? undefined : String(wishes.network),
    parseYesNo,
    {
      about: ['Whether commands have the network: yes or no.'],
      question: 'Network',
      usual: PRESETS[preset].network ? 'yes' : 'no',
      asker,
    },
  );
  const expose = await settle(wishes.expose, parseExpose, {
    about: [
      'Credentials and sockets of yours that commands may use, separated by commas:',
      ...wrapText(`${Object.keys(EXPOSURES).join(', ')}, paths, or none`, 76).map((line) => `  ${line}`),
    ],
    question: 'Expose',
    usual: 'none',
    asker,
  });
  return { preset, workspace, network, expose };
}

/** A parsed value, or what is wrong with it. */
type Parsed<Value> = { readonly value: Value } | { readonly problem: string };

const TRIES = 5;

async function settle<Value>(
  given: string | undefined,
  parse: (typed: string) => Parsed<Value>,
  question: { about: readonly string[]; question: string; usual: string; asker: Asker },
): Promise<Value> {
  const { asker, usual } = question;
  if (given === undefined) asker.say(`\n${question.about.join('\n')}\n`);
  for (let tries = 0; tries < TRIES; tries++) {
    const parsed = parse((given ?? (await asker.ask(question.question, usual))).trim());
    if ('value' in parsed) return parsed.value;
    if (given !== undefined) throw new ShellServerError('PARAM_002', `${parsed.problem}.`);
    asker.say(`${parsed.problem}.\n`);
  }
  throw new ShellServerError('PARAM_002', `No valid answer to "${question.question}".`);
}

function parsePreset(typed: string): Parsed<PresetName> {
  const value = PRESET_NAMES.find((name) => name === typed);
  return value === undefined
    ? { problem: `${JSON.stringify(typed)} is none of ${PRESET_NAMES.join(', ')}` }
    : { value };
}

function parseWorkspace(
  typed: string,
  base: { readonly directory: string; readonly homedir: string },
): Parsed<string | undefined> {
  if (typed === 'any') return { value: undefined };
  const value = locatePath(typed, base);
  const problem = directoryProblem(value);
  return problem === undefined ? { value } : { problem: `${value} ${problem}` };
}

function parseYesNo(typed: string): Parsed<boolean> {
  if (/^(?:y|yes|true|on)$/i.test(typed)) return { value: true };
  return /^(?:n|no|false|off)$/i.test(typed) ? { value: false } : { problem: 'Say yes or no' };
}

function parseExpose(typed: string): Parsed<readonly string[]> {
  const names = typed.split(',').map((name) => name.trim());
  const value = names.filter((name) => name !== '' && name !== 'none');
  const unknown = value.find((name) => !Object.hasOwn(EXPOSURES, name) && !/[/~]/.test(name));
  return unknown === undefined
    ? { value }
    : {
        problem: `${JSON.stringify(unknown)} is neither a path nor one of ${Object.keys(EXPOSURES).join(', ')}`,
      };
}

/**
 * Every setting in the order of the table; those that were answered hold, the others are there to be found. The file of
 * a project sets nothing that it may not: it can only tighten.
 */
export function renderFile(
  { preset, workspace, network, expose }: Answers,
  { isForProject, toolNames }: { isForProject: boolean; toolNames: readonly string[] },
): string {
  const chosen = new Map<SettingKey, unknown>([
    ...(workspace === undefined ? [] : [['default_workdir', workspace] as const]),
    ['security.preset', preset],
    ...(workspace === undefined ? [] : [['security.allowed_directories', [workspace]] as const]),
    // What the preset says already is left to it, and to a stricter one that comes later.
    ...(network === PRESETS[preset].network || (isForProject && network)
      ? []
      : [['security.enable_network', network] as const]),
    ...(isForProject || expose.length === 0 ? [] : [['security.expose', expose] as const]),
  ]);
  const sections = new Map<string, SettingKey[]>();
  for (const key of SETTING_KEYS) {
    const section = key.includes('.') ? key.slice(0, key.indexOf('.')) : '';
    sections.set(section, [...(sections.get(section) ?? []), key]);
  }
  const usual = new Map(presetValues(PRESETS[preset]));
  const values = new Map<SettingKey, string>([
    ['tools', `list of toolsets (${toolNames.join(', ')}) and single tools`],
    ['security.expose', `list of names (${Object.keys(EXPOSURES).join(', ')}) and paths`],
  ]);
  const blocks = [...sections].map(([section, keys]) => {
    const settings = keys.map((key) => renderSetting(key, { chosen, usual, values: values.get(key) }));
    return [...(section === '' ? [] : [`[${section}]`]), settings.join('\n\n')].join('\n');
  });
  return `${HEAD}\n\n${blocks.join('\n\n')}\n`;
}

const WIDTH = 100;
const wrap = (text: string): string[] =>
  wrapText(text.replaceAll('`', ''), WIDTH - 2).map((line) => `# ${line}`);

const HEAD = wrap(
  'Settings of mcp-shell-server. What is commented out shows its default. "mcp-shell-server config show" says what holds and where it came from, "mcp-shell-server doctor" whether it works.',
).join('\n');

function renderSetting(
  key: SettingKey,
  file: {
    readonly chosen: ReadonlyMap<SettingKey, unknown>;
    readonly usual: ReadonlyMap<SettingKey, unknown>;
    readonly values: string | undefined;
  },
): string {
  const { description, default: constant, unset } = SETTINGS[key];
  const name = key.slice(key.indexOf('.') + 1);
  const usual = constant ?? file.usual.get(key);
  const about = [
    ...wrap(`${description}${constant === undefined && unset !== undefined ? ` Default: ${unset}.` : ''}`),
    ...wrap(`Values: ${file.values ?? SETTINGS[key].values}.`),
  ];
  const assigned = file.chosen.has(key)
    ? `${tomlKey(name)} = ${tomlValue(file.chosen.get(key))}`
    : `# ${name} = ${usual === undefined ? '' : tomlValue(usual)}`.trimEnd();
  return [...about, assigned].join('\n');
}
