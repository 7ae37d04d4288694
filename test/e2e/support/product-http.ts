/**
 * The built product over HTTP, on a port that is free.
 */
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { serveOverHttp } from '../../../src/commands/serve-http.ts';
import { CLI, type Place } from './product.ts';
import { prepareHere } from './product-here.ts';
import { type RawProcess, startRaw } from './raw-process.ts';

export interface ServedProduct {
  readonly url: string;
  readonly token: string;
  stop(): Promise<void>;
}

export interface RunningProduct extends ServedProduct {
  readonly process: RawProcess;
  /** As an operator does it, with SIGTERM. */
  stop(): Promise<void>;
}

const TOKEN = 'the-token-of-this-test';

/** In this process, like openProduct. */
export async function openProductHttp(
  place: Place,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<ServedProduct> {
  const { front, settings, log, leave } = await prepareHere(
    place.command(['--http', '127.0.0.1:0', ...args], { ...env, MCP_SHELL_TOKEN: TOKEN }),
    new PassThrough().resume(),
  );
  const app = await front.app();
  await app.sandbox();
  const { welcome, close } = await serveOverHttp({
    app,
    settings,
    log,
    nodePath: process.execPath,
    cliPath: CLI,
  });
  const [url = ''] = ADDRESS.exec(welcome) ?? [];
  return { url, token: TOKEN, stop: () => close().finally(leave) };
}

const ADDRESS = /http:\/\/127\.0\.0\.1:\d+\/mcp/;

export async function startProductHttp(
  place: Place,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<RunningProduct> {
  const server = startRaw(
    place.command(['--http', '127.0.0.1:0', ...args], { ...env, MCP_SHELL_TOKEN: TOKEN }),
  );
  const deadline = Date.now() + 30_000;
  for (;;) {
    const url = ADDRESS.exec(server.stdout())?.[0];
    if (url !== undefined) return { url, token: TOKEN, process: server, stop: () => stop(server) };
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
