import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isInContainer } from '../../src/security/sandbox/probe.ts';
import { connectStdio } from './support/clients.ts';
import { type Ran, runProgram } from './support/principals.ts';
import { CLI, createPlace, type Place, type Product } from './support/product.ts';
import { connectHere, openProduct } from './support/product-here.ts';
import { startRaw } from './support/raw-process.ts';
import { call as toolCall } from './support/raw-streams.ts';

let place: Place;
beforeEach(() => {
  place = createPlace();
});
afterEach(() => place.remove());

const run = (...args: string[]): Promise<Ran> => runProgram(place, args);

/** In a process of its own. */
async function start(...args: string[]): Promise<Ran> {
  const { env, cwd } = place.command();
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [CLI, ...args], {
      env: { ...env },
      cwd,
    });
    return { code: 0, stdout, stderr };
  } catch (error) {
    return error as Ran;
  }
}

describe('the command line', () => {
  test('-h and --help name every flag, -V and --version the version', async () => {
    for (const { code, stdout } of [await run('-h'), await start('--help')]) {
      expect(code).toBe(0);
      for (const name of ['--shell', '--help', '--version', '--config', '--state-dir', '--tools', '--http']) {
        expect(stdout).toContain(name);
      }
    }
    for (const ran of [await run('-V'), await start('--version')]) {
      expect(ran).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
    }
  });

  interface Mistake {
    readonly args: string[];
    readonly says: RegExp;
  }
  const mistakes: Mistake[] = [
    { args: ['serve'], says: /unknown command 'serve'/ },
    { args: ['doctr'], says: /unknown command 'doctr'\n\(Did you mean doctor\?\)/ },
    { args: ['audti', 'search'], says: /Did you mean audit\?/ },
    { args: ['audit', 'serch'], says: /Did you mean search\?/ },
    {
      args: ['token', 'create', 'x', '--tools', 'foo'],
      says: /toolsets: standard.*\nCorrect what was typed/,
    },
    { args: ['token', 'create', 'x', '--expires', '3y'], says: /"3y" is not a valid time\.\nWrite 12h, 30d/ },
    { args: ['token', 'create', 'x', '--expires', '2020-01-01'], says: /in the past: 2020-01-01 00:00:00Z/ },
    { args: ['install', '--uninstall'], says: /Name one client/ },
    { args: ['--uninstall'], says: /\(--uninstall is an option of mcp-shell-server install\)/ },
    { args: ['--follow'], says: /\(--follow is an option of mcp-shell-server (audit tail|output)\)/ },
    { args: ['--uninstal'], says: /unknown option '--uninstal'\n\(mcp-shell-server --help/ },
    { args: ['install', 'codx'], says: /\(Did you mean codex\?\)\n\(mcp-shell-server install --help/ },
    { args: ['install', 'gemini'], says: /\(Did you mean gemini-cli\?\)/ },
    { args: ['install', 'claude'], says: /\(Did you mean claude-desktop or claude-code\?\)/ },
    { args: ['install', 'emacs'], says: /Allowed choices are .*\n\(mcp-shell-server install --help/ },
    { args: ['install', 'codex', '--preset', 'sandbx'], says: /\(Did you mean sandbox\?\)/ },
    { args: ['audit', 'search', '--decision', 'alow'], says: /\(Did you mean allow\?\)/ },
    { args: ['token', 'lst'], says: /Did you mean list\?\)\n\(mcp-shell-server token --help/ },
    {
      args: ['executions', '--stat'],
      says: /Did you mean --status\?\)\n\(mcp-shell-server executions --help/,
    },
  ];
  /** One for each way on which the program itself ends. */
  const ending: Mistake[] = [
    { args: ['--tols', 'x'], says: /unknown option.*--tools/s },
    { args: ['--tools', 'standrad'], says: /standard/ },
    {
      args: ['--config', '/no/such/file.toml'],
      says: /file\.toml: .*\nName a file that exists, or write it/,
    },
    { args: ['--http', 'somewhere:port'], says: /port/ },
  ];
  test.for([
    ...mistakes.map((mistake) => ({ ...mistake, call: run })),
    ...ending.map((mistake) => ({ ...mistake, call: start })),
  ])('a mistake is explained and exits with 1: $args', async ({ args, says, call }) => {
    const { code, stdout, stderr } = await call(...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(says);
    expect(existsSync(place.stateDir)).toBe(false);
  });

  test('a mistake in a settings file names key, file and line', async () => {
    const file = join(place.directory, 'my.toml');
    writeFileSync(file, '[limits]\nmax_processes = 0\nmax_proceses = 5\n');
    const { code, stderr } = await start('--config', file);
    expect(code).toBe(1);
    expect(stderr).toMatch(/limits\.max_processes.*my\.toml:2/);
    expect(stderr).toMatch(/max_proceses.*max_processes.*my\.toml:3/);
  });
});

describe('stdio', () => {
  test('has nothing on stdout but protocol, and says on stderr where it runs', async () => {
    const server = startRaw(place.command());
    server.say({ jsonrpc: '2.0', id: 1, method: 'ping' });
    expect(await server.next()).toMatchObject({ jsonrpc: '2.0', id: 1, result: {} });
    server.end();
    expect(await server.rest()).toMatchObject({ messages: [], code: 0 });
    const [line = ''] = server.stderr().split('\n');
    expect(JSON.parse(line)).toMatchObject({
      shell: '/bin/bash',
      platform: expect.stringContaining(process.platform),
      host: expect.any(String),
      user: expect.any(String),
    });
  });

  test('DEBUG=mcp-shell logs each request, decision, start and end, without secrets', async () => {
    const server = startRaw(place.command([], { DEBUG: 'mcp-shell' }));
    const secret = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789';
    const about = { environment_variables: { API_TOKEN: secret }, input_data: secret };
    server.say(toolCall(1, 'shell_execute', { command: `echo ${secret}; exit 3`, ...about }));
    await server.next();
    server.say(toolCall(2, 'shell_execute', { command: 'rm -rf /' }));
    await server.next();
    server.end();
    await server.rest();
    const lines = server.stderr().trim().split('\n');
    const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const told = logged.filter(({ level, message }) => level === 'debug' && message !== 'shutting down');
    expect(told).toMatchObject([
      { message: 'message', method: 'tools/call' },
      { message: 'request', tool: 'shell_execute', principal: 'local' },
      { message: 'execution_allowed', decision: 'allow', command: 'echo ***; exit 3' },
      { message: 'execution_started', executionId: expect.any(String), pid: expect.any(Number) },
      { message: 'execution_ended', exitCode: 3, reason: 'exit', durationMs: expect.any(Number) },
      { message: 'call', tool: 'shell_execute', outcome: 'answered', durationMs: expect.any(Number) },
      { message: 'message' },
      { message: 'request' },
      { message: 'execution_denied', decision: 'deny', code: 'SECURITY_001' },
      { message: 'a call was answered with an error', code: 'SECURITY_001' },
      { message: 'call', outcome: 'failed', code: 'SECURITY_001' },
    ]);
    expect(server.stderr()).not.toContain(secret);
  });

  test.for([
    ['a command', 'shell_execute', (secret: string) => ({ command: `echo ${secret}` })],
    ['a denied command', 'shell_execute', (secret: string) => ({ command: `rm -rf /; echo ${secret}` })],
    [
      'the end of its line',
      'shell_execute',
      (secret: string) => ({ command: `: ${'x'.repeat(190)}${secret}` }),
    ],
    [
      'the end of its input',
      'shell_execute',
      (secret: string) => ({ command: `: ${'x'.repeat(490)}${secret}` }),
    ],
    ['input_data', 'shell_execute', (secret: string) => ({ command: 'true', input_data: secret })],
    ['a command of another tool', 'shell', (secret: string) => ({ command: `echo ${secret}` })],
    [
      'the end of what that logs',
      'shell',
      (secret: string) => ({ command: `: ${'x'.repeat(990)}${secret}` }),
    ],
  ] as const)('neither log has a secret of the server’s environment: %s', async ([, tool, inputOf]) => {
    const secret = 'supersecret-value-12345';
    const file = join(place.directory, 'settings.toml');
    writeFileSync(file, 'shell_tool.log_commands = true');
    const env = { DEBUG: 'mcp-shell', MY_API_TOKEN: secret, PWD: place.work };
    const server = startRaw(place.command(['--tools', 'standard,shell', '--config', file], env));
    server.say(toolCall(1, tool, inputOf(secret)));
    await server.next();
    server.end();
    await server.rest();
    const directory = join(place.stateDir, 'audit');
    const audit = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'));
    for (const text of [server.stderr(), audit.join('')]) {
      expect(text).not.toContain('supers');
      expect(text).toContain('***');
      expect(text).toContain(`"directory":"${place.work}"`);
    }
  });

  test('a probe leaves nothing on disk', async () => {
    const client = await connectStdio('v2 auto', place.command());
    await client.listTools();
    expect(client.instructions).toContain('/bin/bash');
    await client.close();
    expect(readdirSync(place.directory).toSorted()).toEqual(['work']);
  });

  test('requests without a handshake are answered before it exits', async () => {
    const server = startRaw(place.command());
    const call = { name: 'shell_execute', arguments: { command: 'sleep 0.5; echo late' } };
    server.say({ jsonrpc: '2.0', id: 'a', method: 'tools/call', params: call });
    server.end();
    const { messages, code } = await server.rest();
    expect(code).toBe(0);
    expect(messages).toMatchObject([{ id: 'a', result: { structuredContent: { stdout: 'late\n' } } }]);
  });
});

describe('a network that no sandbox keeps', () => {
  const withSettings = (toml: string): Promise<Product> => {
    const file = join(place.directory, 'network.toml');
    writeFileSync(file, toml);
    return openProduct({ place, args: ['--config', file] });
  };

  test('held to domains: every command is refused, and that is said', async () => {
    const product = await withSettings('[security]\nsandbox = "off"\nallowed_domains = ["example.com"]\n');
    expect(await product.execute('echo ran')).toMatchObject({
      data: { error: { code: 'SECURITY_003' } },
      text: expect.stringContaining('security.allowed_domains needs a sandbox'),
    });
    expect(product.client.instructions).toMatch(/Every command is denied: .*allowed_domains/);
    await product.close();
    const server = startRaw(place.command(['--config', join(place.directory, 'network.toml')]));
    server.end();
    await server.rest();
    expect(server.stderr()).toContain('every command is refused');
    expect(server.stderr()).not.toContain('COMMANDS RUN WITHOUT');
  });

  const isReachable = Object.values(networkInterfaces()).some((each) =>
    each?.some(({ internal }) => !internal),
  );

  test.for(['off', ...(isInContainer() ? ['container'] : [])])(
    'off: commands run, and a network that can be reached is warned of everywhere, with sandbox = "%s"',
    async (sandbox) => {
      const product = await withSettings(`[security]\nsandbox = "${sandbox}"\nenable_network = false\n`);
      expect((await product.execute('echo ran')).data).toMatchObject({ stdout: 'ran\n' });
      const { instructions } = product.client;
      const stats = await product.call('monitoring_get_stats', { include_metrics: ['system'] });
      const restrictions = await product.call('security_set_restrictions', {});
      await product.close();
      const config = ['--config', join(place.directory, 'network.toml')];
      const server = startRaw(place.command(config));
      server.end();
      await server.rest();
      const examined = await start(...config, 'doctor');
      const warning = 'WARNING: the settings have the network off, but commands can reach it';
      expect(instructions).toContain('not restricted by this server');
      expect({
        instructions: instructions?.includes(warning),
        stats: stats.text.includes(warning),
        start: server.stderr().includes('COMMANDS CAN REACH THE NETWORK'),
        doctor: examined.stdout.includes(warning),
      }).toEqual({ instructions: isReachable, stats: isReachable, start: isReachable, doctor: isReachable });
      expect(restrictions.text).toContain('Nothing keeps the network off');
    },
  );
});

describe('settings', () => {
  test('--shell names the shell that runs commands', async () => {
    const product = await openProduct({ place, args: ['--shell', '/bin/sh'] });
    expect((await product.execute('echo $0')).data.stdout).toBe('/bin/sh\n');
    await product.close();
  });

  test('a shell that is not there is an error, by path and by name', async () => {
    for (const shell of ['/no/such/shell', 'no-such-shell']) {
      const product = await openProduct({ place, args: ['--shell', shell] });
      const { data } = await product.execute('true');
      expect(data.error).toMatchObject({ code: 'EXECUTION_001', message: expect.stringContaining(shell) });
      await product.close();
    }
  });

  test('a $SHELL that is not POSIX does not run commands', async () => {
    const product = await openProduct({ place, env: { SHELL: '/usr/bin/fish' } });
    expect((await product.execute('x=1; [[ $x == 1 ]] && echo $BASH')).data.stdout).toBe('/bin/bash\n');
    await product.close();
  });

  test('--tools picks what is listed and what can be called', async () => {
    const client = await connectHere('v2 auto', place.command(['--tools', 'shell_execute,process_list']));
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['shell_execute', 'process_list']);
    await expect(client.callTool('process_terminate', { process_id: 5 })).rejects.toMatchObject({
      code: -32602,
      data: { name: 'ToolNotFound' },
    });
    await client.close();
  });

  test('MCP_SHELL_DEFAULT_WORKDIR and MCP_SHELL_ALLOWED_WORKDIRS', async () => {
    const inner = join(place.work, 'inner');
    mkdirSync(inner);
    const env = { MCP_SHELL_DEFAULT_WORKDIR: inner, MCP_SHELL_ALLOWED_WORKDIRS: `${place.work},/usr/share` };
    const product = await openProduct({ place, env });
    expect((await product.execute('pwd', { detail: true })).data).toMatchObject({
      stdout: `${inner}\n`,
      working_directory: inner,
      default_working_directory: inner,
    });
    expect((await product.execute('pwd', { working_directory: '..' })).data).toMatchObject({
      stdout: `${place.work}\n`,
      working_directory_changed: true,
    });
    for (const outside of ['/', '/usr', '/usr/share/..', `${place.work}-sibling`, '~', '/etc/no/such']) {
      const { data } = await product.execute('pwd', { working_directory: outside });
      expect(data.error.code, outside).toBe('SECURITY_002');
      expect(JSON.stringify(data.error), outside).not.toContain('nearest');
    }
    symlinkSync('/', join(place.work, 'inner/escape'));
    expect((await product.execute('pwd', { working_directory: 'escape' })).data.error.code).toBe(
      'SECURITY_002',
    );
    const moved = await product.call('shell_set_default_workdir', { working_directory: '/usr/share' });
    expect(moved.data).toEqual({
      working_directory: '/usr/share',
      default_working_directory: '/usr/share',
      previous_working_directory: inner,
      working_directory_changed: true,
    });
    expect((await product.execute('pwd')).data.stdout).toBe('/usr/share\n');
    const refused = await product.call('shell_set_default_workdir', { working_directory: '/etc' });
    expect(refused.data.error.code).toBe('SECURITY_002');
    await product.close();
  });
});
