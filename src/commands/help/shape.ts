/** The program's commands and options as plain data, read from their one definition: what completions and the man page are written from. */
import type { Argument, Command, Option } from 'commander';

export type OptionShape = ReturnType<typeof shapeOfOption>;

export interface CommandShape {
  /** Without the program's own: `['policy', 'explain']`. */
  readonly path: readonly string[];
  readonly name: string;
  readonly description: string;
  readonly options: readonly OptionShape[];
  readonly arguments: readonly ReturnType<typeof shapeOfArgument>[];
  readonly commands: readonly CommandShape[];
}

export function shapeOf(command: Command, path: readonly string[] = []): CommandShape {
  const help = command.createHelp();
  return {
    path,
    name: command.name(),
    description: command.description(),
    options: help.visibleOptions(command).map(shapeOfOption),
    arguments: command.registeredArguments.map(shapeOfArgument),
    commands: help
      .visibleCommands(command)
      .filter((each) => each.name() !== 'help')
      .map((each) => shapeOf(each, [...path, each.name()])),
  };
}

const shapeOfOption = ({ flags, short, long, description, optional, argChoices = [] }: Option) => ({
  /** "-s, --shell <path>" */
  flags,
  short,
  long,
  description,
  /** What the value is called; undefined where there is none. */
  value: /[<[]([^>\]]+)[>\]]/.exec(flags)?.[1],
  isValueOptional: optional,
  choices: argChoices,
});

const shapeOfArgument = (argument: Argument) => ({
  name: argument.name(),
  description: argument.description,
  isRequired: argument.required,
  choices: argument.argChoices ?? [],
});

/** It and all below it. */
export function allCommands(shape: CommandShape): CommandShape[] {
  return [shape, ...shape.commands.flatMap(allCommands)];
}
