/** Several callers of one server: tokens made by the program's own command, and calls as one of their owners. */
import { Readable } from 'node:stream';
import { type Command, CommanderError, type OutputConfiguration } from 'commander';
import { loadSettings } from '../../../src/base/config/config.ts';
import { ShellServerError } from '../../../src/base/errors.ts';
import { createProgram } from '../../../src/commands/command-line.ts';
import { toolNamesIn } from '../../../src/server/catalogue.ts';
import { type Called, CLI, type Place, read } from './product.ts';
import { CATALOGUE } from './product-here.ts';
import { modernRequest, type RawAnswer, sendRaw } from './raw-http.ts';
import { call } from './raw-streams.ts';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** What is typed. */
  readonly input?: string;
}

/** A subcommand on the state directory of this place, in this process: to start each would take longer. */
export async function runProgram(
  place: Place,
  args: readonly string[],
  { env = {}, input = '' }: RunOptions = {},
): Promise<Ran> {
  const { env: environment = {}, cwd = '' } = place.command([], env);
  const home = environment['HOME'] ?? '';
  const ran = { code: 0, stdout: '', stderr: '' };
  const write = (text: string): boolean => {
    ran.stdout += text;
    return true;
  };
  const complain = (text: string): void => {
    ran.stderr += text;
  };
  const setExitCode = (code: number): void => {
    ran.code = code;
  };
  const apart = (): never => {
    throw new Error('it has a process of its own');
  };
  const program = createProgram(
    {
      version: __VERSION__,
      machine: { platform: process.platform, home, environment },
      cwd,
      nodePath: process.execPath,
      cliPath: CLI,
      isTerminal: false,
      toolNames: Object.keys(CATALOGUE.toolsets),
      input: Readable.from([input]),
      write,
      fail: () => setExitCode(1),
    },
    {
      serve: apart,
      web: apart,
      doctor: apart,
      explainPolicy: apart,
      load: ({ http, config, stateDir, tools, shell }) =>
        loadSettings({
          flags: { config, stateDir, tools, shell, httpAddress: http === true ? undefined : http },
          environment,
          cwd,
          homedir: home,
          toolsets: toolNamesIn(CATALOGUE),
        }),
      operator: (settings) => ({
        settings,
        input: process.stdin,
        output: { write } as NodeJS.WriteStream,
        interrupted: new AbortController().signal,
        setExitCode,
      }),
    },
  );
  keepFromExiting(program, { writeOut: write, writeErr: complain });
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError || error instanceof ShellServerError)) throw error;
    // Help and the version end it too.
    ran.code = error instanceof CommanderError ? error.exitCode : 1;
    if (error instanceof ShellServerError) complain(`mcp-shell-server: ${error.message}\n${error.hint}\n`);
  }
  return ran;
}

function keepFromExiting(command: Command, output: OutputConfiguration): void {
  command.exitOverride().configureOutput(output);
  for (const inner of command.commands) keepFromExiting(inner, output);
}

export async function createToken(place: Place, name: string, args: readonly string[] = []): Promise<string> {
  const { stdout, stderr } = await runProgram(place, ['token', 'create', name, ...args, '--json']);
  if (stdout === '') throw new Error(`no token: ${stderr}`);
  return (JSON.parse(stdout) as { token: string }).token;
}

export interface Principal {
  readonly token: string;
  call(tool: string, args?: Record<string, unknown>): Promise<Called>;
  /** The same, as it was on the wire. */
  send(tool: string, args?: Record<string, unknown>): Promise<RawAnswer>;
}

/** A caller in the 2026-07-28 revision, which needs no connection of its own. */
export function principalAt(url: string, token: string): Principal {
  const send = (tool: string, args: Record<string, unknown> = {}): Promise<RawAnswer> =>
    sendRaw(url, modernRequest(call(1, tool, args), token));
  return {
    token,
    send,
    async call(tool, args) {
      const { json, status, text } = await send(tool, args);
      const { result } = json as { result?: Parameters<typeof read>[0] };
      if (result === undefined) throw new Error(`${tool}: ${status} ${text.slice(0, 1000)}`);
      return read(result);
    },
  };
}
