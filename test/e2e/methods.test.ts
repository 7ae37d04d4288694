/** shell/exec and shell/allowed, the methods of 001, as a client of 001 uses them: raw lines and raw requests. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { longCommand, runsWith, until } from './support/long-command.ts';
import { createPlace, type Place } from './support/product.ts';
import { openRaw, type RawHere } from './support/product-here.ts';
import { openProductHttp, type ServedProduct } from './support/product-http.ts';
import { modernRequest, openSession, sendRaw } from './support/raw-http.ts';
import { startRaw } from './support/raw-process.ts';
import { initialize, modern, request } from './support/raw-streams.ts';

const TABLE = `[security.allowed_arguments]
sleep = []
printf = []
echo = []
git = ["status", "--version"]
`;

const exec = (id: unknown, command: string, ...args: string[]) =>
  request(id, 'shell/exec', { command, args });
const done = (command: string, stdout: string) => ({
  command,
  exitCode: 0,
  stdout,
  stderr: '',
  success: true,
});

let place: Place;
beforeEach(() => {
  place = createPlace();
});
const started: RawHere[] = [];
afterEach(async () => {
  for (const server of started.splice(0)) await server.leave();
  place.remove();
});

function start(args: readonly string[] = [], env: Record<string, string> = {}): RawHere {
  const server = openRaw(place.command(args, env));
  started.push(server);
  return server;
}

function settings(text: string): string[] {
  const file = join(place.directory, 'settings.toml');
  writeFileSync(file, text);
  return ['--config', file];
}

/** Says it, closes stdin, and takes what comes until the server exits. */
async function pipe(message: unknown, args: readonly string[] = [], env: Record<string, string> = {}) {
  const server = start(args, env);
  server.say(message);
  server.end();
  return server.rest();
}

