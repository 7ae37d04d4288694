/** The MCPB bundle: built, validated and unpacked by @anthropic-ai/mcpb, and started as a desktop client starts it. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectStdio } from '../e2e/support/clients.ts';
import { read } from '../e2e/support/product.ts';
import { ROOT } from '../support/root.ts';
import {
  createCheckout,
  createRoom,
  npmEnvironment,
  pack,
  type Room,
  runBounded,
  VERSION,
} from './support/npm.ts';

interface Manifest {
  readonly server: {
    readonly entry_point: string;
    readonly mcp_config: { command: string; args: string[]; env: Record<string, string> };
  };
  readonly user_config: Readonly<Record<string, { default?: string }>>;
}

const MCPB = join(ROOT, 'node_modules/@anthropic-ai/mcpb/dist/cli/cli.js');

let room: Room;
let extension = '';
let manifest: Manifest;

beforeAll(async () => {
  room = createRoom();
  const { tarball } = await pack(createCheckout(room.directory), room.directory);
  const bundle = join(room.directory, 'shell.mcpb');
  extension = join(room.directory, 'extension');
  const run = (...args: string[]): Promise<string> =>
    runBounded(process.execPath, args, { env: npmEnvironment() });
  await run(join(ROOT, 'scripts/mcpb.mjs'), tarball, bundle);
  await run(MCPB, 'unpack', bundle, extension);
  await run(MCPB, 'validate', join(extension, 'manifest.json'));
  manifest = JSON.parse(readFileSync(join(extension, 'manifest.json'), 'utf8')) as Manifest;
});
afterAll(() => room?.remove());

/** As a client fills it in. */
function start(chosen: Readonly<Record<string, string>>) {
  const { command, args, env } = manifest.server.mcp_config;
  const fill = (value: string): string =>
    value.replaceAll('${__dirname}', extension).replace(/\$\{user_config\.(\w+)\}/g, (_, name: string) => {
      const choice = chosen[name] ?? manifest.user_config[name]?.default;
      if (choice === undefined) throw new Error(`Nobody is asked for ${name}.`);
      return choice;
    });
  return connectStdio('v2 auto', {
    // Desktop clients bring their own Node.
    command: command === 'node' ? process.execPath : command,
    args: args.map(fill),
    cwd: '/',
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: room.directory,
      SHELL: '/bin/bash',
      SHELL_TEST_RUN: process.env['SHELL_TEST_RUN'] ?? '',
      MCP_SHELL_STATE_DIR: join(room.directory, 'state'),
      ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, fill(value)])),
    },
  });
}

function makeWorkspace(name: string): string {
  const workspace = join(room.directory, name);
  mkdirSync(workspace);
  return workspace;
}

test('it runs commands in the workspace that was chosen, and a terminal', async () => {
  const workspace = makeWorkspace('chosen');
  const client = await start({ workspace });
  try {
    expect(client.serverInfo).toMatchObject({ version: VERSION });
    const { data } = read(await client.callTool('shell_execute', { command: 'pwd; echo x > made' }));
    expect(data).toMatchObject({ status: 'completed', stdout: `${workspace}\n` });
    expect(readdirSync(workspace)).toContain('made');
    const terminal = read(await client.callTool('terminal_create', { shell_type: 'bash' }));
    expect(terminal.data).toMatchObject({ shell_type: 'bash' });
    await client.callTool('terminal_close', { terminal_id: terminal.data.terminal_id });
  } finally {
    await client.close();
  }
});

test('the preset that was chosen holds', async () => {
  const client = await start({ workspace: makeWorkspace('strict'), preset: 'minimal' });
  try {
    const { text } = read(await client.callTool('shell_execute', { command: 'curl https://example.com' }));
    expect(text).toContain('not in the allow-list');
  } finally {
    await client.close();
  }
});

test('it has the native module for every platform that it names, and no path of whoever built it', () => {
  const scope = join(extension, 'server/node_modules/@lydell');
  expect(readdirSync(scope).sort()).toEqual([
    'node-pty',
    'node-pty-darwin-arm64',
    'node-pty-darwin-x64',
    'node-pty-linux-arm64',
    'node-pty-linux-x64',
  ]);
  const texts = readdirSync(extension, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.json'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));
  expect(texts.filter((text) => text.includes(room.directory))).toEqual([]);
});
