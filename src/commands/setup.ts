/**
 * The commands with which a person sets the server up: `config`, `install`, `completion`, `man`. Their definitions are
 * here, and what they do is loaded when they are called.
 */

import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { Argument, type Command } from 'commander';
import type { LoadedSettings, SettingFlags } from '../base/config/config.ts';
import { PRESET_NAMES, type PresetName } from '../base/config/presets.ts';
import { ShellServerError } from '../base/errors.ts';
import type { Wishes } from './config/init.ts';
import { COMPLETED_SHELLS, type CompletedShell } from './help/completion.ts';
import { CLIENTS, type Client, findClient, type Machine } from './install/clients.ts';
import { showJson } from './json.ts';
import { oneOf } from './operator.ts';

/** What the program hands in, since only it reads argv, the environment and the streams. */
export interface Setup {
  readonly version: string;
  readonly machine: Machine;
  readonly cwd: string;
  /** How clients start this program. */
  readonly nodePath: string;
  readonly cliPath: string;
  readonly toolNames: readonly string[];
  readonly input: Readable;
  /** Whether a person reads what is written. */
  readonly isTerminal: boolean;
  flags(): SettingFlags & { readonly http?: string | true };
  load(): LoadedSettings;
  write(text: string): void;
  fail(): void;
}

const GROUP = 'Setting up:';

export function addSetupCommands(program: Command, setup: Setup): void {
  addInstall(program, setup);
  addConfig(program, setup);
  addHelp(program, setup);
}

function addInstall(program: Command, setup: Setup): void {
  program
    .command('install')
    .helpGroup(GROUP)
    .description('add this server to the settings of a client, after showing the change')
    .addArgument(new Argument('[client]', 'which one').choices(CLIENTS.map(({ id }) => id)))
    .option('--all', 'every client that is found on this machine')
    .option('--uninstall', 'remove it again')
    .option('--dry-run', 'only show what would change')
    .option('-y, --yes', 'do not ask')
    .option('--name <name>', 'what the client calls the server', 'shell')
    .addOption(
      oneOf('--preset <name>', 'a stricter preset for this client', PRESET_NAMES).conflicts('uninstall'),
    )
    .option('--http [host:port]', 'connect it to a server that runs with --http, with a token of its own')
    .option('--approve-tools', 'let it call these tools without asking, where it cannot ask (codex exec)')
    .action((client: string | undefined, options: InstallFlags) =>
      runInstall(client ?? takenByHttp(program), options, setup),
    );
}

function addConfig(program: Command, setup: Setup): void {
  const config = program.command('config').helpGroup(GROUP).description('show or create settings');
  config
    .command('init')
    .description('ask a few questions and write a settings file with comments')
    .option(
      '--project',
      'in this directory instead of your configuration directory; such a file can only tighten',
    )
    .option('--force', 'replace an existing file; it is kept as a backup')
    .option('-y, --yes', 'ask nothing and take the defaults')
    .addOption(oneOf('--preset <name>', 'answer to a question, like the following options', PRESET_NAMES))
    .option('--workspace <directory>', 'the directory that commands may work in, or "any"')
    .option('--network', 'commands have network access')
    .option('--no-network', 'commands have no network access')
    .option('--expose <list>', 'credentials and sockets of the host to expose')
    .action((options: InitFlags) => runInit(options, setup));
  config
    .command('show')
    .description('every setting, what holds, and where it came from')
    .option('--json', 'as JSON')
    .action((options: { json?: true }) => runShow(options.json === true, setup));
  config
    .command('schema')
    .description('the JSON Schema of a settings file')
    .action(async () => {
      const { settingsJsonSchema } = await import('../base/config/config.ts');
      setup.write(showJson(settingsJsonSchema()));
    });
}

function addHelp(program: Command, setup: Setup): void {
  program
    .command('completion')
    .helpGroup(GROUP)
    .description('print a script that completes commands and options')
    .addArgument(new Argument('<shell>', 'for which shell').choices(COMPLETED_SHELLS))
    .action(async (shell: CompletedShell) => {
      const { renderCompletion } = await import('./help/completion.ts');
      setup.write(renderCompletion(shell, program, { names: setup.toolNames }));
    });
  program
    .command('man')
    .helpGroup(GROUP)
    .description('show the manual page; its source, where the output is no terminal')
    .action(async () => {
      const { renderMan, showPage } = await import('./help/man.ts');
      const page = renderMan(program, setup.version);
      if (!setup.isTerminal || !(await showPage(page, setup.machine.environment))) setup.write(page);
    });
}

/** The server has a flag `--http` too, which commander takes for its own wherever it stands, and with it the next word. */
function takenByHttp(program: Command): string | undefined {
  const taken: unknown = program.getOptionValue('http');
  if (typeof taken !== 'string' || findClient(taken) === undefined) return undefined;
  program.setOptionValue('http', true);
  return taken;
}

interface InstallFlags {
  readonly all?: true;
  readonly uninstall?: true;
  readonly dryRun?: true;
  readonly yes?: true;
  readonly name: string;
  readonly preset?: PresetName;
  readonly approveTools?: true;
}

