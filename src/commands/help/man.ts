/** `mcp-shell-server man`: the manual page, written from the program's definition and the table of settings. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import {
  OTHER_VARIABLES,
  SETTING_KEYS,
  SETTINGS,
  SETTINGS_FILE_NAME,
  unsetText,
  variablesOf,
} from '../../base/config/config.ts';
import { runInTerminal } from '../../executions/processes.ts';
import { allCommands, type CommandShape, shapeOf } from './shape.ts';

export function renderMan(command: Command, version: string): string {
  const program = shapeOf(command);
  const title = program.name.toUpperCase();
  return [
    `.TH ${roff(title)} 1 "" ${quoted(`${program.name} ${version}`)} "User Commands"`,
    '.SH NAME',
    `${roff(program.name)} \\- an MCP server that runs commands for a model`,
    '.SH SYNOPSIS',
    ...allCommands(program).flatMap((shape) => ['.br', synopsis(program.name, shape)]),
    '.SH DESCRIPTION',
    roff(program.description),
    '.SH OPTIONS',
    ...options(program),
    '.SH COMMANDS',
    ...allCommands(program).slice(1).flatMap(subcommand),
    '.SH SETTINGS',
    roff(
      `Settings are looked for in flags, in the environment, in ${SETTINGS_FILE_NAME} of the project (which can only tighten), in the same file of the user, and in the defaults.`,
    ),
    ...SETTING_KEYS.flatMap((key) => {
      const { description, values, default: usual } = SETTINGS[key];
      const shown = usual === undefined ? unsetText(key) : JSON.stringify(usual);
      return item(
        `.B ${roff(key)}`,
        `${description} ${sentence(values)} Default: ${shown || 'none'}. Variable: ${variablesOf(key).join(', ')}.`,
      );
    }),
    '.SH ENVIRONMENT',
    ...Object.entries(OTHER_VARIABLES).flatMap(([name, meaning]) => item(`.B ${roff(name)}`, meaning)),
    ...item('.B DEBUG', 'With mcp-shell in its list, the log is verbose.'),
    '.SH EXIT STATUS',
    roff(
      '0 where all went well, 1 where something is wrong; "policy explain" ends with 1 for a denial and 2 for a question.',
    ),
    '',
  ].join('\n');
}

/** Through the system's own `man`, which has a pager; false where there is none. */
export async function showPage(
  page: string,
  environment: Readonly<Record<string, string>>,
): Promise<boolean> {
  const directory = mkdtempSync(join(tmpdir(), 'mcp-shell-server-'));
  try {
    const path = join(directory, 'mcp-shell-server.1');
    writeFileSync(path, page, { mode: 0o600 });
    return await runInTerminal(['man', path], environment);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function synopsis(name: string, { path, arguments: args, options: own }: CommandShape): string {
  const words = args.map((argument) => (argument.isRequired ? `<${argument.name}>` : `[${argument.name}]`));
  return `.B ${roff([name, ...path].join(' '))}\n${roff([own.length > 0 ? '[options]' : '', ...words].filter((word) => word !== '').join(' '))}`;
}

function subcommand(shape: CommandShape): string[] {
  return [
    `.SS ${quoted(shape.path.join(' '))}`,
    roff(capital(shape.description)),
    ...shape.arguments.flatMap(({ name, description, choices }) =>
      item(`.I ${roff(name)}`, description + listed(choices)),
    ),
    ...options(shape),
  ];
}

function options({ options: own }: CommandShape): string[] {
  return own.flatMap(({ flags, description, choices }) =>
    item(`.B ${roff(flags)}`, `${capital(description)}${listed(choices)}.`),
  );
}

/** A name, and beside it what is said of it. */
const item = (name: string, text: string): string[] => ['.TP', name, roff(text)];
const listed = (choices: readonly string[]): string => (choices.length > 0 ? ` (${choices.join(', ')})` : '');

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const sentence = (text: string): string => `${capital(text)}.`;

/** A dash is a dash, and no line of text begins a command of the formatter's. */
function roff(text: string): string {
  const plain = text.replaceAll('`', '').replaceAll('\\', '\\e').replaceAll('-', '\\-');
  return plain.replaceAll(/^([.'])/gm, '\\&$1').replaceAll(/\n+/g, ' ');
}

const quoted = (text: string): string => `"${roff(text).replaceAll('"', '\\(dq')}"`;
