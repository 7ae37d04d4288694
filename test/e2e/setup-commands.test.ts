/** The commands with which a person sets the server up, as a person types them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { needs } from '../setup/needs.ts';
import { connectStdio } from './support/clients.ts';
import { type Ran, runProgram } from './support/principals.ts';
import { CLI, createPlace, type Place } from './support/product.ts';

let place: Place;
beforeEach(() => {
  place = createPlace();
});
afterEach(() => place.remove());

const run = (args: readonly string[], input = '', env: Record<string, string> = {}): Promise<Ran> =>
  runProgram(place, args, { input, env });

/** In a process of its own: what looks at the whole machine, or reads answers from a pipe. */
function start(args: readonly string[], env: Record<string, string> = {}, input = ''): Ran {
  const server = place.command(args, env);
  const ran = spawnSync(server.command, server.args, {
    cwd: server.cwd ?? place.work,
    env: { ...server.env },
    input,
    encoding: 'utf8',
  });
  return { code: ran.status ?? -1, stdout: ran.stdout, stderr: ran.stderr };
}

const userFile = (): string => join(place.directory, '.config/mcp-shell-server/mcp-shell-server.toml');
/** What of it is no comment. */
const saidIn = (file: string): string[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => /^\w/.test(line));

describe('config init', () => {
  test('asks, understands, and writes a file with comments that the server reads', async () => {
    mkdirSync(join(place.work, 'inner'));
    const { code, stdout, stderr } = start(
      ['config', 'init'],
      {},
      'sandbx\nsandbox\n/no/such\ninner\nmaybe\nyes\ngh, nothing\ngh,~/notes\n',
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /none of development, sandbox[^]*does not exist[^]*yes or no[^]*"nothing" is neither a path/,
    );
    expect(saidIn(userFile())).toEqual([
      `default_workdir = "${place.work}/inner"`,
      'preset = "sandbox"',
      `allowed_directories = ["${place.work}/inner"]`,
      'expose = ["gh", "~/notes"]',
      'enable_network = true',
    ]);
    expect(statSync(userFile()).mode & 0o777).toBe(0o600);
    const text = readFileSync(userFile(), 'utf8');
    expect(text).toMatch(
      /^# Commands that require approval each time\.\n# Values: .*\n# ask_commands = \[\]$/m,
    );
    expect(text).toMatch(/^# Values: auto, required, container, off\.\n# sandbox = "required"$/m);
    expect(text).toMatch(/^# Values: list of toolsets \(standard, /m);
    expect(text.match(/^# Values: /gm)).toHaveLength(text.match(/^(?:# )?\w+ =/gm)?.length ?? 0);
    expect(text.split('\n').every((line) => line.length <= 110)).toBe(true);
    const shown = JSON.parse((await run(['config', 'show', '--json'])).stdout) as {
      settings: { key: string }[];
    };
    expect(shown.settings.find(({ key }) => key === 'security.preset')).toEqual({
      key: 'security.preset',
      value: 'sandbox',
      source: 'user',
      where: expect.stringMatching(/mcp-shell-server\.toml:\d+$/),
    });
  });

  test('takes the defaults where nobody answers, and what was said on the line', async () => {
    expect(
      (await run(['config', 'init', '--yes', '--project', '--preset', 'minimal', '--workspace', 'any'])).code,
    ).toBe(0);
    expect(saidIn(join(place.work, 'mcp-shell-server.toml'))).toEqual(['preset = "minimal"']);
    expect((await run(['config', 'show'])).stdout).not.toContain('# warning');
    expect(await run(['config', 'init', '--yes', '--project', '--force', '--expose', 'gh'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot expose'),
    });
    expect((await run(['config', 'init', '--no-network'], '')).code).toBe(0);
    expect(saidIn(userFile())).toContain('enable_network = false');
  });

  test('does not replace a file unless it is told to, and then keeps it', async () => {
    mkdirSync(join(userFile(), '..'), { recursive: true });
    writeFileSync(userFile(), '# mine\n');
    expect(await run(['config', 'init', '--yes'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('exists already'),
    });
    expect(readFileSync(userFile(), 'utf8')).toBe('# mine\n');
    expect((await run(['config', 'init', '--yes', '--force'])).code).toBe(0);
    const backup = readdirSync(join(userFile(), '..')).find((name) => name.includes('.backup-'));
    expect(readFileSync(join(userFile(), '..', backup ?? ''), 'utf8')).toBe('# mine\n');
  });

  test('a wrong answer on the line is a mistake', async () => {
    for (const args of [
      ['--preset', 'none'],
      ['--workspace', '/no/such'],
      ['--expose', 'everything'],
    ])
      expect((await run(['config', 'init', '--yes', ...args])).code, args.join(' ')).toBe(1);
    expect(existsSync(userFile())).toBe(false);
  });
});

describe('config show and schema', () => {
  test('say where each value came from', async () => {
    mkdirSync(join(userFile(), '..'), { recursive: true });
    writeFileSync(userFile(), '\nlimits.max_processes = 7\nhttp.port = 1\n');
    writeFileSync(join(place.work, 'mcp-shell-server.toml'), 'limits.max_processes = 3\nhttp.port = 5\n');
    const { stdout } = await run(['--tools', 'simple', 'config', 'show'], '', {
      MCP_SHELL_SECURITY_PRESET: 'sandbox',
    });
    expect(stdout).toMatch(/^tools = \["simple"\] +# flag --tools$/m);
    expect(stdout).toMatch(/^preset = "sandbox" +# environment MCP_SHELL_SECURITY_PRESET$/m);
    expect(stdout).toMatch(/^max_processes = 3 +# project \/.*\/mcp-shell-server\.toml:1$/m);
    expect(stdout).toMatch(/^port = 1 +# user .*mcp-shell-server\.toml:3$/m);
    expect(stdout).toMatch(/^max_age_hours = 168 +# default$/m);
    expect(stdout).toMatch(/^# warning: http\.port: ignored: a project file cannot set it/m);
  });

  test('say what the preset decides, and which settings have no effect', async () => {
    mkdirSync(join(userFile(), '..'), { recursive: true });
    writeFileSync(userFile(), 'security.preset = "minimal"\nsecurity.allowed_domains = ["a.example"]\n');
    const { stdout } = await run(['config', 'show'], '', { SHELL: '/bin/sh' });
    expect(stdout).toMatch(/^shell = "\/bin\/sh" +# environment SHELL$/m);
    expect(stdout).toMatch(/^sandbox = "required" +# preset minimal$/m);
    expect(stdout).toMatch(/^enable_network = false +# preset minimal$/m);
    expect(stdout).toMatch(/^allowed_arguments = \{ npm = .* # preset minimal$/m);
    expect(stdout).toMatch(/^# allowed_commands +# no further commands$/m);
    expect(stdout).toMatch(
      /^# warning: security\.allowed_domains = \["a\.example"\] \(.*\) has no effect: the network is off$/m,
    );
    expect(stdout).not.toContain('as the preset says');
  });

  test('the schema is the one that is published', async () => {
    expect((await run(['config', 'schema'])).stdout).toBe(
      readFileSync(join(CLI, '../../docs/reference/settings.schema.json'), 'utf8'),
    );
  });
});

describe('install', () => {
  test('what it writes starts a server that works', async () => {
    const shown = await run(['--tools', 'simple', 'install', 'cursor', '--dry-run']);
    expect(shown.stdout).toContain('+       "command"');
    expect(existsSync(join(place.directory, '.cursor'))).toBe(false);
    expect(await run(['--tools', 'simple', 'install', 'cursor'], 'y\n')).toMatchObject({
      code: 0,
      stderr: '',
    });
    const file = readFileSync(join(place.directory, '.cursor/mcp.json'), 'utf8');
    const { command, args } = (
      JSON.parse(file) as { mcpServers: { shell: { command: string; args: string[] } } }
    ).mcpServers.shell;
    const client = await connectStdio('v2 auto', { ...place.command(), command, args });
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['shell_exec', 'shell_allowed']);
    await client.close();
  });

  test.each([
    [['install', 'cursor', '--http', '--yes'], 'http://127.0.0.1:3737/mcp', '-'],
    [['install', '--http', 'cursor', '--yes', '--preset', 'sandbox'], 'http://127.0.0.1:3737/mcp', 'sandbox'],
    [['install', 'cursor', '--http', '127.0.0.1:4000', '--yes'], 'http://127.0.0.1:4000/mcp', '-'],
  ])('%j connects to a server that runs, with a token of its own', async (args, url, preset) => {
    expect(await run(args)).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining('Bearer <token>'),
    });
    const file = readFileSync(join(place.directory, '.cursor/mcp.json'), 'utf8');
    expect(JSON.parse(file)).toEqual({
      mcpServers: {
        shell: { url, headers: { Authorization: expect.stringMatching(/^Bearer mcpsh_\S{43}$/) } },
      },
    });
    expect((await run(['token', 'list'])).stdout).toMatch(new RegExp(`^cursor-shell +${preset} `, 'm'));
    expect((await run(['install', 'cursor', '--uninstall', '--yes'])).stdout).toContain(
      'token revoke cursor-shell',
    );
  });

  test('without a fixed port, or with a loose preset, nothing is written', async () => {
    expect(await run(['install', 'cursor', '--http', ':0', '--yes'])).toMatchObject({ code: 1 });
    const env = { MCP_SHELL_SECURITY_PRESET: 'minimal' };
    const loose = await run(['install', 'cursor', '--http', '--yes', '--preset', 'development'], '', env);
    expect(loose).toMatchObject({ code: 1, stderr: expect.stringContaining('looser than minimal') });
    expect(existsSync(join(place.directory, '.cursor'))).toBe(false);
  });

  test('writes nothing without a yes', async () => {
    for (const answer of ['', '\n', 'n\n', 'yesterday\n'])
      expect(await run(['install', 'cursor'], answer), answer).toMatchObject({ code: 1 });
    expect(existsSync(join(place.directory, '.cursor'))).toBe(false);
  });

  test('--all takes those that are there, and --uninstall takes it back', async () => {
    expect(await run(['install', '--all', '--yes'])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('No client was found'),
    });
    mkdirSync(join(place.directory, '.codex'));
    writeFileSync(join(place.directory, '.codex/config.toml'), '# mine\nmodel = "x"\n');
    mkdirSync(join(place.directory, '.gemini'));
    expect((await run(['install', '--all', '--yes', '--name', 'my-shell'])).code).toBe(0);
    expect(readFileSync(join(place.directory, '.codex/config.toml'), 'utf8')).toContain(
      '# mine\nmodel = "x"\n\n[mcp_servers.my-shell]\n',
    );
    expect((await run(['install', '--all', '--yes', '--name', 'my-shell', '--uninstall'])).code).toBe(0);
    expect(readFileSync(join(place.directory, '.codex/config.toml'), 'utf8')).toBe('# mine\nmodel = "x"\n');
  });

  test('mistakes are explained', async () => {
    expect(await run(['install'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('claude-desktop'),
    });
    expect(await run(['install', 'curser'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cursor'),
    });
    expect(await run(['install', 'cursor', '--name', '__proto__'])).toMatchObject({ code: 1 });
    expect(await run(['install', 'cursor', '--name', 'a b'])).toMatchObject({ code: 1 });
  });
});

describe('doctor', () => {
  test.each([
    ['development', 'off', 'good', 'not enforced; no limit is set'],
    ['sandbox', 'off', 'warning', 'not enforced'],
  ])('who keeps the size of /tmp: %s, sandbox %s', (preset, sandbox, state, text) => {
    const env = { MCP_SHELL_SECURITY_PRESET: preset, MCP_SHELL_SECURITY_SANDBOX: sandbox };
    const findings = JSON.parse(start(['doctor', '--json'], env).stdout) as { name: string }[];
    const found = findings.find(({ name }) => name === 'limit tmp_size');
    expect(found).toMatchObject({ state, text });
  });

  test('reports shells, PATH and clients, with fixes', async () => {
    mkdirSync(join(place.directory, '.cursor'));
    const open = join(place.directory, 'open');
    mkdirSync(open);
    execFileSync('chmod', ['777', open]);
    const env = { PATH: `${open}:${process.env['PATH'] ?? ''}`, SHELL: '/bin/false' };
    const { code, stdout } = start(['doctor', '--json'], env);
    expect(code).toBe(1);
    const findings = JSON.parse(stdout) as { name: string; state: string; text: string; fix?: string }[];
    expect(findings).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'shells', state: 'good', text: expect.stringContaining('bash') }),
        expect.objectContaining({ name: 'terminals', state: 'good' }),
        {
          name: 'path',
          state: 'problem',
          text: `${open} is writable by all users`,
          fix: `chmod o-w ${open}`,
        },
        {
          name: 'client cursor',
          state: 'good',
          text: `not installed in Cursor: ${place.directory}/.cursor/mcp.json`,
          fix: 'mcp-shell-server install cursor',
        },
      ]),
    );
    await run(['install', 'cursor', '--yes']);
    expect(start(['doctor']).stdout).toMatch(/^ok {4}client cursor {4}installed in Cursor: /m);
  });
});

describe('completion', () => {
  const script = async (shell: string): Promise<string> => (await run(['completion', shell])).stdout;
  const WORDS: [line: string, offered: string[]][] = [
    ['mcp-shell-server inst', ['install']],
    ['mcp-shell-server install cla', ['claude-code', 'claude-desktop']],
    ['mcp-shell-server --tools st', ['standard']],
    ['mcp-shell-server --tools simple config s', ['schema', 'show']],
    ['mcp-shell-server policy explain --js', ['--json']],
    ['mcp-shell-server config init --preset sand', ['sandbox']],
    ['mcp-shell-server completion b', ['bash']],
    ['mcp-shell-server install --state', ['--state-dir']],
  ];

  test('in bash', async () => {
    const file = join(place.directory, 'completion.bash');
    writeFileSync(file, await script('bash'));
    for (const [line, offered] of WORDS) {
      const code = `source "$1"; read -ra COMP_WORDS <<<"$2"; COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _mcp_shell_server; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const out = execFileSync('bash', ['-c', code, 'bash', file, line], { encoding: 'utf8' });
      expect(out.trim().split('\n').toSorted(), line).toEqual(offered);
    }
  });

  test.skipIf(needs('fish'))('in fish', async () => {
    const file = join(place.directory, 'completion.fish');
    writeFileSync(file, await script('fish'));
    for (const [line, offered] of WORDS) {
      const out = execFileSync('fish', ['-c', 'source $argv[1]; complete -C $argv[2]', file, line], {
        encoding: 'utf8',
      });
      const names = out
        .trim()
        .split('\n')
        .map((each) => each.split('\t')[0] ?? '');
      expect(names.toSorted(), line).toEqual(offered);
    }
  });

  test.skipIf(needs('zsh'))('in zsh', async () => {
    const file = join(place.directory, '_mcp-shell-server');
    writeFileSync(file, await script('zsh'));
    // The completion system shows what it offers only to a person; what can be asked is that it takes the functions.
    const code =
      'autoload -U compinit; compinit -D -u; source $1; print $_comps[mcp-shell-server]; whence -w _mcp_shell_server_config_init';
    expect(execFileSync('zsh', ['-f', '-c', code, 'zsh', file], { encoding: 'utf8' })).toBe(
      '_mcp_shell_server\n_mcp_shell_server_config_init: function\n',
    );
  });

  describe('of names that the state directory has', () => {
    /** Completion calls the program by its name. */
    const installed = async (): Promise<Record<string, string>> => {
      const bin = join(place.directory, 'bin');
      mkdirSync(bin);
      writeFileSync(join(bin, 'mcp-shell-server'), `#!/bin/sh\nexec '${process.execPath}' '${CLI}' "$@"\n`, {
        mode: 0o755,
      });
      for (const name of ['ci', 'cafe']) expect((await run(['token', 'create', name])).code).toBe(0);
      return { ...place.command().env, PATH: `${bin}:${process.env['PATH'] ?? ''}` };
    };

    test('in bash', async () => {
      const file = join(place.directory, 'completion.bash');
      writeFileSync(file, await script('bash'));
      const code =
        'source "$1"; COMP_WORDS=(mcp-shell-server token revoke c); COMP_CWORD=3; _mcp_shell_server; echo "${COMPREPLY[@]}"';
      const out = execFileSync('bash', ['-c', code, 'bash', file], {
        encoding: 'utf8',
        env: await installed(),
      });
      expect(out.trim().split(' ').toSorted()).toEqual(['cafe', 'ci']);
    });

    test.skipIf(needs('fish'))('in fish', async () => {
      const file = join(place.directory, 'completion.fish');
      writeFileSync(file, await script('fish'));
      const code = 'source $argv[1]; complete -C "mcp-shell-server token revoke c"';
      const out = execFileSync('fish', ['-c', code, file], { encoding: 'utf8', env: await installed() });
      expect(out.trim().split('\n').toSorted()).toEqual(['cafe', 'ci']);
    });

    test('which the help does not list', async () => {
      expect(await run(['names', 'terminals'])).toEqual({ code: 0, stdout: '', stderr: '' });
      expect(await run(['names', 'executions'])).toEqual({ code: 0, stdout: '', stderr: '' });
      expect((await run(['--help'])).stdout).not.toMatch(/^ {2}names/m);
    });
  });

  test('no other shell', async () => {
    expect(await run(['completion', 'tcsh'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('bash, zsh, fish'),
    });
  });
});

describe('the manual page', () => {
  test('names every command, option and setting, and is built with the program', async () => {
    const { stdout } = await run(['man']);
    expect(readFileSync(join(CLI, '../mcp-shell-server.1'), 'utf8')).toBe(stdout);
    for (const name of [
      'policy explain',
      'config init',
      'security.allowed_directories',
      '\\-\\-greeting',
      'MCP_SHELL_CONFIG',
    ])
      expect(stdout).toContain(name);
    // Nothing that a formatter would take for a command of its own.
    const commands = stdout
      .split('\n')
      .filter((line) => /^[.']/.test(line))
      .map((line) => line.split(' ')[0] ?? '');
    expect([...new Set(commands)].toSorted()).toEqual(['.B', '.I', '.SH', '.SS', '.TH', '.TP', '.br']);
  });

  test('--help has examples and groups', async () => {
    const { stdout } = await run(['--help']);
    for (const text of ['Setting up:', 'Examples:', 'install', 'config', 'doctor', 'completion'])
      expect(stdout).toContain(text);
  });
});
