/**
 * The program: flags in, exit code out. The only file that reads argv, sets the exit code or listens for signals.
 */
import { homedir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Command, Option } from 'commander';
import { type App, createApp } from './app.ts';
import { type LoadedSettings, loadSettings, readEnvironment } from './base/config/config.ts';
import { closeInherited } from './base/descriptors.ts';
import { messageOf, ShellServerError } from './base/errors.ts';
import { findInstallation } from './base/installation.ts';
import { createLog, type Log } from './base/log.ts';
import type { Settings } from './base/settings.ts';
import { addOperatorCommands } from './commands/operator.ts';
import { addSetupCommands } from './commands/setup.ts';
import { TOOL_NAMES, TOOLSETS } from './tools/tools.ts';

interface Flags {
  readonly shell?: string;
  readonly config?: string;
  readonly stateDir?: string;
  readonly tools?: string;
  readonly http?: string | true;
  readonly greeting?: true;
}

const EXAMPLES = `
Examples:
  mcp-shell-server install claude-code         connect a client; --all connects those that are found
  mcp-shell-server config init                 a few questions, and a settings file
  mcp-shell-server doctor                      what works here, and how to repair the rest
  mcp-shell-server --http                      one server for several clients, on 127.0.0.1:3737
  mcp-shell-server policy explain 'git push'   what would be decided, without running it`;

const program = new Command('mcp-shell-server')
  .description(
    'An MCP server that runs commands for a model. Without --http it speaks MCP on stdin and stdout.',
  )
  .version(__VERSION__, '-V, --version', 'print the version')
  .helpOption('-h, --help', 'print this help')
  .option('-s, --shell <path>', 'the shell that runs commands (default: $SHELL, else /bin/bash)')
  .option('--config <file>', 'settings file, instead of those that are searched for')
  .option('--state-dir <directory>', 'where outputs, records and the audit log are kept')
  .option(
    '--tools <names>',
    `toolsets or single tools, separated by commas: ${Object.keys(TOOLSETS).join(', ')}`,
  )
  .option('--http [host:port]', 'serve Streamable HTTP instead of stdio (default 127.0.0.1:3737)')
  .addOption(
    new Option('--greeting', 'say a first message, for clients from before MCP that wait for it').conflicts(
      'http',
    ),
  )
  .showHelpAfterError('(mcp-shell-server --help shows what there is)')
  .addHelpText('after', EXAMPLES)
  .allowExcessArguments(false)
  .action(serve);

program
  .command('doctor')
  .helpGroup('Looking at it:')
  .description('say what works on this machine, and how to repair what does not')
  .option('--json', 'as JSON')
  .action(doctor);

const policy = program
  .command('policy')
  .helpGroup('Looking at it:')
  .description('look at the rules for commands');
policy
  .command('explain')
  .description('say what would be decided about a command, without running it')
  .argument('<command>', 'the command, or "-" for JSON lines {"command": …} on stdin')
  .option('--json', 'as JSON')
  .action(explainPolicy);

const machine = { platform: process.platform, home: homedir(), environment: readEnvironment() };
addSetupCommands(program, {
  version: __VERSION__,
  machine,
  cwd: process.cwd(),
  nodePath: process.execPath,
  cliPath: fileURLToPath(import.meta.url),
  toolNames: Object.keys(TOOLSETS),
  input: process.stdin,
  flags: () => program.opts<Flags>(),
  load: () => load(program.opts<Flags>()),
  write: (text) => void process.stdout.write(text),
  fail: () => {
    process.exitCode = 1;
  },
});

program.commandsGroup('Watching what runs:');
addOperatorCommands(program, {
  settings: () => load(program.opts<Flags>()).settings,
  input: process.stdin,
  get output() {
    return pipedOutput();
  },
  get interrupted() {
    return interruption();
  },
  setExitCode: (code) => {
    process.exitCode = code;
  },
});

/** From the request to shut down to the end of the process, whatever hangs. */
const SHUTDOWN_MS = 4500;

closeInherited();
try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof ShellServerError)) throw error;
  process.stderr.write(`mcp-shell-server: ${error.message}\n${error.hint}\n`);
  process.exitCode = 1;
}

async function serve(flags: Flags): Promise<void> {
  const { app, settings, log } = prepare(flags);
  const { shell, platform, host, user } = app.facts;
  const sandbox = await app.sandbox();
  log.info('mcp-shell-server', {
    version: __VERSION__,
    shell,
    platform,
    host,
    user,
    sandbox: sandbox.summary,
  });
  if (sandbox.problem !== undefined) {
    const what =
      sandbox.refuses === true
        ? 'every command is refused: the sandbox that the settings require is missing'
        : 'COMMANDS RUN WITHOUT A SANDBOX: they can do whatever this user can';
    log.warn(what, { problem: sandbox.problem, fix: sandbox.fix });
  }
  await (flags.http === undefined
    ? serveStdio(app, log, flags.greeting === true)
    : serveHttp(app, settings, log));
}

