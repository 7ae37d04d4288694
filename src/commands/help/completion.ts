/**
 * `mcp-shell-server completion <shell>`: a script that completes commands, options and their values. Written from the
 * program's definition, so that it knows whatever the program does.
 */
import type { Command } from 'commander';
import type { NameKind } from './complete-names.ts';
import { allCommands, type CommandShape, type OptionShape, shapeOf } from './shape.ts';

export const COMPLETED_SHELLS = ['bash', 'zsh', 'fish'] as const;
export type CompletedShell = (typeof COMPLETED_SHELLS)[number];

/** Words for values that are called so, beside files and directories. */
type ValueWords = Readonly<Record<string, readonly string[]>>;

export function renderCompletion(shell: CompletedShell, program: Command, words: ValueWords): string {
  return { bash: renderBash, zsh: renderZsh, fish: renderFish }[shell](shapeOf(program), words);
}

/** How a value is completed, by what it is called. */
function kindOf({ value, choices }: Pick<OptionShape, 'value' | 'choices'>, words: ValueWords): Kind {
  if (choices.length > 0) return { words: choices };
  if (value !== undefined && ASKED[value] !== undefined) return { asks: ASKED[value] };
  if (value !== undefined && words[value] !== undefined) return { words: words[value] };
  if (value === 'directory') return 'directories';
  return value === 'file' || value === 'path' ? 'files' : 'nothing';
}
type Kind =
  | 'files'
  | 'directories'
  | 'nothing'
  | { readonly words: readonly string[] }
  | { readonly asks: NameKind };

/** Values that the program is asked for when they are completed. */
const ASKED: Readonly<Record<string, NameKind>> = {
  token: 'tokens',
  terminal: 'terminals',
  execution: 'executions',
};
const askFor = (kind: NameKind, program: string): string => `$(${program} names ${kind} 2>/dev/null)`;

const namesOf = ({ short, long }: OptionShape): string[] =>
  [short, long].filter((name) => name !== undefined);
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
/** Everywhere: the program's own options are taken by its commands too. */
const withGlobal = (shape: CommandShape, program: CommandShape): readonly OptionShape[] =>
  shape === program
    ? shape.options
    : [...shape.options, ...program.options.filter(({ long }) => long !== '--version' && long !== '--help')];

/** As it was typed, which may be a path. */
const BASH_PROGRAM = '"${COMP_WORDS[0]}"';

function renderBash(program: CommandShape, words: ValueWords): string {
  const name = `_${program.name.replaceAll('-', '_')}`;
  const valued = new Map<string, string>();
  for (const option of allCommands(program).flatMap(({ options }) => options)) {
    const kind = kindOf(option, words);
    if (option.value === undefined || (option.isValueOptional && kind === 'nothing')) continue;
    const action =
      kind === 'files'
        ? 'COMPREPLY=($(compgen -f -- "$current"))'
        : kind === 'directories'
          ? 'COMPREPLY=($(compgen -d -- "$current"))'
          : kind === 'nothing'
            ? 'COMPREPLY=()'
            : 'asks' in kind
              ? `COMPREPLY=($(compgen -W "${askFor(kind.asks, BASH_PROGRAM)}" -- "$current"))`
              : `COMPREPLY=($(compgen -W ${quote(kind.words.join(' '))} -- "$current"))`;
    for (const flag of namesOf(option)) {
      // Of two commands' flags of one name, the one that has something to offer.
      if (kind !== 'nothing' || !valued.has(flag)) valued.set(flag, `${action}; return`);
    }
  }
  const cases = allCommands(program).map((shape) => {
    const subcommands = shape.commands.map((command) => command.name);
    const options = withGlobal(shape, program).flatMap(namesOf);
    const values = shape.arguments.map(({ name: value, choices }) => kindOf({ value, choices }, words));
    const choices = values.flatMap((kind) => (typeof kind === 'object' && 'words' in kind ? kind.words : []));
    const asked = values.flatMap((kind) =>
      typeof kind === 'object' && 'asks' in kind ? [`" ${askFor(kind.asks, BASH_PROGRAM)}"`] : [],
    );
    const list = [...subcommands, ...choices, ...options].join(' ');
    return `    ${quote(shape.path.join(' '))}) words=${quote(list)}${asked.join('')} ;;`;
  });
  const paths = allCommands(program)
    .slice(1)
    .map((shape) => quote(shape.path.join(' ')));
  return `# Completion of ${program.name} for bash: source it, or put it where bash-completion looks.
${name}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path='' words='' word index
  case "$previous" in
${[...valued].map(([flag, action]) => `    ${flag}) ${action} ;;`).join('\n')}
  esac
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    case "\${path:+$path }$word" in
      ${paths.join(' | ')}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F ${name} ${program.name}
`;
}

