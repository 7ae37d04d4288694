/** Waiting for what happens, with real processes. */
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { needs } from '../../test/setup/needs.ts';
import { type Caller, createCaller } from '../../test/support/caller.ts';
import { createWorld, type World } from '../../test/support/world.ts';
import { processGetExecution } from './process-get-execution.ts';
import { shellExecute } from './shell-execute.ts';

let world: World;
let caller: Caller;
beforeAll(() => {
  world = createWorld();
  caller = createCaller(world);
});
afterAll(async () => {
  await caller.dispose();
  await world[Symbol.asyncDispose]();
});

const NODE = JSON.stringify(process.execPath);
/** Listens on a port of its own and says which; answers with the status. */
const serve = (status = 200): string =>
  `exec ${NODE} -e 'require("http").createServer((q, a) => { a.statusCode = ${status}; a.end() }).listen(+process.env.PORT || 0, "127.0.0.1", function () { console.log("port " + this.address().port) })'`;

interface Wait {
  result: string;
  seconds: number;
  met?: { execution_id: string; condition: object; line?: string; after_seconds?: number }[];
  impossible?: { execution_id: string; condition: object; reason?: string }[];
}
interface Data {
  execution_id: string;
  status: string;
  exit_code?: number;
  stdout?: string;
  wait?: Wait;
  executions?: Data[];
}

async function start(command: string, more: object = {}): Promise<string> {
  const { data } = await caller.call(shellExecute, { command, execution_mode: 'background', ...more });
  return (data as unknown as Data).execution_id;
}

async function run(input: object, about?: object): Promise<Data & { text: string }> {
  const { data, text } = await caller.call(shellExecute, input, about);
  return { ...(data as unknown as Data), text };
}

async function look(input: object, about?: object): Promise<Data & { text: string }> {
  const { data, text } = await caller.call(processGetExecution, input, about);
  return { ...(data as unknown as Data), text };
}

