/**
 * The built product over HTTP, on a port that is free.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Place } from './product.ts';
import { type RawProcess, startRaw } from './raw-process.ts';

export interface RunningProduct {
  readonly url: string;
  readonly token: string;
  readonly process: RawProcess;
  /** As an operator does it, with SIGTERM. */
  stop(): Promise<void>;
}

export async function startProductHttp(
  place: Place,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<RunningProduct> {
  const token = 'the-token-of-this-test';
  const server = startRaw(
    place.command(['--http', '127.0.0.1:0', ...args], { ...env, MCP_SHELL_TOKEN: token }),
  );
  const deadline = Date.now() + 30_000;
  for (;;) {
    const url = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(server.stdout())?.[0];
    if (url !== undefined) return { url, token, process: server, stop: () => stop(server) };
    if (Date.now() > deadline || hasEnded(server)) {
      server.kill();
      throw new Error(`no address came; stdout: ${server.stdout()}; stderr: ${server.stderr()}`);
    }
    await sleep(20);
  }
}

async function stop(server: RawProcess): Promise<void> {
  server.child.kill('SIGTERM');
  const deadline = Date.now() + 6000;
  while (!hasEnded(server)) {
    if (Date.now() > deadline) server.kill();
    await sleep(20);
  }
}

function hasEnded({ child }: RawProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
