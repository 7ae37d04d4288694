/**
 * Makes the code caches of dist/ for the Node that runs this: a server is used as clients use it, and what V8 compiled
 * for that is kept. Without them everything works, only later.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const RECORDER = fileURLToPath(new URL('record-code.cjs', import.meta.url));
/** For all of it; a build does not wait for a machine on which something hangs. */
const TIMEOUT_MS = 30_000;

export async function makeCodeCaches(dist) {
  const home = mkdtempSync(join(tmpdir(), 'mcp-shell-code-'));
  try {
    await use(dist, home);
  } finally {
    rmSync(home, { recursive: true, force: true });
    removeOld(dist);
  }
}

async function use(dist, home) {
  const server = spawn(process.execPath, ['--require', RECORDER, join(dist, 'cli.js')], {
    cwd: home,
    env: { PATH: process.env['PATH'], HOME: home, XDG_STATE_HOME: home },
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  const ended = new Promise((resolve) => server.once('close', resolve));
  const answers = createInterface(server.stdout)[Symbol.asyncIterator]();
  let lastId = 0;
  const write = (message) => server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

  async function ask(method, params) {
    const id = ++lastId;
    write({ id, method, params });
    for (;;) {
      const { value, done } = await answers.next();
      if (done) throw new Error(`the server ended before it answered ${method}`);
      const message = JSON.parse(value);
      if (message.id === id) return message.result;
    }
  }
  const call = async (name, given) => (await ask('tools/call', { name, arguments: given })).structuredContent;

  await ask('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'build', version: '1' },
  });
  write({ method: 'notifications/initialized' });
  await ask('tools/list', {});
  for (const execution_mode of ['foreground', 'adaptive', 'background', 'detached'])
    await call('shell_execute', { command: 'echo "a $HOME" | cat && ls', execution_mode });
  await call('process_list', {});
  // Where terminals do not work, the caches of their host are not made.
  const { terminal_id } = await call('terminal_create', {});
  if (terminal_id !== undefined) {
    await call('terminal_send_input', { terminal_id, input: 'echo $((40+2))', execute: true });
    await call('terminal_get_output', { terminal_id });
    await call('terminal_close', { terminal_id });
  }
  server.stdin.end();
  await ended;
}

/** Caches of chunks that are there no more. */
function removeOld(dist) {
  const caches = join(dist, 'code-cache');
  if (!existsSync(caches)) return;
  for (const version of readdirSync(caches))
    for (const name of readdirSync(join(caches, version)))
      if (!existsSync(join(dist, 'chunks', name.replace(/\.bin$/, '')))) rmSync(join(caches, version, name));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await makeCodeCaches(process.argv[2]);
