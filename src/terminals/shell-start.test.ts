import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findShell } from './shell-start.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'shells-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function install(...names: string[]): string {
  mkdirSync(join(directory, 'bin'), { recursive: true });
  for (const name of names) writeFileSync(join(directory, 'bin', name), '', { mode: 0o755 });
  return join(directory, 'bin');
}

const about = { nonce: 'n', isSandboxed: false, inherited: {} };

describe('the shell', () => {
  test('is found on the path, before the usual places', () => {
    const bin = install('bash', 'zsh');
    expect(findShell('bash', '/bin/sh', bin)).toMatchObject({ path: join(bin, 'bash'), name: 'bash' });
    expect(findShell('bash', '/bin/sh', '')).toMatchObject({ path: '/bin/bash' });
    // A place that depends on where the server is, is none.
    expect(findShell('bash', '/bin/sh', `.:${bin}`).path).toBe(join(bin, 'bash'));
  });

  test('is the configured one where none is named', () => {
    expect(findShell(undefined, '/bin/sh', '')).toMatchObject({ path: '/bin/sh', hasCommandMark: false });
  });

  test('that is not there is refused, and others are named', () => {
    expect(() => findShell('powershell', '/bin/sh', '')).toThrow(
      expect.objectContaining({
        code: 'EXECUTION_001',
        details: { shell: 'powershell', available: expect.arrayContaining(['bash', 'sh']) },
      }),
    );
    expect(() => findShell(undefined, '/no/such/shell', '')).toThrow(
      expect.objectContaining({ code: 'EXECUTION_001' }),
    );
  });
});

describe('it is started', () => {
  const start = (type: 'bash' | 'zsh' | 'fish' | 'sh', more = {}) =>
    findShell(type, '', install(type)).start('/scripts', { ...about, ...more });

  test('with a script that is told the number, and no other way', () => {
    for (const type of ['bash', 'zsh', 'fish', 'sh'] as const) {
      const { argv, environment } = start(type);
      expect(environment['MCP_SHELL_NONCE']).toBe('n');
      expect(argv.join(' ')).not.toMatch(/\bn\b/);
      expect(JSON.stringify([argv, environment])).toContain('/scripts');
    }
  });

  test('sh leads its process group in a sandbox, and starts all the same where that has no bash', () => {
    const { argv } = start('sh', { isSandboxed: true });
    const own = start('sh').argv;
    expect(argv.slice(-own.length)).toEqual(own);
    const program = ['/bin/sh', '-c', 'echo "$0 $1 ${SHLVL-0}"; echo heard >&2; exit 6', 'as', 'told'];
    const leading = argv.slice(0, -own.length);
    for (const bash of ['/bin/bash', '/no/such/bash']) {
      const [first = '', ...rest] = [
        ...leading.map((word) => (word === '/bin/bash' ? bash : word)),
        ...program,
      ];
      // What an answer of the terminal would be: its descriptors are one and the same.
      const { status, stdout } = spawnSync('/bin/sh', ['-c', 'exec "$@" 0>&1 2>&1', 'sh', first, ...rest], {
        env: { LC_ALL: 'xx_XX' },
        encoding: 'utf8',
      });
      expect({ status, stdout }).toEqual({ status: 6, stdout: 'as told 0\nheard\n' });
    }
  });

  test('zsh finds the files of its user where they are', () => {
    expect(start('zsh').environment).toEqual({ MCP_SHELL_NONCE: 'n', ZDOTDIR: '/scripts/zsh' });
    expect(start('zsh', { inherited: { ZDOTDIR: '/mine' } }).environment).toMatchObject({
      MCP_SHELL_ZDOTDIR: '/mine',
    });
  });

  test('fish writes elsewhere where it cannot write at home', () => {
    expect(start('fish').environment).toEqual({ MCP_SHELL_NONCE: 'n' });
    const { environment } = start('fish', { isSandboxed: true, inherited: { XDG_CONFIG_HOME: '/mine' } });
    expect(environment).toMatchObject({
      XDG_CONFIG_HOME: expect.stringMatching(/^\/tmp\//),
      XDG_DATA_HOME: expect.stringMatching(/^\/tmp\//),
      MCP_SHELL_XDG_CONFIG_HOME: '/mine',
    });
  });
});
