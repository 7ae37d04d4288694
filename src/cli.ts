/**
 * The program: flags in, exit code out. The only file that reads argv, sets the exit code or listens for signals.
 *
 * A client that starts it waits for the first two answers, so that only what these need is loaded here.
 */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { App } from './app.ts';
import { type LoadedSettings, loadSettings, readEnvironment } from './base/config/config.ts';
import { closeInherited } from './base/descriptors.ts';
import { messageOf, ShellServerError } from './base/errors.ts';
import { findInstallation } from './base/installation.ts';
import { createLog, type Log } from './base/log.ts';
import { once } from './base/once.ts';
import type { Settings } from './base/settings.ts';
import { checkStateDirectory } from './base/state-directory.ts';
import type { ExplainFlags, Flags, WebFlags } from './commands/command-line.ts';
import type { CommandContext } from './commands/context.ts';
import { createFront, type Front, hasRules } from './front.ts';
import { type Catalogue, toolNamesIn } from './server/catalogue.ts';
import { serveStdioConnection } from './server/stdio.ts';

/** From the request to shut down to the end of the process, whatever hangs. */
const SHUTDOWN_MS = 4500;

const catalogue = JSON.parse(readFileSync(beside('catalogue.json'), 'utf8')) as Catalogue;
const machine = { platform: process.platform, home: homedir(), environment: readEnvironment() };

closeInherited();
try {
  await (process.argv.length > 2 ? runProgram() : serve({}));
} catch (error) {
  if (!(error instanceof ShellServerError)) throw error;
  process.stderr.write(`mcp-shell-server: ${error.message}\n${error.hint}\n`);
  process.exitCode = 1;
}

async function runProgram(): Promise<void> {
  const { createProgram } = await import('./commands/command-line.ts');
  const setup = {
    version: __VERSION__,
    machine,
    cwd: process.cwd(),
    nodePath: process.execPath,
    cliPath: fileURLToPath(import.meta.url),
    toolNames: Object.keys(catalogue.toolsets),
    input: process.stdin,
    isTerminal: process.stdout.isTTY,
    write: (text: string) => void pipedOutput().write(text),
    fail: () => {
      process.exitCode = 1;
    },
  };
  await createProgram(setup, {
    serve,
    web,
    doctor,
    explainPolicy,
    load,
    operator: operatorContext,
  }).parseAsync();
}

function operatorContext(settings: () => Settings): CommandContext {
  const interrupted = once(interruption);
  return {
    settings,
    input: process.stdin,
    get output() {
      return pipedOutput();
    },
    get interrupted() {
      return interrupted();
    },
    setExitCode: (code) => {
      process.exitCode = code;
    },
  };
}

async function serve(flags: Flags): Promise<void> {
  const { front, loaded, settings, log } = await prepare(flags);
  checkStateDirectory(settings.stateDir);
  if (flags.http !== undefined) return serveHttp(front, loaded, log);
  if (process.stdin.isTTY && process.stderr.isTTY && flags.greeting !== true) await introduce();
  if (hasRules(settings)) warnOf((await front.app()).warnings, log);
  serveStdio(front, settings, log, flags.greeting === true);
}

/** The operator's page, until Ctrl-C. */
async function web(flags: Flags, options: WebFlags): Promise<void> {
  const loaded = load(flags);
  const { settings } = loaded;
  const log = createLog({ verbose: settings.verbose });
  warnOf(loaded.warnings, log);
  checkStateDirectory(settings.stateDir);
  const { createInspect, runWeb } = await import('./web/web-command.ts');
  await runWeb(
    operatorContext(() => settings),
    {
      ...options,
      ...pageFiles(),
      inspect: createInspect({
        openApp: async () => (await prepare(flags, true)).front.app(),
        loaded,
        machine,
        cwd: process.cwd(),
      }),
      log,
    },
  );
}

/** Nobody but a person types into a terminal, and they would wait for something to happen. */
async function introduce(): Promise<void> {
  const { introduction } = await import('./commands/introduce.ts');
  const script = process.argv[1] ?? '';
  const program = basename(script) === 'mcp-shell-server' ? 'mcp-shell-server' : `node ${script}`;
  process.stderr.write(introduction({ program, columns: process.stderr.columns }));
}

/** What runs here and behind what, on stderr. */
async function announce(front: Front, log: Log): Promise<void> {
  const { shell, platform, host, user } = front.facts;
  const sandbox = await front.sandbox();
  const { summary } = sandbox;
  log.info('mcp-shell-server', { version: __VERSION__, shell, platform, host, user, sandbox: summary });
  if (sandbox.problem !== undefined) {
    const what =
      sandbox.refuses === true
        ? 'every command is refused: the sandbox that the settings require is missing'
        : 'COMMANDS RUN WITHOUT A SANDBOX: they have the full privileges of this user';
    log.warn(what, { problem: sandbox.problem, fix: sandbox.fix });
  }
  if (sandbox.openNetwork !== undefined)
    log.warn('COMMANDS CAN REACH THE NETWORK, although the settings turn it off', {
      networks: sandbox.openNetwork,
      fix: sandbox.fix,
    });
}

