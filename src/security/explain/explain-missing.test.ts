import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type FailedCommand, hintFor } from './explain-missing.ts';

describe('a hint', () => {
  let directory = '';
  beforeEach(() => {
    directory = mkdtempSync(join(realpathSync(tmpdir()), 'hints-'));
    vi.stubEnv('HOME', join(directory, 'home'));
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(directory, { recursive: true, force: true });
  });

  const hint = ({
    stderr = '',
    ...failed
  }: Partial<FailedCommand> & { readonly stderr?: string }): string | undefined =>
    hintFor({ exitCode: 127, text: stderr, directory, path: '/nowhere', isSandboxed: true, ...failed });

  function makeProgram(path: string): string {
    const full = join(directory, path);
    mkdirSync(join(full, '..'), { recursive: true });
    writeFileSync(full, '');
    chmodSync(full, 0o755);
    return full;
  }

  test.for([
    'bash: line 1: frobnicate: command not found',
    'zsh:1: command not found: frobnicate',
    'sh: 1: frobnicate: not found',
    'fish: Unknown command: frobnicate',
    'env: ‘frobnicate’: No such file or directory',
    'xargs: frobnicate: No such file or directory',
    'timeout: failed to run command: x\nnohup: frobnicate: No such file or directory',
  ])('names what is missing, in the words of any shell: %s', (stderr) => {
    expect(hint({ stderr })).toBe('frobnicate is not installed, or not on PATH.');
  });

  test('names the nearest commands, and where it is though not on PATH', () => {
    makeProgram('bin/frobnicate');
    const stderr = 'bash: line 1: frobnicte: command not found';
    expect(hint({ stderr, path: join(directory, 'bin') })).toBe(
      'frobnicte is not installed, or not on PATH. The nearest on PATH: frobnicate.',
    );
    const local = makeProgram('node_modules/.bin/frobnicte');
    expect(hint({ stderr })).toContain(`${local} exists`);
  });

  test('says that the sandbox does not show what is on PATH and not there', () => {
    const program = makeProgram('elsewhere/frobnicate');
    const stderr = 'bash: line 1: frobnicate: command not found';
    expect(hint({ stderr, path: join(directory, 'elsewhere') })).toBe(
      `${program} exists, but the sandbox does not show it. The operator can show it with security.readable_paths.`,
    );
  });

  test('blames no sandbox where there is none', () => {
    makeProgram('elsewhere/frobnicate');
    const stderr = 'bash: line 1: frobnicate: command not found';
    expect(hint({ stderr, path: join(directory, 'elsewhere'), isSandboxed: false })).not.toContain('sandbox');
  });

  test('says whose a file is that was denied, inside the directory alone where there is a sandbox', () => {
    writeFileSync(join(directory, 'script'), '');
    chmodSync(join(directory, 'script'), 0o644);
    const stderr = `bash: line 1: ./script: Permission denied`;
    expect(hint({ exitCode: 126, stderr })).toMatch(/\(mode 0644\).*It is not executable/);
    expect(hint({ exitCode: 1, stderr: 'cat: /etc/shadow: Permission denied' })).toBeUndefined();
    expect(
      hint({ exitCode: 1, stderr: 'cat: /etc/shadow: Permission denied', isSandboxed: false }),
    ).toContain('/etc/shadow');
  });

  test('is none where nothing is known', () => {
    expect(hint({ exitCode: 0, stderr: 'x: command not found' })).toBeUndefined();
    expect(hint({ exitCode: 1, stderr: 'x: command not found' })).toBeUndefined();
    expect(hint({ exitCode: undefined, stderr: 'Permission denied' })).toBeUndefined();
    expect(hint({ stderr: 'nothing of the kind' })).toBeUndefined();
  });
});