function renderZsh(program: CommandShape, words: ValueWords): string {
  const root = `_${program.name.replaceAll('-', '_')}`;
  const functionOf = (shape: CommandShape): string => [root, ...shape.path].join('_').replaceAll('-', '_');
  const actionOf = (option: Pick<OptionShape, 'value' | 'choices'>): string => {
    const kind = kindOf(option, words);
    if (typeof kind === 'object' && 'asks' in kind)
      return `:${option.value}:{compadd -- ${askFor(kind.asks, program.name)}}`;
    if (kind === 'files') return ':file:_files';
    if (kind === 'directories') return ':directory:_files -/';
    return kind === 'nothing' ? `:${option.value}: ` : `:${option.value}:(${kind.words.join(' ')})`;
  };
  const specOf = (option: OptionShape): string[] => {
    const about = `[${option.description.replaceAll(/[[\]\\:]/g, (character) => `\\${character}`)}]`;
    const value = option.value === undefined ? '' : `${option.isValueOptional ? ':' : ''}${actionOf(option)}`;
    return namesOf(option).map((flag) => quote(`${flag}${about}${value}`));
  };
  const functions = allCommands(program).map((shape) => {
    const options = withGlobal(shape, program).flatMap(specOf);
    const args =
      shape.commands.length > 0
        ? [quote('1: :->command'), quote('*:: :->rest')]
        : shape.arguments.map(({ name, choices }) => quote(actionOf({ value: name, choices })));
    const described = shape.commands.map((command) =>
      quote(`${command.name}:${command.description.replaceAll(':', '\\:')}`),
    );
    const rest = shape.commands.map((command) => `        ${command.name}) ${functionOf(command)} ;;`);
    return `${functionOf(shape)}() {
  local curcontext="$curcontext" state line
  _arguments -C ${[...options, ...args].join(' \\\n    ')}
${
  shape.commands.length === 0
    ? ''
    : `  case "$state" in
    command)
      local -a commands=(${described.join(' ')})
      _describe command commands ;;
    rest)
      case "$line[1]" in
${rest.join('\n')}
      esac ;;
  esac
`
}}`;
  });
  return `#compdef ${program.name}
# Completion of ${program.name} for zsh: put it into a directory of $fpath as _${program.name}, or source it after compinit.
${functions.join('\n')}
if [ "$funcstack[1]" = "_${program.name}" ]; then ${root} "$@"; else compdef ${root} ${program.name}; fi
`;
}

function renderFish(program: CommandShape, words: ValueWords): string {
  const fishAsks = (kind: NameKind): string => `(${program.name} names ${kind} 2>/dev/null)`;
  const seen = (shape: CommandShape): string => {
    const others = shape.commands.map((command) => command.name);
    const here = shape.path.map((word) => `__fish_seen_subcommand_from ${word}`);
    const notBelow = others.length === 0 ? [] : [`not __fish_seen_subcommand_from ${others.join(' ')}`];
    return quote([...here, ...notBelow].join('; and ') || 'true');
  };
  const lines = allCommands(program).flatMap((shape) => {
    const condition = seen(shape);
    const complete = (rest: string): string => `complete -c ${program.name} -n ${condition} ${rest}`;
    return [
      ...shape.commands.map((command) => complete(`-f -a ${command.name} -d ${quote(command.description)}`)),
      ...shape.arguments.flatMap(({ name, choices }) => {
        const kind = kindOf({ value: name, choices }, words);
        if (typeof kind !== 'object') return [];
        return [complete(`-f -a ${quote('asks' in kind ? fishAsks(kind.asks) : kind.words.join(' '))}`)];
      }),
      ...withGlobal(shape, program).map((option) => {
        const flags = [
          option.short === undefined ? '' : `-s ${option.short.slice(1)}`,
          option.long === undefined ? '' : `-l ${option.long.slice(2)}`,
        ];
        const kind = option.value === undefined ? undefined : kindOf(option, words);
        const value =
          kind === undefined || (option.isValueOptional && kind === 'nothing')
            ? ''
            : kind === 'files'
              ? '-r -F'
              : kind === 'directories'
                ? "-x -a '(__fish_complete_directories)'"
                : kind === 'nothing'
                  ? '-x'
                  : `-x -a ${quote('asks' in kind ? fishAsks(kind.asks) : kind.words.join(' '))}`;
        return complete(
          [...flags, value, `-d ${quote(option.description)}`].filter((part) => part !== '').join(' '),
        );
      }),
    ];
  });
  return `# Completion of ${program.name} for fish: put it into ~/.config/fish/completions/${program.name}.fish
complete -c ${program.name} -f
${lines.join('\n')}
`;
}
