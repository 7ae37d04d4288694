/**
 * `mcp-shell-server config init`: asks a person the few questions that matter and writes a settings file in which every
 * other setting stands with its default, commented out.
 */
import { SECTIONS, SETTINGS, type SettingKey, unsetText } from '../../base/config/config.ts';
import { directoryProblem, locatePath, type PathBase } from '../../base/config/paths.ts';
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
export async function askWishes(wishes: Wishes, asker: Asker, base: PathBase): Promise<Answers> {
  const preset = await settle(wishes.preset, parsePreset, {
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
  const network = await settle(wishes.network?.toString(), parseYesNo, {
    about: ['Whether commands have the network: yes or no.'],
    question: 'Network',
    usual: PRESETS[preset].network ? 'yes' : 'no',
    asker,
  });
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

const invalid = (problem: string): ShellServerError => new ShellServerError('PARAM_002', `${problem}.`);

const TRIES = 5;

/** `parse` throws `invalid`: a person is then asked again. */
async function settle<Value>(
  given: string | undefined,
  parse: (typed: string) => Value,
  question: { about: readonly string[]; question: string; usual: string; asker: Asker },
): Promise<Value> {
  const { asker, usual } = question;
  if (given === undefined) asker.say(`\n${question.about.join('\n')}\n`);
  for (let tries = 0; tries < TRIES; tries++) {
    const typed = (given ?? (await asker.ask(question.question, usual))).trim();
    try {
      return parse(typed);
    } catch (error) {
      if (given !== undefined || !(error instanceof ShellServerError)) throw error;
      asker.say(`${error.message}\n`);
    }
  }
  throw invalid(`No valid answer to "${question.question}"`);
}

function parsePreset(typed: string): PresetName {
  const preset = PRESET_NAMES.find((name) => name === typed);
  if (preset !== undefined) return preset;
  throw invalid(`${JSON.stringify(typed)} is none of ${PRESET_NAMES.join(', ')}`);
}

function parseWorkspace(typed: string, base: PathBase): string | undefined {
  if (typed === 'any') return undefined;
  const path = locatePath(typed, base);
  const problem = directoryProblem(path);
  if (problem !== undefined) throw invalid(`${path} ${problem}`);
  return path;
}

function parseYesNo(typed: string): boolean {
  const isYes = /^(?:y|yes|true|on)$/i.test(typed);
  if (!isYes && !/^(?:n|no|false|off)$/i.test(typed)) throw invalid('Say yes or no');
  return isYes;
}

function parseExpose(typed: string): readonly string[] {
  const names = typed.split(',').map((name) => name.trim());
  const exposed = names.filter((name) => name !== '' && name !== 'none');
  const unknown = exposed.find((name) => !Object.hasOwn(EXPOSURES, name) && !/[/~]/.test(name));
  if (unknown === undefined) return exposed;
  const known = Object.keys(EXPOSURES).join(', ');
  throw invalid(`${JSON.stringify(unknown)} is neither a path nor one of ${known}`);
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
  const values = new Map<SettingKey, string>([
    ['tools', `list of toolsets (${toolNames.join(', ')}) and single tools`],
    ['security.expose', `list of names (${Object.keys(EXPOSURES).join(', ')}) and paths`],
  ]);
  const blocks = Array.from(SECTIONS, ([section, keys]) => {
    const settings = Array.from(keys, ([name, key]) =>
      renderSetting(name, key, { chosen, preset, values: values.get(key) }),
    );
    return [...(section === undefined ? [] : [`[${section}]`]), settings.join('\n\n')].join('\n');
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
  name: string,
  key: SettingKey,
  file: {
    readonly chosen: ReadonlyMap<SettingKey, unknown>;
    readonly preset: PresetName;
    readonly values: string | undefined;
  },
): string {
  const { description, default: constant, presets } = SETTINGS[key];
  const unset = unsetText(key);
  const usual = constant ?? presets?.[file.preset];
  const about = [
    ...wrap(`${description}${constant === undefined && unset !== undefined ? ` Default: ${unset}.` : ''}`),
    ...wrap(`Values: ${file.values ?? SETTINGS[key].values}.`),
  ];
  const assigned = file.chosen.has(key)
    ? `${tomlKey(name)} = ${tomlValue(file.chosen.get(key))}`
    : `# ${name} = ${usual === undefined ? '' : tomlValue(usual)}`.trimEnd();
  return [...about, assigned].join('\n');
}