async function runInstall(id: string | undefined, options: InstallFlags, setup: Setup): Promise<void> {
  const [{ chooseClients, install }, { createAsker }] = await Promise.all([
    import('./install/install.ts'),
    import('./ask.ts'),
  ]);
  if (!/^[A-Za-z0-9][\w-]{0,39}$/.test(options.name)) {
    const given = JSON.stringify(options.name);
    throw new ShellServerError('PARAM_002', `--name ${given} cannot be a server's name.`, {
      hint: 'Use letters, digits, "-" and "_", 40 at most.',
    });
  }
  const { http } = setup.flags();
  const clients = chooseClients(id, options.all === true, setup.machine);
  if (clients.length === 0) {
    setup.write(
      options.uninstall === true
        ? 'No client was found: there is nothing to remove.\n'
        : 'No client was found. Name one to write its settings all the same.\n',
    );
    return options.uninstall === true ? undefined : setup.fail();
  }
  const asker = createAsker(setup);
  const overHttp =
    http === undefined || options.uninstall === true ? undefined : await prepareHttp(setup, options);
  const isUnasked = options.yes === true || options.dryRun === true;
  const isGood = await install({
    clients,
    machine: setup.machine,
    entry: overHttp?.entry ?? {
      command: setup.nodePath,
      args: [setup.cliPath, ...serverFlags(setup)],
      ...(options.preset !== undefined && { variables: { MCP_SHELL_SECURITY_PRESET: options.preset } }),
    },
    program: setup.cliPath,
    ...(overHttp !== undefined && { createToken: overHttp.createToken }),
    approval: options.approveTools === true ? 'write' : isUnasked ? 'leave' : 'ask',
    name: options.name,
    uninstalls: options.uninstall === true,
    isDryRun: options.dryRun === true,
    say: asker.say,
    confirm: options.yes === true ? () => Promise.resolve(true) : asker.confirm,
    now: Date.now,
  });
  asker.close();
  if (!isGood) setup.fail();
}

/** The address of the server, and a token for each client, which takes the place of an earlier one. */
async function prepareHttp(setup: Setup, { preset, name }: InstallFlags) {
  const [{ createOwnToken }, { endpointOf }, { tokenName }] = await Promise.all([
    import('./token.ts'),
    import('./install/endpoint.ts'),
    import('./install/install.ts'),
  ]);
  const { settings } = setup.load();
  return {
    entry: { url: endpointOf(settings.http), token: '<token>' },
    createToken: (client: Client): Promise<string> =>
      createOwnToken(settings, { name: tokenName(client, name), preset }),
  };
}

/** The flags that this command was given besides its own, for the server that the client will start. */
function serverFlags({ flags, cwd }: Setup): string[] {
  const { config, stateDir, tools, shell } = flags();
  const typed = {
    '--config': config && resolve(cwd, config),
    '--state-dir': stateDir && resolve(cwd, stateDir),
    '--tools': tools,
    '--shell': shell,
  };
  return Object.entries(typed).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]));
}

interface InitFlags extends Wishes {
  readonly project?: true;
  readonly force?: true;
  readonly yes?: true;
}

async function runInit(options: InitFlags, setup: Setup): Promise<void> {
  const [{ askWishes, renderFile }, { createAsker }, { readFile, replaceFile }, config] = await Promise.all([
    import('./config/init.ts'),
    import('./ask.ts'),
    import('./install/replace-file.ts'),
    import('../base/config/config.ts'),
  ]);
  const { home: homedir, environment } = setup.machine;
  const named = setup.flags().config;
  const path =
    named !== undefined
      ? resolve(setup.cwd, named)
      : join(
          options.project === true ? setup.cwd : config.userConfigDirectory({ environment, homedir }),
          config.SETTINGS_FILE_NAME,
        );
  const found = readFile(path);
  if (found.about !== undefined && options.force !== true) {
    throw new ShellServerError('RESOURCE_004', `${path} exists already.`, {
      hint: 'Change it by hand, or replace it with --force; it is then kept as a backup.',
    });
  }
  const asker = createAsker(setup);
  const silent = {
    ...asker,
    ask: (_question: string, usual: string) => Promise.resolve(usual),
    say: () => undefined,
  };
  const answers = await askWishes(options, options.yes === true ? silent : asker, {
    directory: setup.cwd,
    homedir,
  });
  asker.close();
  const isForProject = named === undefined && options.project === true;
  if (isForProject && answers.expose.length > 0) {
    throw new ShellServerError('PARAM_002', 'A file in a project cannot expose anything.', {
      hint: 'Leave --project out, or expose nothing.',
    });
  }
  const text = renderFile(answers, { isForProject, toolNames: setup.toolNames });
  config.checkSettingsText(text);
  const backup = replaceFile(found, text, Date.now());
  setup.write(`\nWritten: ${path}\n${backup === undefined ? '' : `What was there is in ${backup}\n`}`);
  setup.write('Next: mcp-shell-server doctor, then mcp-shell-server install <client>.\n');
}

async function runShow(isJson: boolean, setup: Setup): Promise<void> {
  const { listSettings, renderSettings } = await import('./config/show-settings.ts');
  const loaded = setup.load();
  if (!isJson) return setup.write(renderSettings(loaded, setup.cwd));
  const warnings = [...loaded.warnings, ...loaded.withoutEffect];
  setup.write(showJson({ settings: listSettings(loaded, setup.cwd), warnings }));
}