async function freePort(): Promise<number> {
  const server = await listen();
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const listen = (): Promise<Server> =>
  new Promise((resolve) => {
    const server = createServer((_, answer) => answer.end());
    server.listen(0, '127.0.0.1', () => resolve(server));
  });

describe('shell_execute with wait_for answers', () => {
  test.each(['background', 'adaptive'])('when a line of the output matches (%s)', async (mode) => {
    const { status, wait, text } = await run({
      command: 'echo one; echo "ready in 12 ms"; exec sleep 1000',
      execution_mode: mode,
      wait_for: [{ output: 'ready in \\d+' }],
    });
    expect(status).toBe('running');
    expect(wait).toMatchObject({ result: 'met', met: [{ line: 'ready in 12 ms' }] });
    expect(text).toContain('ready in 12 ms');
  });

  test('when the output without colours matches', async () => {
    const { wait } = await run({
      command: `printf 'Local\\033[22m: http://x/\\n'; exec sleep 1000`,
      wait_for: [{ output: 'Local: http' }],
    });
    expect(wait?.met?.[0]?.line).toBe('Local: http://x/');
  });

  test('when a line without an end matches, on stderr as well', async () => {
    const { wait } = await run({
      command: 'printf "Continue? [y/n] " >&2; exec sleep 1000',
      wait_for: [{ output: 'Continue\\?' }],
    });
    expect(wait).toMatchObject({ result: 'met', met: [{ line: 'Continue? [y/n]' }] });
  });

  test('when it listens on a port', async () => {
    const port = await freePort();
    const { status, wait } = await run({
      command: serve(),
      environment_variables: { PORT: `${port}` },
      execution_mode: 'background',
      wait_for: [{ port }],
    });
    expect(status).toBe('running');
    expect(wait).toMatchObject({ result: 'met', met: [{ condition: { port } }] });
  });

  test('when a URL of it answers', async () => {
    const port = await freePort();
    const { wait } = await run({
      command: serve(404),
      environment_variables: { PORT: `${port}` },
      wait_for: [{ url: `http://localhost:${port}/health` }],
    });
    expect(wait).toMatchObject({ result: 'met' });
  });

  test('when a file exists, relative to its directory', async () => {
    mkdirSync(join(world.settings.defaultWorkdir, 'sub'));
    const { status, wait } = await run({
      command: 'sleep 0.2; mkdir dist; touch dist/index.js; exec sleep 1000',
      working_directory: 'sub',
      wait_for: [{ file: 'dist/index.js' }],
    });
    expect([status, wait?.result]).toEqual(['running', 'met']);
    expect(existsSync(join(world.settings.defaultWorkdir, 'sub/dist/index.js'))).toBe(true);
  });

  test('when nothing was printed for a while', async () => {
    const { wait, stdout } = await run({
      command: 'for n in 1 2 3; do echo $n; sleep 0.2; done; exec sleep 1000',
      wait_for: [{ quiet_seconds: 0.7 }],
    });
    expect(wait?.result).toBe('met');
    expect(stdout).toBe('1\n2\n3\n');
  });

  test('when it ends first, at once, and says that the condition no longer can come true', async () => {
    const { status, exit_code, wait, text } = await run({
      command: 'echo "address in use" >&2; exit 3',
      wait_for: [{ port: 1 }, { output: 'ready' }],
    });
    expect([status, exit_code, wait?.result]).toEqual(['failed', 3, 'impossible']);
    expect(wait?.impossible).toHaveLength(2);
    expect(text).toContain('no longer can');
    expect(text).toContain('address in use');
  });

  test('with a line that it prints as the last thing it does', async () => {
    const { wait } = await run({ command: 'sleep 0.3; echo done', wait_for: [{ output: 'done' }] });
    expect(wait?.met?.[0]?.line).toBe('done');
  });

  test('after foreground_timeout_seconds, while it goes on', async () => {
    const { status, wait, text } = await run({
      command: 'exec sleep 1000',
      foreground_timeout_seconds: 1,
      wait_for: [{ output: 'never' }],
    });
    expect([status, wait?.result]).toEqual(['running', 'timeout']);
    // The same call would start it once more.
    expect(text).toContain('process_get_execution with the same wait_for waits on');
  });

  test.each([
    ['all', 'when all conditions hold', ['first', 'second']],
    ['any', 'when one holds', ['first']],
  ])('with wait_mode %s %s', async (wait_mode, _, lines) => {
    const { status, wait } = await run({
      command: 'echo first; sleep 0.3; echo second; exec sleep 1000',
      wait_mode,
      wait_for: [{ output: 'first' }, wait_mode === 'all' ? { output: 'second' } : { file: 'never' }],
    });
    expect([status, wait?.result]).toEqual(['running', 'met']);
    expect(wait?.met?.map(({ line }) => line)).toEqual(lines);
  });

  test('in a line beyond a megabyte of output', async () => {
    const { wait } = await run({
      command: 'seq 300000; echo "ready now"; exec sleep 1000',
      max_output_size: 100_000_000,
      wait_for: [{ output: '^ready \\w+$' }],
    });
    expect(wait?.met?.[0]?.line).toBe('ready now');
  });
});

test('a cancelled wait ends what it started', async () => {
  await using own = createWorld();
  const { call: callTool } = createCaller(own);
  const controller = new AbortController();
  const call = callTool(
    shellExecute,
    { command: 'echo up; exec sleep 1000', execution_mode: 'background', wait_for: [{ output: 'never' }] },
    { signal: controller.signal },
  );
  await expect.poll(() => own.executions.count('executions')).toBe(1);
  controller.abort();
  await expect(call).rejects.toMatchObject({ name: 'AbortError' });
  await expect.poll(() => own.executions.count('executions')).toBe(0);
});

describe('process_get_execution', () => {
  test('waits for the first of several executions that ends', async () => {
    const slow = await start('exec sleep 1000');
    const fast = await start('sleep 0.2; exit 7');
    const { wait, executions } = await look({ execution_ids: [slow, fast], wait_seconds: 60 });
    expect(wait).toMatchObject({
      result: 'met',
      met: [{ execution_id: fast, condition: { exit: true } }],
    });
    expect(executions?.map(({ status, exit_code }) => [status, exit_code])).toEqual([
      ['running', undefined],
      ['failed', 7],
    ]);
  });

  test('waits for the end of all of them', async () => {
    const ids = [await start('sleep 0.1'), await start('sleep 0.4; echo last'), await start('true')];
    const { wait, executions, text } = await look({ execution_ids: ids, wait_mode: 'all', wait_seconds: 60 });
    expect(wait?.met).toHaveLength(3);
    expect(executions?.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
    expect(text).toContain('last');
  });

  test('looks at several without waiting', async () => {
    const ids = [await start('exec sleep 1000'), await start('exec sleep 1000')];
    const { executions, wait } = await look({ execution_ids: ids });
    expect(executions?.map(({ status }) => status)).toEqual(['running', 'running']);
    expect(wait?.result).toBe('timeout');
  });

  test('shows only output that the caller has not seen, and matches only that', async () => {
    const fifo = join(world.settings.defaultWorkdir, 'go');
    const { execution_id } = await run({
      command: `mkfifo go; echo "built 1"; read -r x < go; echo "built 2"; exec sleep 1000`,
      wait_for: [{ output: 'built' }],
    });
    const waiting = look({ execution_id, wait_for: [{ output: 'built' }] });
    await expect.poll(() => existsSync(fifo)).toBe(true);
    writeFileSync(fifo, 'x\n');
    const { stdout, wait } = await waiting;
    expect(wait?.met?.[0]?.line).toBe('built 2');
    expect(stdout).toBe('built 2\n');
  });

  test('a token that only reads has nothing sent to a URL, and waits for everything else', async () => {
    const id = await start(serve(), { wait_for: [{ output: 'port' }] });
    const reads = { reader: 'dashboard', isReadOnly: true };
    const port = Number(/port (\d+)/.exec((await look({ execution_id: id })).stdout ?? '')?.[1]);
    for (const url of [
      `http://127.0.0.1:${port}/reset`,
      `http://localhost:${port}/`,
      'http://example.com/',
      'x',
    ])
      for (const wait_for of [[{ url }], [{ exit: true }, { url }]])
        await expect(look({ execution_id: id, wait_for }, reads)).rejects.toMatchObject({ code: 'AUTH_003' });
    for (const condition of [{ output: 'port' }, { port }, { quiet_seconds: 0.1 }])
      expect((await look({ execution_id: id, wait_for: [condition] }, reads)).wait?.result).toBe('met');
    const url = `http://127.0.0.1:${port}/`;
    expect((await look({ execution_id: id, wait_for: [{ url }] })).wait?.result).toBe('met');
  });

  test('another reader sees the output from its beginning', async () => {
    const id = await start('echo one; exec sleep 1000');
    await look({ execution_id: id, wait_for: [{ output: 'one' }] });
    const { stdout, wait } = await look({ execution_id: id, wait_for: [{ output: 'one' }] }, { reader: 'b' });
    expect([stdout, wait?.result]).toEqual(['one\n', 'met']);
  });

  test('goes on waiting for others where one had ended before', async () => {
    const ended = await start('true');
    await look({ execution_id: ended, wait_seconds: 60 });
    const open = await start('sleep 0.3; echo here; exec sleep 1000');
    const { wait } = await look({ execution_ids: [ended, open], wait_for: [{ output: 'here' }] });
    expect(wait).toMatchObject({ result: 'met', met: [{ execution_id: open }] });
  });

  test('answers at once where one ends meanwhile without what was waited for', async () => {
    const ends = await start('sleep 0.3; exit 1');
    const open = await start('exec sleep 1000');
    const { wait } = await look({ execution_ids: [ends, open], wait_for: [{ output: 'here' }] });
    expect(wait).toMatchObject({ result: 'impossible', impossible: [{ execution_id: ends }] });
  });

  test('a detached execution is waited for like any other', async () => {
    const { execution_id, wait } = await run({
      command: 'echo up; exec sleep 1000',
      execution_mode: 'detached',
      wait_for: [{ output: 'up' }],
    });
    expect(wait?.result).toBe('met');
    const execution = await world.executions.get('local', execution_id);
    await execution.live?.end('terminated', 'SIGKILL');
  });

  test('an execution of another principal does not exist', async () => {
    const id = await start('exec sleep 1000');
    await expect(look({ execution_ids: [id] }, { principal: 'bob' })).rejects.toMatchObject({
      code: 'RESOURCE_001',
    });
  });

  test.each([
    [{}, 'PARAM_001'],
    [{ execution_ids: [] }, 'PARAM_001'],
    [{ execution_ids: Array.from({ length: 51 }, (_, n) => `exec_${n}`) }, 'PARAM_002'],
  ])('refuses %j', async (input, code) => {
    await expect(look(input)).rejects.toMatchObject({ code });
  });
});

describe('refuses', () => {
  test.each<[object[], string]>([
    [[], 'PARAM_002'],
    [[{}], 'PARAM_002'],
    [[{ exit: false }], 'PARAM_002'],
    [[{ exit: true, port: 1 }], 'PARAM_002'],
    [[{ output: '' }], 'PARAM_002'],
    [[{ output: '(' }], 'PARAM_002'],
    [[{ output: '(?=x)' }], 'PARAM_002'],
    [[{ quiet_seconds: 0 }], 'PARAM_002'],
    [[{ quiet_seconds: 1e9 }], 'PARAM_002'],
    [[{ port: 0 }], 'PARAM_002'],
    [[{ port: 65_536 }], 'PARAM_002'],
    [[{ port: 1.5 }], 'PARAM_002'],
    [[{ url: 'file:///etc/passwd' }], 'PARAM_002'],
    [[{ url: 'ftp://127.0.0.1/' }], 'PARAM_002'],
    [[{ url: 'http://user:pass@127.0.0.1/' }], 'PARAM_002'],
    [[{ url: 'http://169.254.169.254/latest/meta-data' }], 'SECURITY_003'],
    [[{ url: 'http://192.168.0.1/' }], 'SECURITY_003'],
    [[{ url: 'http://10.0.0.1:8080/' }], 'SECURITY_003'],
    [[{ url: 'http://[::ffff:127.0.0.1]/' }], 'SECURITY_003'],
    [[{ url: 'http://0.0.0.0/' }], 'SECURITY_003'],
    [[{ file: '' }], 'PARAM_002'],
    [[{ file: 'a\0b' }], 'PARAM_002'],
    [Array.from({ length: 21 }, () => ({ exit: true })), 'PARAM_002'],
  ])('%j, and starts nothing', async (wait_for, code) => {
    await expect(run({ command: 'touch started', wait_for })).rejects.toMatchObject({ code });
    expect(existsSync(join(world.settings.defaultWorkdir, 'started'))).toBe(false);
  });

  test('the foreground, where it has no effect', async () => {
    await expect(
      run({ command: 'true', execution_mode: 'foreground', wait_for: [{ exit: true }] }),
    ).rejects.toMatchObject({ code: 'PARAM_002' });
  });
});

describe('finds out nothing that the caller may not', () => {
  test('a port and a URL of another process do not count', async () => {
    const server = await listen();
    let asked = 0;
    server.on('request', () => asked++);
    const { port } = server.address() as AddressInfo;
    try {
      const { wait } = await run({
        command: 'exec sleep 1000',
        foreground_timeout_seconds: 1,
        wait_for: [{ port }, { url: `http://127.0.0.1:${port}/` }],
      });
      expect(wait).toEqual({ result: 'timeout', seconds: expect.any(Number) });
      expect(asked).toBe(0);
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  test('a server error does not count as an answer', async () => {
    const port = await freePort();
    const { wait } = await run({
      command: serve(500),
      environment_variables: { PORT: `${port}` },
      foreground_timeout_seconds: 2,
      wait_for: [{ url: `http://127.0.0.1:${port}/` }],
    });
    expect(wait?.result).toBe('timeout');
  });

  describe('with allowed_directories', () => {
    let strict: World;
    beforeAll(() => {
      strict = createWorld();
    });
    afterAll(() => strict[Symbol.asyncDispose]());

    test.each(['/etc/passwd', '../../etc/passwd', '~/.profile'])('the file %s', async (file) => {
      const narrow = createWorld({
        settings: { security: { allowedDirectories: [strict.settings.defaultWorkdir] } },
      });
      try {
        const { call } = createCaller(narrow);
        const input = {
          command: 'true',
          working_directory: strict.settings.defaultWorkdir,
          wait_for: [{ file }],
        };
        await expect(call(shellExecute, input)).rejects.toMatchObject({ code: 'SECURITY_002' });
      } finally {
        await narrow[Symbol.asyncDispose]();
      }
    });

    test('a link that leads out', async () => {
      const directory = strict.settings.defaultWorkdir;
      const narrow = createWorld({ settings: { security: { allowedDirectories: [directory] } } });
      try {
        const { call } = createCaller(narrow);
        const waiting = call(shellExecute, {
          command: 'exec sleep 1000',
          working_directory: directory,
          foreground_timeout_seconds: 1,
          wait_for: [{ file: 'out/passwd' }],
        });
        await expect.poll(() => narrow.executions.count('executions')).toBe(1);
        symlinkSync('/etc', join(directory, 'out'));
        const { data } = await waiting;
        expect((data as unknown as Data).wait?.result).toBe('timeout');
      } finally {
        await narrow[Symbol.asyncDispose]();
      }
    });
  });
});

test('the network that the policy denies is not reached by a wait either', async () => {
  const shut = createWorld({ settings: { security: { network: false } } });
  try {
    const { call } = createCaller(shut);
    await expect(
      call(shellExecute, { command: 'true', wait_for: [{ url: 'http://example.com/' }] }),
    ).rejects.toMatchObject({ code: 'SECURITY_003' });
  } finally {
    await shut[Symbol.asyncDispose]();
  }
});

describe.skipIf(needs('bwrap', 'python3'))('in a sandbox without a network', () => {
  beforeAll(async () => {
    await caller.dispose();
    await world[Symbol.asyncDispose]();
    world = createWorld({ settings: { security: { sandbox: 'required', network: false } } });
    caller = createCaller(world);
  });

  test('a port is looked for in its own network', async () => {
    const server = await listen();
    const { port } = server.address() as AddressInfo;
    try {
      const other = await run({
        command: 'exec sleep 1000',
        foreground_timeout_seconds: 1,
        wait_for: [{ port }],
      });
      expect(other.wait?.result).toBe('timeout');
      // A program that every sandbox shows, wherever this Node is.
      const listening = `socket.create_server(("127.0.0.1", ${port})); time.sleep(1000)`;
      const own = await run({
        command: `exec python3 -c 'import socket, time; server = ${listening}'`,
        wait_for: [{ port }],
      });
      expect(own.wait?.result).toBe('met');
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  test('a URL is refused, before anything runs and later', async () => {
    const wait_for = [{ url: 'http://127.0.0.1:3000/' }];
    await expect(run({ command: 'touch started', wait_for })).rejects.toMatchObject({ code: 'PARAM_002' });
    expect(existsSync(join(world.settings.defaultWorkdir, 'started'))).toBe(false);
    const id = await start('echo up; exec sleep 1000', { wait_for: [{ output: 'up' }] });
    await expect(look({ execution_id: id, wait_for })).rejects.toMatchObject({
      message: expect.stringContaining('network of its own'),
    });
  });

  test('files are those that its processes see', async () => {
    // In the server's own /tmp, which no command sees.
    const hidden = join(world.directory, 'hidden');
    writeFileSync(hidden, '');
    const { wait } = await run({
      command: `ln -sfn ${hidden} link; exec sleep 1000`,
      foreground_timeout_seconds: 1,
      wait_for: [{ file: 'link' }, { file: hidden }],
    });
    expect(wait?.result).toBe('timeout');
    const own = await run({
      command: 'touch /tmp/own-$$ /tmp/own; exec sleep 1000',
      wait_for: [{ file: '/tmp/own' }],
    });
    expect(own.wait?.result).toBe('met');
  });

  test('a file that it makes as the last thing it does is found', async () => {
    const { wait } = await run({
      command: 'sleep 1; mkdir -p dist && touch dist/index.js',
      wait_for: [{ file: 'dist/index.js' }],
    });
    expect(wait?.result).toBe('met');
  });

  test('a link at its end does not lead out', async () => {
    const hidden = join(world.directory, 'hidden');
    writeFileSync(hidden, '');
    const { wait } = await run({ command: `sleep 1; ln -s ${hidden} late`, wait_for: [{ file: 'late' }] });
    expect(wait?.result).toBe('impossible');
  });
});
