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