function warnOf(warnings: readonly string[], log: Log): void {
  for (const warning of warnings) log.warn(warning);
}

/** The exit code says whether something is wrong. */
async function doctor(flags: Flags, options: { readonly json?: boolean }): Promise<void> {
  const { examine, renderFindings } = await import('./commands/doctor.ts');
  const { print } = await import('./commands/json.ts');
  const { front, settings, warnings } = await prepare(flags, true);
  const app = await front.app();
  const findings = await examine(app, settings, { warnings: [...warnings, ...app.warnings], machine });
  print({ output: process.stdout }, options, findings, () =>
    renderFindings(findings, process.stdout.isTTY ? process.stdout.columns : undefined),
  );
  await app.dispose();
  process.exitCode = findings.some(({ state }) => state === 'problem') ? 1 : 0;
}

/** Ends with 1 where it would be denied, and 2 where a person would be asked. */
async function explainPolicy(flags: Flags, command: string, options: ExplainFlags): Promise<void> {
  const { createExplain, explainLines, renderExplained } = await import('./commands/policy-explain.ts');
  const { front, settings } = await prepare(flags, true);
  checkStateDirectory(settings.stateDir);
  const app = await front.app();
  const explain = createExplain(app, settings);
  if (command === '-') {
    for await (const line of explainLines(process.stdin, explain, options)) process.stdout.write(line);
    await app.dispose();
    return;
  }
  const explained = await explain(command, options);
  await app.dispose();
  const { print } = await import('./commands/json.ts');
  print({ output: process.stdout }, options, explained, () => renderExplained(explained));
  process.exitCode = { allow: 0, deny: 1, ask: 2 }[explained.decision];
}

function load(flags: Flags): LoadedSettings {
  return loadSettings({
    flags: { ...flags, httpAddress: typeof flags.http === 'string' ? flags.http : undefined },
    environment: machine.environment,
    cwd: process.cwd(),
    homedir: machine.home,
    toolsets: toolNamesIn(catalogue),
  });
}

async function prepare(flags: Flags, isQuiet = false) {
  const loaded = load(flags);
  const { settings, warnings } = loaded;
  const log = createLog({ verbose: settings.verbose });
  if (!isQuiet) warnOf(warnings, log);
  const front = await createFront({
    settings,
    catalogue,
    version: __VERSION__,
    wrapperPath: beside('wrapper.js'),
    hostPath: beside('pty-host.js'),
    searchWorkerPath: beside('search-worker.js'),
    scripts: beside('shell-integration'),
    installation: findInstallation(import.meta.url, process.execPath),
    log,
  });
  return { front, loaded, settings, warnings, log };
}

/** The build puts everything into one directory. */
function beside(name: string): string {
  return fileURLToPath(new URL(`./${name}`, import.meta.url));
}

function serveStdio(front: Front, settings: Settings, log: Log, greets: boolean): void {
  const shutDown = prepareShutdown(log, async () => {
    // All at once: what runs is ended while the last answers are written.
    await Promise.all([connection.close(), front.dispose(), announced, (await observed)?.close()]);
  });
  const announced = announce(front, log);
  const { port } = settings.http.metrics;
  const observed =
    port === undefined
      ? undefined
      : import('./commands/observe-stdio.ts').then(({ observeStdio }) =>
          observeStdio({ ...settings.http.metrics, port, front, log }),
        );
  const connection = serveStdioConnection({
    input: process.stdin,
    output: process.stdout,
    offer: front.offer,
    log,
    greeting: greets ? catalogue.greeting : undefined,
    onClientGone: () => shutDown('the client is gone', 0),
  });
}

async function serveHttp(front: Front, loaded: LoadedSettings, log: Log): Promise<void> {
  const { settings } = loaded;
  const { serveOverHttp } = await import('./commands/serve-http.ts');
  const app: App = await front.app();
  warnOf(app.warnings, log);
  await announce(front, log);
  // The instructions speak of it.
  await app.sandbox();
  const served = await serveOverHttp({
    app,
    settings,
    log,
    nodePath: process.execPath,
    cliPath: fileURLToPath(import.meta.url),
    openPage: settings.http.hasPage ? await pageOpener(app, loaded, log) : undefined,
  });
  prepareShutdown(log, served.close);
  process.stdout.write(served.welcome);
}

/** Loaded only where the settings turn it on. */
async function pageOpener(app: App, loaded: LoadedSettings, log: Log) {
  const { openHttpPage } = await import('./web/web-command.ts');
  return openHttpPage({ app, loaded, machine, cwd: process.cwd(), ...pageFiles(), log });
}

function pageFiles() {
  return {
    version: __VERSION__,
    pageDirectory: beside('page'),
    searchWorkerPath: beside('search-worker.js'),
  };
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
