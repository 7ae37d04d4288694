/**
 * A server process spoken to in raw lines, for what no client sends.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerCommand } from './clients.ts';

export interface RawServer {
  /** Everything on stderr so far, and on stdout. */
  stderr(): string;
  stdout(): string;
  write(text: string | Uint8Array): void;
  say(...messages: unknown[]): void;
  /** Closes the server's stdin. */
  end(): void;
  /** The next message on stdout; throws when none comes, or when a line is no JSON. */
  next(timeoutMs?: number): Promise<unknown>;
  /** Every message until the server ends, and how it ended. */
  rest(timeoutMs?: number): Promise<{ messages: unknown[] } & RawEnd>;
}

export interface RawProcess extends RawServer {
  readonly child: ChildProcess;
  kill(): void;
}

export interface RawEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

export function startRaw(server: ServerCommand): RawProcess {
  const child = spawn(server.command, server.args, {
    env: { PATH: process.env['PATH'], ...server.env },
    cwd: server.cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = new Promise<RawEnd>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
  child.stdin.on('error', () => undefined);
  return { child, ...speakRaw(child, ended), kill: () => void child.kill('SIGKILL') };
}

export function speakRaw(
  { stdin, stdout, stderr }: { stdin: Writable; stdout: Readable; stderr: Readable },
  end: Promise<RawEnd>,
): RawServer {
  const lines: string[] = [];
  let partial = '';
  let output = '';
  let errors = '';
  let ended: RawEnd | undefined;
  stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
    const parts = (partial + chunk).split('\n');
    partial = parts.pop() ?? '';
    lines.push(...parts);
  });
  stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk;
  });
  void end.then((how) => {
    ended = how;
  });

  async function waitFor(what: string, timeoutMs: number, done: () => boolean): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    while (!done()) {
      if (Date.now() > deadline) {
        throw new Error(`${what} did not come; stdout: ${lines.join('\n')}${partial}; stderr: ${errors}`);
      }
      await sleep(5);
    }
  }

  return {
    stderr: () => errors,
    stdout: () => output,
    write: (text) => void stdin.write(text),
    say: (...messages) =>
      void stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join('')),
    end: () => void stdin.end(),
    async next(timeoutMs = 30_000) {
      await waitFor('a message', timeoutMs, () => lines.length > 0 || ended !== undefined);
      const line = lines.shift();
      if (line === undefined) throw new Error(`the server ended; stderr: ${errors}`);
      return JSON.parse(line);
    },
    async rest(timeoutMs = 30_000) {
      await waitFor('the end of the server', timeoutMs, () => ended !== undefined);
      if (partial !== '') lines.push(partial);
      const messages = lines.splice(0).map((line) => JSON.parse(line) as unknown);
      return { messages, code: ended?.code ?? null, signal: ended?.signal ?? null };
    },
  };
}