/** The exit code says whether something is wrong. */
async function doctor(options: { readonly json?: boolean }): Promise<void> {
  const { examine, renderFindings } = await import('./commands/doctor.ts');
  const { app, settings, warnings } = prepare(program.opts<Flags>(), true);
  const findings = await examine(app, settings, { warnings, machine });
  process.stdout.write(
    options.json === true ? `${JSON.stringify(findings, null, 2)}\n` : renderFindings(findings),
  );
  await app.dispose();
  process.exitCode = findings.some(({ state }) => state === 'problem') ? 1 : 0;
}

/** Ends with 1 where it would be denied, and 2 where a person would be asked. */
async function explainPolicy(command: string, options: { readonly json?: boolean }): Promise<void> {
  const { createExplain, explainLines, renderExplained } = await import('./commands/policy.ts');
  const explain = createExplain(load(program.opts<Flags>()).settings);
  if (command === '-') {
    for await (const line of explainLines(process.stdin, explain)) process.stdout.write(line);
    return;
  }
  const explained = explain(command);
  process.stdout.write(
    options.json === true ? `${JSON.stringify(explained, null, 2)}\n` : renderExplained(explained),
  );
  process.exitCode = { allow: 0, deny: 1, ask: 2 }[explained.decision];
}

interface Prepared {
  readonly app: App;
  readonly settings: Settings;
  readonly warnings: readonly string[];
  readonly log: Log;
}

function load(flags: Flags): LoadedSettings {
  return loadSettings({
    flags: {
      config: flags.config,
      stateDir: flags.stateDir,
      tools: flags.tools,
      shell: flags.shell,
      httpAddress: typeof flags.http === 'string' ? flags.http : undefined,
    },
    environment: readEnvironment(),
    cwd: process.cwd(),
    homedir: homedir(),
    toolsets: TOOL_NAMES,
  });
}

function prepare(flags: Flags, isQuiet = false): Prepared {
  const { settings, warnings } = load(flags);
  const log = createLog({ verbose: settings.verbose });
  if (!isQuiet) for (const warning of warnings) log.warn(warning);
  const app = createApp({
    settings,
    version: __VERSION__,
    wrapperPath: fileURLToPath(new URL('./wrapper.js', import.meta.url)),
    hostPath: fileURLToPath(new URL('./pty-host.js', import.meta.url)),
    searchWorkerPath: fileURLToPath(new URL('./search-worker.js', import.meta.url)),
    scripts: fileURLToPath(new URL('./shell-integration', import.meta.url)),
    installation: findInstallation(import.meta.url, process.execPath),
    log,
  });
  if (!isQuiet) for (const warning of app.warnings) log.warn(warning);
  return { app, settings, warnings: [...warnings, ...app.warnings], log };
}

async function serveStdio(app: App, log: Log, greets: boolean): Promise<void> {
  const { serveStdioConnection } = await import('./server/stdio.ts');
  const shutDown = prepareShutdown(log, async () => {
    // Both at once: what runs is ended while the last answers are written.
    await Promise.all([connection.close(), app.dispose()]);
  });
  const connection = serveStdioConnection({
    input: process.stdin,
    output: process.stdout,
    factory: app.factory,
    log,
    greets,
    onClientGone: () => shutDown('the client is gone', 0),
  });
}

async function serveHttp(app: App, settings: Settings, log: Log): Promise<void> {
  const { serveOverHttp } = await import('./commands/serve-http.ts');
  const served = await serveOverHttp({
    app,
    settings,
    log,
    nodePath: process.execPath,
    cliPath: fileURLToPath(import.meta.url),
  });
  prepareShutdown(log, served.close);
  process.stdout.write(served.welcome);
}

/** For what goes on until a person has seen enough: it then puts the terminal in order and ends by itself. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => controller.abort());
  return controller.signal;
}

/** `audit search … | head` closes the pipe when it has enough. */
function pipedOutput(): NodeJS.WriteStream {
  if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', () => process.exit());
  return process.stdout;
}

/**
 * One way out for every reason to leave. Whatever comes second (Codex sends SIGTERM a millisecond after it closed
 * stdin) waits for the first.
 */
function prepareShutdown(log: Log, close: () => Promise<void>): (reason: string, exitCode: number) => void {
  let isLeaving = false;
  const shutDown = (reason: string, exitCode: number): void => {
    if (isLeaving) return;
    isLeaving = true;
    log.debug('shutting down', { reason });
    setTimeout(() => process.exit(exitCode || 1), SHUTDOWN_MS).unref();
    close().then(
      () => process.exit(exitCode),
      (error: unknown) => {
        log.error('the shutdown failed', { error: messageOf(error) });
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => shutDown(signal, 0));
  // A bug must not leave processes behind: they are ended, then the server is.
  const crash = (error: unknown): void => {
    log.error('the server failed', { error: error instanceof Error ? error.stack : String(error) });
    shutDown('a failure', 1);
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
  return shutDown;
}