describe('over stdio, without a handshake', () => {
  test('a request is answered before the server exits with 0', async () => {
    expect(await pipe(exec(1, 'sh', '-c', 'sleep 0.3; echo late; echo wrong >&2'))).toEqual({
      messages: [
        {
          jsonrpc: '2.0',
          id: 1,
          result: {
            command: 'sh -c sleep 0.3; echo late; echo wrong >&2',
            exitCode: 0,
            stdout: 'late',
            stderr: 'wrong',
            success: true,
          },
        },
      ],
      code: 0,
      signal: null,
    });
  });

  test('a batch is answered with a batch', async () => {
    const { messages, code } = await pipe([
      exec('a', 'echo', 'one'),
      request('b', 'shell/allowed'),
      exec('c', 'false'),
      request('d', 'shell/exec', { args: [] }),
      request('e', 'shell/exec', { command: 'echo', arguments: [] }),
      request('f', 'shell/other'),
    ]);
    expect(code).toBe(0);
    const byId = new Map((messages[0] as { id: string }[]).map(({ id, ...rest }) => [id, rest]));
    expect(Object.fromEntries(byId)).toEqual({
      a: { jsonrpc: '2.0', result: done('echo one', 'one') },
      b: { jsonrpc: '2.0', result: { allowedCommands: { '*': [] } } },
      c: {
        jsonrpc: '2.0',
        result: { command: 'false', exitCode: 1, stdout: '', stderr: '', success: false },
      },
      d: {
        jsonrpc: '2.0',
        error: {
          code: -32602,
          message: 'The parameter "command" is missing.',
          data: expect.objectContaining({ name: 'InvalidParameters' }),
        },
      },
      e: {
        jsonrpc: '2.0',
        error: {
          code: -32602,
          message: expect.stringContaining('"arguments"'),
          data: expect.objectContaining({ name: 'InvalidParameters' }),
        },
      },
      f: { jsonrpc: '2.0', error: { code: -32601, message: expect.any(String) } },
    });
  });

  test('arguments are not a shell’s', async () => {
    const { messages } = await pipe(exec(1, 'printf', '[%s]', '$HOME', 'a;b', '`id`', '*'));
    expect(messages).toEqual([
      { jsonrpc: '2.0', id: 1, result: done('printf [%s] $HOME a;b `id` *', '[$HOME][a;b][`id`][*]') },
    ]);
  });

  test('the time is limited, and the text carries the number', async () => {
    const args = settings(`limits.shell_exec_seconds = 1\n${TABLE}`);
    expect((await pipe(exec(1, 'sleep', '60'), args)).messages).toEqual([
      { jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'Command timeout after 1 seconds' } },
    ]);
  });

  test('what is not there, and where it is not', async () => {
    const { messages } = await pipe([
      exec(1, 'no-such-program'),
      request(2, 'shell/exec', { command: 'ls', cwd: '/no/such/place' }),
    ]);
    const errors = (messages[0] as { id: number; error: unknown }[]).toSorted((a, b) => a.id - b.id);
    expect(errors.map(({ error }) => error)).toEqual([
      { code: -32000, message: 'Command execution failed: no-such-program: command not found' },
      { code: -32000, message: 'Command execution failed: cwd /no/such/place does not exist.' },
    ]);
  });

  test('what is denied for another reason than the list says so', async () => {
    const { messages } = await pipe(exec(1, 'rm', '-rf', '/'));
    expect(messages).toEqual([
      {
        jsonrpc: '2.0',
        id: 1,
        error: { code: -32000, message: expect.stringMatching(/^Command 'rm' not allowed: .*destructive/) },
      },
    ]);
  });

  test('one MiB of each stream is answered, without a word between', async () => {
    const { messages } = await pipe(exec(1, 'sh', '-c', 'yes é | head -c 3000000'));
    const { result } = messages[0] as { result: { stdout: string } };
    expect(Buffer.byteLength(result.stdout)).toBeLessThanOrEqual(1024 * 1024);
    expect(Buffer.byteLength(result.stdout)).toBeGreaterThan(1024 * 1024 - 8);
    expect(result.stdout).toMatch(/^(?:é\n)+é?$/);
  });

  test('it is in the audit log like any other', async () => {
    await pipe(exec(1, 'echo', 'hi'));
    const directory = join(place.stateDir, 'audit');
    const lines = readdirSync(directory).flatMap((name) =>
      readFileSync(join(directory, name), 'utf8').trim().split('\n'),
    );
    const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const events = entries.map(({ event }) => event);
    expect(events.filter((event) => /^execution|^call/.test(String(event)))).toEqual([
      'execution_allowed',
      'execution_ended',
      'call',
    ]);
    expect(entries).toContainEqual(
      expect.objectContaining({ event: 'call', tool: 'shell/exec', outcome: 'answered' }),
    );
  });

  test('a toolset that runs nothing opens no method that does', async () => {
    const { messages } = await pipe(exec(1, 'echo', 'hi'), ['--tools', 'process_list,read_execution_output']);
    expect(messages).toMatchObject([{ error: { code: -32601 } }]);
  });
});

describe('with a handshake', () => {
  test.each([
    ['2025-06-18', initialize],
    ['2026-07-28', modern(request(0, 'server/discover'))],
  ])('of %s they are there beside the tools', async (revision, first) => {
    const server = start();
    server.say(first);
    await server.next();
    const say = exec(1, 'echo', 'hi');
    server.say(revision === '2026-07-28' ? modern(say) : say);
    expect(await server.next()).toMatchObject({ id: 1, result: done('echo hi', 'hi') });
  });

  test('a cancelled one is ended', async () => {
    const server = start();
    server.say(initialize);
    await server.next();
    const long = longCommand(place, 'cancelled');
    server.say(exec(1, 'bash', '-c', long.text));
    await until('the command runs', () => long.hasStarted() && long.isRunning());
    server.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await until('the command is gone', () => !long.isRunning());
    server.say(request(2, 'ping'));
    expect(await server.next()).toMatchObject({ id: 2 });
  });
});

