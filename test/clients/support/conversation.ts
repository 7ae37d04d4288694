/** One conversation: a real client, our server registered in it as a person would do it, and a model with a script. */
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { CLI, createPlace, type Place } from '../../e2e/support/product.ts';
import { type RunningProduct, startProductHttp } from '../../e2e/support/product-http.ts';
import { type Agent, rewrite } from './agents.ts';
import { type OfferedTool, type Step, startModel } from './model.ts';

const run = promisify(execFile);

/** How the server gets into the client: `install` writes it, or the person pastes what the server prints at its start. */
export type Way = 'install' | 'install --http' | 'printed for HTTP';

export interface Held {
  readonly tools: readonly OfferedTool[];
  /** By the names of the steps, as the server wrote them. */
  readonly results: Readonly<Record<string, string>>;
  /** With what the client puts around them. */
  readonly raw: Readonly<Record<string, string>>;
  /** What the client printed itself. */
  readonly said: string;
}

/** The steps are played in their order. */
export async function converse(agent: Agent, way: Way, steps: Readonly<Record<string, Step>>): Promise<Held> {
  const place = createPlace();
  const model = await startModel(Object.values(steps), { server: 'shell', unwrap: agent.unwrap });
  const server = way === 'install' ? undefined : await startProductHttp(place);
  const env = {
    PATH: [createBin(agent, place.directory), process.env['PATH'] ?? ''].join(delimiter),
    HOME: place.directory,
    TMPDIR: place.directory,
    SHELL: '/bin/bash',
    TERM: 'xterm-256color',
    SHELL_TEST_RUN: process.env['SHELL_TEST_RUN'] ?? '',
    MCP_SHELL_STATE_DIR: place.stateDir,
    ...agent.environment(model.url),
  };
  try {
    if (server !== undefined && way === 'printed for HTTP') await register(agent, server, { place, env });
    else await install(agent, server, env);
    agent.prepare(place.directory, model.url);
    const said = await ask(agent, place, env);
    const { tools, results } = model.conversation();
    expect(model.unknown()).toEqual([]);
    expect(results, said).toHaveLength(Object.keys(steps).length);
    const named = (texts: readonly string[]): Record<string, string> =>
      Object.fromEntries(Object.keys(steps).map((name, index) => [name, texts[index] ?? '']));
    return { tools, results: named(results.map(agent.unwrap)), raw: named(results), said };
  } finally {
    await server?.stop();
    await model.close();
    // Clients do not wait for the end of the servers they started.
    await ended(place.directory);
    place.remove();
  }
}

/** Names the client as a person types it. */
function createBin(agent: Agent, directory: string): string {
  const bin = join(directory, 'bin');
  mkdirSync(bin);
  const quoted = agent.program.map((word) => `'${word}'`).join(' ');
  writeFileSync(join(bin, agent.name), `#!/bin/sh\nexec ${quoted} "$@"\n`, { mode: 0o755 });
  return bin;
}

/** Over HTTP with a token of its own, which the running server accepts. */
async function install(
  agent: Agent,
  server: RunningProduct | undefined,
  env: Record<string, string>,
): Promise<void> {
  const http = server === undefined ? [] : ['--http', new URL(server.url).host];
  const args = [CLI, 'install', agent.id, '--yes', ...agent.install, ...http];
  const { stdout } = await run(process.execPath, args, { env });
  expect(stdout).toContain('Written.');
  // The token that the operator chose stays the operator's.
  if (server !== undefined) expect(stdout).not.toContain(server.token);
}

/** As the server says when it starts: a command, or lines of a settings file. */
async function register(
  agent: Agent,
  server: RunningProduct,
  { place, env }: { place: Place; env: Record<string, string> },
): Promise<void> {
  const block = new RegExp(`^  ${agent.title}\\b.*\\n((?: {4}.*\\n)+)`, 'm');
  const [, printed = ''] = block.exec(server.process.stdout()) ?? [];
  // A token that the operator chose is not printed.
  const lines = printed.replaceAll(/^ {4}/gm, '').replace('<MCP_SHELL_TOKEN>', server.token);
  if (agent.file !== undefined)
    rewrite(join(place.directory, agent.file), (text) => `${text}${lines}${agent.fileAlso ?? ''}`);
  else await run('sh', ['-c', lines], { cwd: place.work, env, timeout: 60_000 });
}

/** Answers with all it printed. Nobody types anything. */
async function ask(agent: Agent, place: Place, env: Record<string, string>): Promise<string> {
  const [program, ...before] = agent.program;
  const options = { cwd: place.work, env, timeout: 120_000, killSignal: 'SIGKILL' } as const;
  const running = run(program, [...before, ...agent.ask], options);
  running.child.stdin?.end();
  const { stdout, stderr } = await running;
  return `${stdout}${stderr}`;
}

async function ended(directory: string): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (processesIn(directory).length > 0) {
    if (Date.now() > deadline) throw new Error(`Outlived the client: ${processesIn(directory).join('; ')}`);
    await sleep(50);
  }
}

function processesIn(directory: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const isInside =
          readlinkSync(`/proc/${pid}/cwd`).startsWith(directory) ||
          readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`HOME=${directory}`);
        return isInside ? [readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ')] : [];
      } catch {
        // Gone meanwhile, or another user's.
        return [];
      }
    });
}
