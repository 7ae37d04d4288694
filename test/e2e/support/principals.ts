/** Several callers of one server: tokens made by the program itself, and calls as one of their owners. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Called, CLI, type Place, read } from './product.ts';
import { modernRequest, type RawAnswer, sendRaw } from './raw-http.ts';
import { call } from './raw-streams.ts';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A subcommand of the program, on the state directory of this place. */
export async function runProgram(place: Place, args: readonly string[]): Promise<Ran> {
  const { env, cwd } = place.command();
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [CLI, ...args], {
      env: { ...env },
      cwd,
    });
    return { code: 0, stdout, stderr };
  } catch (error) {
    return error as Ran;
  }
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
