/** What a person may have meant by words that the command line does not know. */
import type { Command } from 'commander';
import { nearest } from '../base/nearest.ts';

/** Errors of this program and of all its commands end with a hint that fits. */
export function explainSlips(program: Command): void {
  const outputError = (text: string, write: (text: string) => void): void =>
    write(`${text}${hintFor(text, program)}`);
  for (const command of withSubcommands(program))
    command
      .configureOutput({ outputError })
      .showHelpAfterError(`(${pathOf(command)} --help shows what there is)`);
}

function hintFor(error: string, program: Command): string {
  const [, option] = /unknown option '(--[\w-]+)'\n$/.exec(error) ?? [];
  if (option !== undefined) return hintForOption(option, program);
  const [, typed = '', choices] = /'([^']*)' is invalid.* Allowed choices are (.*)\.\n$/.exec(error) ?? [];
  const names = choices?.split(', ') ?? [];
  const near = nearest(typed, names);
  const begun = names.filter((name) => typed !== '' && name.startsWith(typed));
  const meant = near === undefined ? begun : [near];
  return meant.length === 0 ? '' : `(Did you mean ${meant.join(' or ')}?)\n`;
}

/** It may be another command's. */
function hintForOption(option: string, program: Command): string {
  const owner = withSubcommands(program).find(({ options }) => options.some(({ long }) => long === option));
  return owner === undefined ? '' : `(${option} is an option of ${pathOf(owner)})\n`;
}

const withSubcommands = (command: Command): Command[] => [
  command,
  ...command.commands.flatMap((each) => withSubcommands(each)),
];

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}
