/** What is written where: real files, and those who lie in wait for them. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CLIENTS, type Machine } from './clients.ts';
import { chooseClients, foundClients, type InstallOptions, install, isInstalled } from './install.ts';
import { readFile, replaceFile } from './replace-file.ts';

let home = '';
let machine: Machine;
let said = '';
beforeEach(() => {
  home = mkdtempSync(join(realpathSync(tmpdir()), 'install-'));
  machine = { platform: 'linux', home, environment: {} };
  said = '';
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const run = (id: string, options: Partial<InstallOptions> = {}): Promise<boolean> =>
  install({
    clients: chooseClients(id, false, machine),
    machine,
    entry: { command: 'node', args: ['/opt/mcp-shell-server/dist/cli.js'] },
    program: '/opt/mcp-shell-server/dist/cli.js',
    approval: 'leave',
    name: 'shell',
    uninstalls: false,
    isDryRun: false,
    say: (text) => {
      said += text;
    },
    confirm: () => Promise.resolve(true),
    now: () => Date.UTC(2026, 0, 2, 3, 4, 5),
    ...options,
  });

const cursorFile = (): string => join(home, '.cursor/mcp.json');
function write(path: string, text: string, mode = 0o644): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
  return path;
}

describe('install', () => {
  test.for(CLIENTS)('$title: written, found again, and removed', async (client) => {
    expect(await run(client.id)).toBe(true);
    expect(isInstalled(client, machine)).toBe(true);
    expect(foundClients(machine).map(({ id }) => id)).toEqual([client.id]);
    expect(statSync(client.file(machine)).mode & 0o777).toBe(0o600);
    const written = readFileSync(client.file(machine), 'utf8');
    expect(await run(client.id)).toBe(true);
    expect(readFileSync(client.file(machine), 'utf8')).toBe(written);
    expect(said).toContain('nothing to change');
    expect(await run(client.id, { uninstalls: true })).toBe(true);
    expect(isInstalled(client, machine)).toBe(false);
  });

  test('a preset goes into the environment of the entry, beside what is there', async () => {
    write(
      cursorFile(),
      '{"mcpServers":{"shell":{"command":"mcp-shell-server","args":[],"env":{"MINE":"1"}}}}',
    );
    const entry = { command: 'node', args: ['x'], variables: { MCP_SHELL_SECURITY_PRESET: 'sandbox' } };
    expect(await run('cursor', { entry })).toBe(true);
    expect(JSON.parse(readFileSync(cursorFile(), 'utf8'))).toEqual({
      mcpServers: {
        shell: { command: 'node', args: ['x'], env: { MINE: '1', MCP_SHELL_SECURITY_PRESET: 'sandbox' } },
      },
    });
    expect(await run('codex', { entry })).toBe(true);
    expect(readFileSync(join(home, '.codex/config.toml'), 'utf8')).toContain(
      'env = { MCP_SHELL_SECURITY_PRESET = "sandbox" }',
    );
  });

  test.for(CLIENTS.filter(({ http }) => http !== undefined))(
    '$title over HTTP: a token is created once the change is accepted, and is not shown',
    async (client) => {
      const entry = { url: 'http://127.0.0.1:3737/mcp', token: '<token>' };
      const created: string[] = [];
      const createToken = async ({ id }: { id: string }): Promise<string> => {
        created.push(id);
        return `mcpsh_secret${created.length}`;
      };
      const options = { entry, createToken };
      expect(await run(client.id, { ...options, confirm: () => Promise.resolve(false) })).toBe(false);
      expect(await run(client.id, { ...options, isDryRun: true })).toBe(true);
      expect(created).toEqual([]);
      expect(await run(client.id, options)).toBe(true);
      const text = (): string => readFileSync(client.file(machine), 'utf8');
      expect(text()).toContain('Bearer mcpsh_secret1');
      expect(text()).toContain('http://127.0.0.1:3737/mcp');
      expect(text()).not.toMatch(/command|args/);
      expect(said).not.toContain('secret1');
      expect(isInstalled(client, machine)).toBe(true);
      // Again: another token. Over stdio: not beside it.
      expect(await run(client.id, options)).toBe(true);
      expect(text()).toContain('Bearer mcpsh_secret2');
      expect(await run(client.id)).toBe(false);
      expect(said).toContain('is connected over HTTP; remove it with --uninstall first');
      expect(await run(client.id, { uninstalls: true })).toBe(true);
      expect(isInstalled(client, machine)).toBe(false);
    },
  );

  test('Claude Desktop accepts no address of this machine', async () => {
    const entry = { url: 'http://127.0.0.1:3737/mcp', token: '<token>' };
    const createToken = (): Promise<string> => Promise.reject(new Error('no token is needed'));
    expect(await run('claude-desktop', { entry, createToken })).toBe(false);
    expect(said).toContain('install it without --http');
  });

  describe('the approval of tools in Codex', () => {
    const file = (): string => readFileSync(join(home, '.codex/config.toml'), 'utf8');
    const APPROVED = 'default_tools_approval_mode = "approve"';
    test.each([
      ['is not written without a yes', 'leave', true, false],
      ['is written on request', 'write', true, true],
      ['is asked for', 'ask', true, true],
      ['is not written after a no', 'ask', false, false],
    ] as const)('%s', async (_, approval, answer, isWritten) => {
      const questions: string[] = [];
      const confirm = (question: string): Promise<boolean> => {
        questions.push(question);
        return Promise.resolve(question === 'Write this?' || answer);
      };
      expect(await run('codex', { approval, confirm })).toBe(true);
      expect(said).toMatch(/`codex exec` cannot ask/);
      expect(questions).toHaveLength(approval === 'ask' ? 2 : 1);
      expect(file().includes(APPROVED)).toBe(isWritten);
    });

    test('is the person’s where it is set, and nothing that other clients have', async () => {
      write(
        join(home, '.codex/config.toml'),
        '[mcp_servers.shell]\ncommand = "mcp-shell-server"\nargs = []\ndefault_tools_approval_mode = "prompt"\n',
      );
      expect(await run('codex', { approval: 'write' })).toBe(true);
      expect(file()).toContain('default_tools_approval_mode = "prompt"');
      expect(await run('cursor', { approval: 'write' })).toBe(true);
      expect(readFileSync(cursorFile(), 'utf8')).not.toContain('approval');
    });
  });

  test('shows the change, keeps what was there, and keeps mode and secrets to itself', async () => {
    const before = '{\n  "mcpServers": {\n    "x": { "env": { "API_TOKEN": "abcdef0123456789" } }\n  }\n}\n';
    write(cursorFile(), before, 0o640);
    chmodSync(cursorFile(), 0o640);
    expect(await run('cursor')).toBe(true);
    expect(said).toContain('+       "command": "node",');
    expect(said).not.toContain('abcdef0123456789');
    const backup = `${cursorFile()}.backup-20260102T030405Z`;
    expect(said).toContain(backup);
    expect(readFileSync(backup, 'utf8')).toBe(before);
    for (const path of [cursorFile(), backup]) expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(readdirSync(dirname(cursorFile())).length).toBe(2);
    await run('cursor', { uninstalls: true });
    expect(readFileSync(cursorFile(), 'utf8')).toBe(before);
    // The second in the same moment is another file.
    expect(existsSync(`${backup}-1`)).toBe(true);
  });

  test('a dry run and a no write nothing', async () => {
    expect(await run('cursor', { isDryRun: true })).toBe(true);
    expect(await run('cursor', { confirm: () => Promise.resolve(false) })).toBe(false);
    expect(said).toContain('Nothing was written');
    expect(existsSync(dirname(cursorFile()))).toBe(false);
  });

  test('a file that cannot be read or changed is left alone, and the next one is not', async () => {
    write(cursorFile(), '{ broken');
    write(join(home, '.gemini/settings.json'), '{}');
    const clients = chooseClients(undefined, true, machine);
    expect(clients.map(({ id }) => id)).toEqual(['cursor', 'gemini-cli']);
    expect(await run('cursor', { clients })).toBe(false);
    expect(said).toMatch(/Cursor: .* was left as it is: it is not valid JSON/);
    expect(readFileSync(cursorFile(), 'utf8')).toBe('{ broken');
    expect(readFileSync(join(home, '.gemini/settings.json'), 'utf8')).toContain('"shell"');
    write(cursorFile(), '\xff', 0o600);
    writeFileSync(cursorFile(), Buffer.from([0x7b, 0xff, 0x7d]));
    expect(await run('cursor')).toBe(false);
    expect(said).toContain('it is not UTF-8');
  });

  test('a link is followed, and stays a link', async () => {
    const real = write(join(home, 'dotfiles/cursor.json'), '{}\n');
    mkdirSync(dirname(cursorFile()));
    symlinkSync('../dotfiles/cursor.json', cursorFile());
    expect(await run('cursor')).toBe(true);
    expect(lstatSync(cursorFile()).isSymbolicLink()).toBe(true);
    expect(readFileSync(real, 'utf8')).toContain('"shell"');
    expect(readdirSync(join(home, '.cursor'))).toEqual(['mcp.json']);
  });

  test('a link to where nothing is yet says where the file is to be', async () => {
    mkdirSync(dirname(cursorFile()));
    symlinkSync(join(home, 'later/cursor.json'), cursorFile());
    expect(await run('cursor')).toBe(true);
    expect(lstatSync(cursorFile()).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(home, 'later/cursor.json'), 'utf8')).toContain('"shell"');
  });

  test('links in a circle, a directory and a file that changes meanwhile are left alone', async () => {
    mkdirSync(dirname(cursorFile()));
    symlinkSync('mcp.json', cursorFile());
    expect(await run('cursor')).toBe(false);
    rmSync(cursorFile());
    mkdirSync(cursorFile());
    expect(await run('cursor')).toBe(false);
    rmSync(cursorFile(), { recursive: true });

    write(cursorFile(), '{}\n');
    const confirm = (): Promise<boolean> => {
      writeFileSync(cursorFile(), '{"mine": 1}');
      return Promise.resolve(true);
    };
    expect(await run('cursor', { confirm })).toBe(false);
    expect(said).toContain('another program changed it meanwhile');
    expect(readFileSync(cursorFile(), 'utf8')).toBe('{"mine": 1}');
    expect(readdirSync(dirname(cursorFile()))).toEqual(['mcp.json']);
  });

  test('a client that nobody knows', () => {
    expect(() => chooseClients('curser', false, machine)).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('Did you mean cursor?') }),
    );
    expect(() => chooseClients(undefined, false, machine)).toThrow(/Name one client/);
    expect(() => chooseClients('cursor', true, machine)).toThrow(/Name one client/);
  });
});

test('a file that is made while another writes is not overwritten', () => {
  const path = join(home, 'new.json');
  const found = readFile(path);
  writeFileSync(path, 'theirs');
  expect(() => replaceFile(found, 'ours', 0)).toThrow(/changed it meanwhile/);
  expect(readFileSync(path, 'utf8')).toBe('theirs');
});
