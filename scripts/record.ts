/**
 * Records the sessions of the documents anew, each in a terminal of this server: `npm run docs -- --record`. What differs
 * from machine to machine, where it ran and when, is left out of the recordings.
 */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const HOME = '/home/me';
const SIZE = { width: 108, height: 40 };

/** What is typed, and into which file it goes. */
const SESSIONS = {
  doctor: ['mcp-shell-server doctor'],
  agent: ['agent'],
};

/** A project with a mistake in it, as an agent finds one. */
const PROJECT = {
  'package.json': JSON.stringify({ name: 'prices', type: 'module', scripts: { test: 'node --test' } }),
  'price.js': 'export const withTax = (cents, percent) => Math.floor(cents * (1 + percent / 100));\n',
  'price.test.js': [
    "import assert from 'node:assert';",
    "import { test } from 'node:test';",
    "import { withTax } from './price.js';",
    '',
    "test('tax is added', () => assert.equal(withTax(1000, 20), 1200));",
    "test('half a cent is rounded up', () => assert.equal(withTax(1050, 7), 1124));",
    '',
  ].join('\n'),
};

export async function record(directory: string): Promise<void> {
  const room = mkdtempSync(join(realpathSync(tmpdir()), 'record-'));
  try {
    const home = furnish(room);
    for (const [name, commands] of Object.entries(SESSIONS)) {
      const cast = await recordOne(room, home, commands);
      writeFileSync(join(directory, `${name}.cast`), plain(cast, home));
    }
  } finally {
    rmSync(room, { recursive: true, force: true });
  }
}

/** A home directory with a project, and the programs that are typed. */
function furnish(room: string): string {
  const home = join(room, 'home');
  const work = join(home, 'project');
  const bin = join(home, '.local/bin');
  for (const path of [work, bin]) mkdirSync(path, { recursive: true });
  for (const [name, text] of Object.entries(PROJECT)) writeFileSync(join(work, name), text);
  writeFileSync(join(home, '.bashrc'), `PS1='\\[\\e[1;32m\\]~/project\\[\\e[0m\\] $ '\nPATH=${bin}:$PATH\n`);
  const programs = { 'mcp-shell-server': 'dist/cli.js', agent: 'scripts/recorded-agent.mjs' };
  for (const [name, path] of Object.entries(programs)) {
    const file = join(bin, name);
    writeFileSync(file, `#!/bin/sh\nexec ${process.execPath} ${join(root, path)} "$@"\n`);
    chmodSync(file, 0o755);
  }
  return home;
}

async function recordOne(room: string, home: string, commands: readonly string[]): Promise<string> {
  const state = join(room, 'state');
  const client = new Client({ name: 'recorder', version: '1' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [join(root, 'dist/cli.js'), '--state-dir', state],
    cwd: join(home, 'project'),
    // What is recorded has a sandbox of its own, and those do not nest.
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      HOME: home,
      SHELL: '/bin/bash',
      MCP_SHELL_SECURITY_SANDBOX: 'off',
    },
    stderr: 'ignore',
  });
  const call = async (name: string, args: object): Promise<Record<string, unknown>> => {
    const answer = await client.callTool({ name, arguments: args as Record<string, unknown> });
    if (answer.isError === true) throw new Error(JSON.stringify(answer.content));
    return answer.structuredContent as Record<string, unknown>;
  };
  await client.connect(transport);
  try {
    const { terminal_id } = await call('terminal_create', { shell_type: 'bash', dimensions: SIZE });
    for (const input of commands) {
      const typed = { terminal_id, input, execute: true, timeout_seconds: 40, wait_for: '~/project.* \\$ $' };
      await call('terminal_send_input', typed);
    }
    await call('terminal_close', { terminal_id });
    const execution = String(terminal_id).replace('term', 'exec');
    return readFileSync(join(state, 'executions', execution, 'cast'), 'utf8');
  } finally {
    await client.close();
  }
}

function plain(cast: string, home: string): string {
  const [header = '', ...lines] = cast.replaceAll(home, HOME).split('\n');
  const { version, width, height } = JSON.parse(header) as Record<string, unknown>;
  return [JSON.stringify({ version, width, height }), ...lines].join('\n');
}
