/** The program's commands and options as plain data, read from their one definition: what completions and the man page are written from. */
import type { Command } from 'commander';

export interface OptionShape {
  /** "-s, --shell <path>" */
  readonly flags: string;
  readonly short: string | undefined;
  readonly long: string | undefined;
  readonly description: string;
  /** What the value is called; undefined where there is none. */
  readonly value: string | undefined;
  readonly isValueOptional: boolean;
  readonly choices: readonly string[];
}

export interface CommandShape {
  /** Without the program's own: `['policy', 'explain']`. */
  readonly path: readonly string[];
  readonly name: string;
  readonly description: string;
  readonly options: readonly OptionShape[];
  readonly arguments: readonly {
    readonly name: string;
    readonly description: string;
    readonly isRequired: boolean;
    readonly choices: readonly string[];
  }[];
  readonly commands: readonly CommandShape[];
}

export function shapeOf(command: Command, path: readonly string[] = []): CommandShape {
  const help = command.createHelp();
  return {
    path,
    name: command.name(),
    description: command.description(),
    options: help.visibleOptions(command).map((option) => ({
      flags: option.flags,
      short: option.short,
      long: option.long,
      description: option.description,
      value: /[<[]([^>\]]+)[>\]]/.exec(option.flags)?.[1],
      isValueOptional: option.optional,
      choices: option.argChoices ?? [],
    })),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      description: argument.description,
      isRequired: argument.required,
      choices: argument.argChoices ?? [],
    })),
    commands: help
      .visibleCommands(command)
      .filter((each) => each.name() !== 'help')
      .map((each) => shapeOf(each, [...path, each.name()])),
  };
}

/** It and all below it. */
export function allCommands(shape: CommandShape): CommandShape[] {
  return [shape, ...shape.commands.flatMap(allCommands)];
}
