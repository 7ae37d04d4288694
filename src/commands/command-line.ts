/** What can be typed after the program's name. Only loaded where something was: clients mostly type nothing. */
import { Command, Option } from 'commander';
import { didYouMean } from '../base/nearest.ts';
import type { Settings } from '../base/settings.ts';
import { checkStateDirectory } from '../base/state-directory.ts';
import { escapeText } from '../security/security.ts';
import type { CommandContext } from './context.ts';
import { addOperatorCommands, oneOf } from './operator.ts';
import type { ExplainOptions } from './policy-explain.ts';
import { addSetupCommands, type Setup } from './setup.ts';
import { explainSlips } from './slips.ts';

export interface Flags {
  readonly shell?: string;
  readonly config?: string;
  readonly stateDir?: string;
  readonly tools?: string;
  readonly http?: string | true;
  readonly greeting?: true;
}

export type ExplainFlags = ExplainOptions & { readonly json?: boolean };

export interface WebFlags {
  readonly port?: string;
  readonly open?: boolean;
  readonly readOnly?: boolean;
}

/** What the commands do; the flags stand before all of them. */
export interface Actions {
  web(flags: Flags, options: WebFlags): Promise<void>;
  serve(flags: Flags): Promise<void>;
  doctor(flags: Flags, options: { readonly json?: boolean }): Promise<void>;
  explainPolicy(flags: Flags, command: string, options: ExplainFlags): Promise<void>;
  load(flags: Flags): ReturnType<Setup['load']>;
  operator(settings: () => Settings): CommandContext;
}

const EXAMPLES = `
Examples:
  mcp-shell-server install claude-code         connect a client; --all connects those that are found
  mcp-shell-server config init                 a few questions, and a settings file
  mcp-shell-server doctor                      what works here, and how to repair the rest
  mcp-shell-server --http                      one server for several clients, on 127.0.0.1:3737
  mcp-shell-server policy explain 'git push'   what would be decided, without running it`;

function refuseCommand(program: Command, word: string): never {
  const names = program.commands.map((command) => command.name());
  const hint = didYouMean(word, names, (meant) => `\n(Did you mean ${meant}?)`);
  return program.error(`error: unknown command '${escapeText(word.slice(0, 64))}'${hint}`);
}

/** What lies in a directory that others can change says nothing, and is nothing to act on. */
function checked(settings: Settings): Settings {
  checkStateDirectory(settings.stateDir);
  return settings;
}

export function createProgram(setup: Omit<Setup, 'flags' | 'load'>, actions: Actions): Command {
  const program = new Command('mcp-shell-server');
  const flags = (): Flags => program.opts<Flags>();
  const load = (): ReturnType<Setup['load']> => actions.load(flags());
  program
    .description(
      'An MCP server that runs shell commands for AI agents. Without --http it speaks MCP on stdin and stdout.',
    )
    .version(setup.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .option('-s, --shell <path>', 'the shell that runs commands (default: $SHELL, else /bin/bash)')
    .option('--config <file>', 'settings file, instead of those found automatically')
    .option('--state-dir <directory>', 'directory for outputs, records and the audit log')
    .option('--tools <names>', `toolsets or single tools, separated by commas: ${setup.toolNames.join(', ')}`)
    .option('--http [host:port]', 'serve Streamable HTTP instead of stdio (default 127.0.0.1:3737)')
    .addOption(
      new Option('--greeting', 'send the first message that clients from before MCP wait for').conflicts(
        'http',
      ),
    )
    .addHelpText('after', EXAMPLES)
    // Judged by us, since a word that is no command is a slip of one.
    .allowExcessArguments(true)
    .action(async (given: Flags) => {
      const [word] = program.args;
      if (word !== undefined) refuseCommand(program, word);
      await actions.serve(given);
    });

  program
    .command('doctor')
    .helpGroup('Looking at it:')
    .description('check this machine: what works, and how to fix the rest')
    .option('--json', 'as JSON')
    .action((options: { readonly json?: boolean }) => actions.doctor(flags(), options));

  const policy = program
    .command('policy')
    .helpGroup('Looking at it:')
    .description('explain the rules for commands');
  policy
    .command('explain')
    .description('show the decision about a command without running it')
    .argument('<command>', 'the command, or "-" for JSON lines {"command": …} on stdin')
    .option('--principal <name>', 'for this caller, with its token and restrictions')
    .option('--directory <path>', 'in this working directory')
    .addOption(
      oneOf('--tool <name>', 'called through this tool', ['shell_execute', 'shell', 'terminal_send_input']),
    )
    .option('--json', 'as JSON')
    .action((command: string, options: ExplainFlags) => actions.explainPolicy(flags(), command, options));

  addSetupCommands(program, { ...setup, flags, load });
  program.commandsGroup('Watching what runs:');
  program
    .command('web')
    .description('serve a page for your browser that shows running commands and can kill them; until Ctrl-C')
    .option('--port <port>', 'port on 127.0.0.1; by default a free one')
    .option('--open', 'open the browser')
    .option('--read-only', 'show everything and change nothing')
    .action((options: WebFlags) => actions.web(flags(), options));
  addOperatorCommands(
    program,
    actions.operator(() => checked(load().settings)),
  );
  explainSlips(program);
  return program;
}
