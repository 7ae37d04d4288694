/** The tools of other interfaces: shell_exec and shell_allowed (001, 003), shell (000), and 004's earlier names. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { needs } from '../setup/needs.ts';
import type { ClientKind } from './support/clients.ts';
import { longCommand, until } from './support/long-command.ts';
import { createPlace, type Place, type Product } from './support/product.ts';
import { connectHere, openProduct } from './support/product-here.ts';
import { startRaw } from './support/raw-process.ts';
import { call } from './support/raw-streams.ts';

let place: Place;
let product: Product | undefined;
beforeEach(() => {
  place = createPlace();
});
afterEach(async () => {
  await product?.close();
  product = undefined;
  place.remove();
});

async function start(tools: string, toml = ''): Promise<Product> {
  const file = join(place.directory, 'settings.toml');
  writeFileSync(file, toml);
  product = await openProduct({ place, args: ['--tools', tools, '--config', file] });
  return product;
}

const blocks = async ({ client }: Product, name: string, args: Record<string, unknown>) =>
  (await client.callTool(name, args)).content.map(({ text }) => text);

describe('toolsets', () => {
  const LISTS: Record<string, string[]> = {
    simple: ['shell_exec', 'shell_allowed'],
    shell: ['shell'],
    'simple,shell,process_list': ['process_list', 'shell_exec', 'shell_allowed', 'shell'],
    file_read: ['file_read'],
  };
  test.for(Object.entries(LISTS))('%s', async ([tools, names]) => {
    const { client } = await start(tools);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(names);
  });

  test('a tool that is in none of them is not found, and the nearest is named', async () => {
    const { client } = await start('simple');
    await expect(client.callTool('shell_execute', { command: 'true' })).rejects.toMatchObject({
      code: -32602,
      data: { name: 'ToolNotFound', tool: 'shell_execute', suggestion: 'shell_exec' },
    });
  });

  test.for<ClientKind>(['v2 modern', 'sdk 1.32', 'sdk 1.12'])(
    'what is answered fits what is listed, by %s',
    async (kind) => {
      const client = await connectHere(kind, place.command(['--tools', 'all']));
      await client.listTools();
      for (const [name, args] of [
        ['shell_exec', { command: 'echo hi' }],
        ['shell_exec', { command: 'exit 3' }],
        ['shell_exec', {}],
        ['shell_allowed', {}],
        ['shell', { command: 'echo hi; exit 3' }],
        ['file_list', {}],
      ] as const)
        expect((await client.callTool(name, args)).content.length, name).toBeGreaterThan(0);
      expect(client.errors).toEqual([]);
      await client.close();
    },
  );

  test('the instructions speak only of tools that are there', async () => {
    const { client } = await start('simple');
    expect(client.instructions).toContain('/bin/bash');
    expect(client.instructions).not.toMatch(/shell_execute|read_execution_output|input_data/);
  });
});

describe('shell_exec', () => {
  test('runs a string in a shell, and a program with arguments without one', async () => {
    const { call: use } = await start('simple');
    expect(await use('shell_exec', { command: 'echo a | tr a b; echo $((1+1))' })).toEqual({
      data: {
        command: 'echo a | tr a b; echo $((1+1))',
        exitCode: 0,
        stdout: 'b\n2',
        stderr: '',
        success: true,
      },
      text: 'b\n2',
      isError: false,
    });
    expect((await use('shell_exec', { command: 'echo', args: ['a | b', '$HOME'] })).text).toBe('a | b $HOME');
  });

  test('takes a directory and variables in both forms', async () => {
    const { call: use } = await start('simple');
    mkdirSync(join(place.work, 'inner'));
    const around = { cwd: 'inner', env: { NODE_ENV: 'production' } };
    const wanted = `${join(place.work, 'inner')} production`;
    expect((await use('shell_exec', { command: 'echo $PWD $NODE_ENV', ...around })).text).toBe(wanted);
    const args = ['-c', 'echo $PWD $NODE_ENV'];
    expect((await use('shell_exec', { command: 'sh', args, ...around })).text).toBe(wanted);
  });

  test('a failing command is an error with a message and details', async () => {
    const { call: use } = await start('simple');
    expect(await use('shell_exec', { command: 'echo out; echo err >&2; exit 7' })).toEqual({
      data: {
        command: 'echo out; echo err >&2; exit 7',
        exitCode: 7,
        stdout: 'out',
        stderr: 'err',
        success: false,
        message: 'Command failed with exit code 7',
      },
      text: 'Command failed with exit code 7\nout\n[stderr]\nerr',
      isError: true,
    });
  });

  test('what ran out of time says so and gives what there is', async () => {
    const { call: use } = await start('simple', 'limits.shell_exec_seconds = 3');
    expect(await use('shell_exec', { command: 'echo begun; sleep 60' })).toMatchObject({
      data: { stdout: 'begun', success: false, message: 'Command timeout after 3 seconds' },
      isError: true,
    });
  });

  test('speaks of the allow-list in the words of 001', async () => {
    const { call: use } = await start(
      'simple',
      'security.allowed_arguments = { git = ["status"], echo = [] }',
    );
    const refused = async (args: Record<string, unknown>): Promise<string> =>
      (await use('shell_exec', args)).data.error.message;
    expect(await refused({ command: 'rm', args: ['x'] })).toBe("Command 'rm' not allowed");
    expect(await refused({ command: 'echo a; rm x' })).toBe("Command 'rm' not allowed");
    expect(await refused({ command: 'GIT', args: ['Status'] })).toBe(
      "Command 'git' with argument 'Status' not allowed",
    );
    expect((await use('shell_exec', { command: 'rm x' })).text).toMatch(
      /^Command 'rm' not allowed\. .*\(SECURITY_003\)$/,
    );
    expect((await use('shell_allowed', {})).data).toEqual({ allowedCommands: { git: ['status'], echo: [] } });
  });

  test('a command with some of its arguments allowed is refused for its argument', async () => {
    const { call: use } = await start('simple', 'security.allowed_commands = ["git status", "ls"]');
    const { data } = await use('shell_exec', { command: 'git', args: ['push'] });
    expect(data.error.message).toBe("Command 'git' with argument 'push' not allowed");
    expect((await use('shell_allowed', {})).data).toEqual({ allowedCommands: { git: ['status'], ls: [] } });
  });

  test('bad parameters are named as 003 names them', async () => {
    const { call: use } = await start('simple');
    for (const args of [{}, { command: 5 }, { command: 'x', args: 'y' }, { command: 'x', timeout: 3 }])
      expect((await use('shell_exec', args)).data.error.details.name).toBe('InvalidParameters');
  });

  test('where a caller has tightened its own rules, they hold here too', async () => {
    const { call: use } = await start('simple,standard');
    await use('security_set_restrictions', { allowed_commands: ['echo'] });
    const { data } = await use('shell_exec', { command: 'ls', args: [] });
    expect(data.error.message).toBe("Command 'ls' not allowed");
    expect((await use('shell_allowed', {})).data).toEqual({ allowedCommands: { echo: [] } });
  });
});

describe('shell', () => {
  test('says how it went, then the output, and the rest as metadata twice', async () => {
    const server = await start('shell');
    const answer = await server.client.callTool('shell', { command: 'echo hi; echo hm >&2' });
    const metadata = {
      command: 'echo hi; echo hm >&2',
      exit_code: 0,
      stdout: 'hi\n',
      stderr: 'hm\n',
      execution_time_ms: expect.any(Number),
      working_directory: place.work,
    };
    expect(answer).toMatchObject({
      content: [
        { type: 'text', text: 'Command executed successfully' },
        { type: 'text', text: 'hi\n[stderr]\nhm\n' },
      ],
      structuredContent: metadata,
      _meta: metadata,
    });
    expect(answer.isError ?? false).toBe(false);
    expect(await blocks(server, 'shell', { command: 'true' })).toEqual(['Command executed successfully']);
  });

  test('suggests what may have been meant', async () => {
    const server = await start('shell');
    expect(await blocks(server, 'shell', { command: 'gti status' })).toEqual([
      'Command failed with exit code 127',
      expect.stringContaining('gti: command not found'),
      'gti is not installed, or not on PATH. The nearest on PATH: git.',
    ]);
    writeFileSync(join(place.work, 'script'), 'true', { mode: 0o600 });
    const { data } = await server.call('shell', { command: './script' });
    expect(data).toMatchObject({
      exit_code: 126,
      suggestion: expect.stringMatching(/not executable: run it through its interpreter/),
    });
  });

  test('a time above what is allowed is refused, and what holds is listed', async () => {
    const server = await start('shell', '[shell_tool]\ndefault_timeout = 3\nmax_timeout = 4');
    const [tool] = await server.client.listTools();
    expect(tool?.inputSchema).toMatchObject({
      properties: { timeout: { minimum: 1, maximum: 4, default: 3, type: 'integer' } },
    });
    expect((await server.call('shell', { command: 'true', timeout: 5 })).data.error.code).toBe('PARAM_002');
    expect((await server.call('shell', { command: 'true', timeout: 1.5 })).isError).toBe(true);
    const long = longCommand(place, 'long');
    expect(await blocks(server, 'shell', { command: `echo begun; ${long.text}` })).toEqual([
      'Command timed out after 3 seconds',
      'begun\n',
    ]);
    expect(long.isRunning()).toBe(false);
  });

  test('has directories and blocked commands of its own, which other tools have not', async () => {
    const inner = join(place.work, 'inner');
    mkdirSync(inner);
    writeFileSync(join(place.work, 'outside'), 'secret');
    const server = await start(
      'shell,standard',
      `[shell_tool]\nallowed_directories = [${JSON.stringify(inner)}]\nblocked_commands = ["dd", "/^curl .*evil/"]`,
    );
    const codeOf = async (args: Record<string, unknown>): Promise<unknown> =>
      (await server.call('shell', args)).data.error?.code;
    // The default directory lies outside, so that it starts in the first that does not.
    expect((await server.call('shell', { command: 'pwd' })).data.stdout).toBe(`${inner}\n`);
    expect(await codeOf({ command: 'pwd', working_directory: place.work })).toBe('SECURITY_002');
    expect(await codeOf({ command: 'cat /etc/passwd' })).toBe('SECURITY_002');
    expect(await codeOf({ command: 'true; dd if=/dev/zero of=x' })).toBe('SECURITY_003');
    expect(await codeOf({ command: 'curl http://evil.example' })).toBe('SECURITY_003');
    expect((await server.execute('cat outside; dd if=/dev/null of=/dev/null')).data).toMatchObject({
      stdout: 'secret',
      exit_code: 0,
    });
  });

  test.skipIf(needs('fish'))('says once that its blocked commands are judged in bash', async () => {
    const server = await start('shell', 'shell = "/usr/bin/fish"\n[shell_tool]\nblocked_commands = ["dd"]');
    const first = await blocks(server, 'shell', { command: 'echo "$BASH_VERSION"' });
    expect(first[1]).toMatch(/^\d/);
    expect(first.at(-1)).toMatch(/^Commands run in \/bin\/bash rather than \/usr\/bin\/fish/);
    expect(await blocks(server, 'shell', { command: 'echo again' })).toHaveLength(first.length - 1);
  });

  test('never has more than everybody has', async () => {
    const inner = join(place.work, 'inner');
    mkdirSync(inner);
    const server = await start(
      'shell',
      `[security]\nallowed_directories = [${JSON.stringify(inner)}]\nblocked_commands = ["rm"]\n[shell_tool]\nallowed_directories = ["/"]`,
    );
    const outside = await server.call('shell', { command: 'pwd', working_directory: place.work });
    expect(outside.data.error.code).toBe('SECURITY_002');
    expect((await server.call('shell', { command: 'rm x' })).data.error.code).toBe('SECURITY_003');
  });

  const READING = 'read_execution_output with output_id';
  const REDIRECTING = 'redirect the output to a file and read that in parts';
  test.for([
    ['shell', REDIRECTING, READING],
    ['shell,standard', READING, REDIRECTING],
    ['shell,read_execution_output', READING, REDIRECTING],
    ['shell,file_read', READING, REDIRECTING],
  ] as const)('cuts at its own size, and says what can be done: %s', async ([tools, said, unsaid]) => {
    const server = await start(tools, '[shell_tool]\nmax_output_size = "2KB"');
    const print = 'head -c 5000 /dev/zero | tr "\\0" x';
    const { data, text } = await server.call('shell', { command: `${print}; echo; (${print}; echo) >&2` });
    expect(data.output_truncated).toBe(true);
    for (const part of [data.stdout, data.stderr])
      expect(part).toMatch(/^x+\n\[… [\d,]+ bytes .* left out; to read them[:,] .*\]\nx+\n$/);
    expect(text).toContain(`${data.stdout}[stderr]\n${data.stderr}`);
    expect(text).toContain(said);
    expect(text).not.toContain(unsaid);
    expect(text.includes(data.output_id) && text.includes(data.stderr_output_id)).toBe(said === READING);
  });

  test.for([
    ['shell', /, sha256 \w+\]$/],
    [
      'shell,read_execution_output',
      /, sha256 \w+; to read it: read_execution_output .* encoding "base64"\]$/,
    ],
  ] as const)('describes binary output instead of showing it: %s', async ([tools, end]) => {
    const server = await start(tools);
    const { data, text } = await server.call('shell', { command: 'printf "\\0\\1\\377"; echo fine >&2' });
    expect(data).toMatchObject({ exit_code: 0, stderr: 'fine\n', output_id: expect.stringMatching(/^out_/) });
    expect(data.note).toMatch(/^\[binary data: 3 bytes, beginning with 00 01 ff, sha256 /);
    expect(data.note).toMatch(end);
    expect(text).toContain(`${data.note}\n[stderr]\nfine\n`);
  });

  test('leaves an abort file where a command failed, and none where it did not', async () => {
    const server = await start('shell', '[shell_tool]\nabort_file = ".abort"');
    const file = join(place.work, '.abort');
    await server.call('shell', { command: 'true' });
    expect(existsSync(file)).toBe(false);
    await server.call('shell', { command: 'exit 4' });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ reason: 'exit', exit_code: 4 });
  });

  test.each([true, false])('log_commands = %s', async (isLogged) => {
    const file = join(place.directory, 'settings.toml');
    writeFileSync(file, `shell_tool.log_commands = ${isLogged}`);
    const server = startRaw(place.command(['--tools', 'shell', '--config', file]));
    server.say(call(1, 'shell', { command: 'export API_TOKEN=abcdef0123456789; echo logged; exit 3' }));
    await server.next();
    server.end();
    await server.rest();
    const lines = server
      .stderr()
      .split('\n')
      .filter((line) => line.includes('echo logged'));
    const line = {
      message: 'shell',
      status: 'failed',
      exit_code: 3,
      duration_ms: expect.any(Number) as number,
    };
    expect(lines.map((text) => JSON.parse(text) as unknown)).toMatchObject(isLogged ? [line] : []);
    expect(server.stderr()).not.toContain('abcdef0123456789');
  });

  test('a cancelled call ends what it started', async () => {
    const { client } = await start('shell');
    const long = longCommand(place, 'cancelled');
    const cancel = new AbortController();
    const calling = client.callTool('shell', { command: long.text }, { signal: cancel.signal });
    calling.catch(() => undefined);
    await until('it runs', () => long.hasStarted() && long.isRunning());
    cancel.abort();
    await until('it is gone', () => !long.isRunning());
    await expect(calling).rejects.toThrow(/abort/i);
  });
});

describe('004’s earlier names', () => {
  test('can be called though only the tools of today are listed', async () => {
    const server = await start('standard');
    const { data: ran } = await server.execute('echo hi; echo hm >&2');
    const { data: execution } = await server.call('shell_get_execution', { execution_id: ran.execution_id });
    expect(execution).toMatchObject({
      execution_id: ran.execution_id,
      command: 'echo hi; echo hm >&2',
      status: 'completed',
      exit_code: 0,
      working_directory: place.work,
      environment_variables: {},
      execution_time_ms: expect.any(Number),
      created_at: expect.any(String),
      started_at: expect.any(String),
      completed_at: expect.any(String),
    });

    const { data: listed } = await server.call('file_list', { file_type: 'output' });
    expect(listed).toEqual({
      files: ['stdout', 'stderr', 'combined'].map((output_type) =>
        expect.objectContaining({
          file_type: 'output',
          output_type,
          execution_id: ran.execution_id,
          name: 'echo hi; echo hm >&2',
        }),
      ),
      total_count: 3,
    });
    expect((await server.call('file_list', { file_type: 'log' })).data.total_count).toBe(0);
    expect((await server.call('file_list', { file_type: 'temp' })).data).toEqual({
      files: [],
      total_count: 0,
    });

    const file_id = ran.output_id;
    expect((await server.call('file_read', { file_id, offset: 1, size: 1 })).data).toEqual({
      file_id,
      content: 'i',
      size: 1,
      total_size: 3,
      is_truncated: true,
      encoding: 'utf-8',
      next_offset: 2,
    });
    expect((await server.call('file_delete', { file_ids: [file_id], confirm: false })).isError).toBe(true);
    expect((await server.call('file_delete', { file_ids: [file_id, 'out_x'], confirm: true })).data).toEqual({
      deleted_files: [file_id],
      failed_files: ['out_x'],
      total_deleted: 1,
    });
    expect((await server.call('file_read', { file_id })).data.error.code).toBe('RESOURCE_003');
  });

  test('process_kill ends a process', async () => {
    const server = await start('standard');
    const { data: ran } = await server.execute('sleep 600', { execution_mode: 'async' });
    expect(
      (await server.call('process_kill', { process_id: ran.process_id, force: true })).data,
    ).toMatchObject({
      success: true,
      process_id: ran.process_id,
      signal_sent: expect.stringMatching(/TERM|KILL/),
      message: expect.any(String),
    });
  });

  test('are what the toolset legacy lists, and the names of today work there too', async () => {
    const server = await start('legacy');
    const names = (await server.client.listTools()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['shell_execute', 'shell_get_execution', 'file_read']));
    expect(names).not.toContain('read_execution_output');
    const { data } = await server.execute('echo hi');
    const read = await server.call('read_execution_output', { output_id: data.output_id });
    expect(read.data.content).toBe('hi\n');
  });

  test('are not there where their tools are not', async () => {
    const { client } = await start('shell_execute');
    await expect(client.callTool('file_list', {})).rejects.toMatchObject({ data: { name: 'ToolNotFound' } });
  });
});