describe('--greeting', () => {
  test('comes first, and MCP goes on behind it', async () => {
    const server = start(['--greeting']);
    expect(await server.next()).toMatchObject({ id: null, result: { protocolVersion: '2024-11-05' } });
    server.say(initialize);
    expect(await server.next()).toMatchObject({
      id: 0,
      result: { serverInfo: { name: 'mcp-shell-server' } },
    });
  });

  test('is refused where there is nobody to greet', async () => {
    const server = startRaw(place.command(['--greeting', '--http', '127.0.0.1:0']));
    server.end();
    expect(await server.rest()).toEqual({ messages: [], code: 1, signal: null });
    expect(server.stderr()).toMatch(/--greeting.*--http/);
  });
});

describe('over HTTP', () => {
  let home: Place;
  let http: ServedProduct;
  const headers = { authorization: 'Bearer the-token-of-this-test' };
  beforeAll(async () => {
    home = createPlace();
    const file = join(home.directory, 'settings.toml');
    writeFileSync(file, TABLE);
    http = await openProductHttp(home, ['--config', file]);
  });
  afterAll(async () => {
    await http.stop();
    home.remove();
  });

  test('no handshake is needed', async () => {
    expect(await sendRaw(http.url, { headers, body: exec(7, 'echo', 'hi') })).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/json' },
      json: { jsonrpc: '2.0', id: 7, result: done('echo hi', 'hi') },
    });
  });

  test('a batch is answered with a batch, and a refusal is an error of JSON-RPC', async () => {
    const body = [exec(1, 'git', 'push'), exec(2, 'rm', 'x'), request(3, 'shell/allowed')];
    const { status, text } = await sendRaw(http.url, { headers, body });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual([
      {
        jsonrpc: '2.0',
        id: 1,
        error: { code: -32000, message: "Command 'git' with argument 'push' not allowed" },
      },
      { jsonrpc: '2.0', id: 2, error: { code: -32000, message: "Command 'rm' not allowed" } },
      {
        jsonrpc: '2.0',
        id: 3,
        result: { allowedCommands: { sleep: [], printf: [], echo: [], git: ['status', '--version'] } },
      },
    ]);
  });

  test('a session and the revision 2026-07-28 have them too', async () => {
    const session = await openSession(http.url, http.token);
    const inSession = await sendRaw(http.url, { headers: session, body: exec(1, 'echo', 'a') });
    expect(inSession.json).toMatchObject({ id: 1, result: done('echo a', 'a') });
    const alone = await sendRaw(http.url, modernRequest(exec(2, 'echo', 'b'), http.token));
    expect(alone.json).toMatchObject({ id: 2, result: done('echo b', 'b') });
  });

  test('nobody without the token, and nothing else without a session', async () => {
    expect((await sendRaw(http.url, { body: exec(1, 'echo', 'hi') })).status).toBe(401);
    for (const body of [
      request(1, 'tools/list'),
      request(1, 'shell/other'),
      [exec(1, 'echo', 'hi'), request(2, 'tools/list')],
      { jsonrpc: '2.0', method: 'shell/exec', params: { command: 'echo' } },
      [],
    ])
      expect((await sendRaw(http.url, { headers, body })).status, JSON.stringify(body)).toBe(400);
  });

  test('a connection that is closed ends the command', async () => {
    const seconds = `36${Math.random().toString().slice(2, 12)}`;
    const isRunning = (): boolean => runsWith(`sleep ${seconds}`);
    const going = httpRequest(http.url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
    });
    going.on('error', () => undefined);
    going.end(JSON.stringify(exec(1, 'sleep', seconds)));
    await until('the command runs', isRunning);
    going.destroy();
    await until('the command is gone', () => !isRunning());
    expect((await sendRaw(http.url, { headers, body: exec(2, 'echo', 'on') })).status).toBe(200);
  });
});
