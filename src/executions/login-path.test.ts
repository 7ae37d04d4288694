import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { needs } from '../../test/setup/needs.ts';
import { createLoginPath, type LoginPath, mergePaths } from './login-path.ts';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(realpathSync(tmpdir()), 'login-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** A shell whose start-up files do what is told before it does what it is asked. */
function shellThat(does: string): string {
  const path = join(directory, 'shell');
  writeFileSync(path, `#!/bin/sh\n${does}\nwhile [ "$1" != -c ]; do shift; done\neval "$2"\n`);
  chmodSync(path, 0o755);
  return path;
}

const created: LoginPath[] = [];
afterEach(() => {
  for (const login of created.splice(0)) login.dispose();
});

function create(shell: string, environment: Record<string, string> = {}): LoginPath {
  const login = createLoginPath({
    shell,
    stateDirectory: join(directory, 'state'),
    environment: { PATH: '/usr/bin:/bin', ...environment },
    marker: 'test',
  });
  created.push(login);
  return login;
}

test('the login shell’s PATH goes before the server’s, and noise in its start-up files is no part of it', async () => {
  const shell = shellThat(
    'echo "Welcome!"; echo PATH=/wrong; export PATH="/home/me/.nvm/bin:$PATH"; echo bye >&2',
  );
  const login = create(shell);
  await expect.poll(() => login.resolve(), { timeout: 5000 }).toBe('/home/me/.nvm/bin:/usr/bin:/bin');
  login.dispose();
});

test('is kept on disk for the next start, which does not wait, and asked for again in the background', async () => {
  const first = create(shellThat('PATH="/old:$PATH"'));
  await expect.poll(() => first.resolve(), { timeout: 5000 }).toBe('/old:/usr/bin:/bin');
  first.dispose();
  const shell = shellThat('sleep 1; PATH="/new:$PATH"');
  const second = create(shell);
  const later = new Promise((resolve) => {
    setImmediate(resolve, 'it waited for something');
  });
  expect(await Promise.race([second.resolve(), later])).toBe('/old:/usr/bin:/bin');
  await expect.poll(() => second.resolve(), { timeout: 5000 }).toBe('/new:/usr/bin:/bin');
  second.dispose();
});

test('a login shell that hangs is waited for half a second, once, and is ended with what it started', async () => {
  const pid = join(directory, 'pid');
  const login = create(shellThat(`sleep 300 & echo $! > ${pid}; wait`));
  const began = Date.now();
  expect(await login.resolve()).toBe('/usr/bin:/bin');
  expect(Date.now() - began).toBeGreaterThanOrEqual(490);
  expect(await login.resolve()).toBe('/usr/bin:/bin');
  expect(Date.now() - began).toBeLessThan(1500);
  login.dispose();
  await sleep(100);
  const sleeper = Number(readFileSync(pid, 'utf8'));
  await expect
    .poll(
      () => existsSync(`/proc/${sleeper}`) && !readFileSync(`/proc/${sleeper}/stat`, 'utf8').includes(') Z '),
    )
    .toBe(false);
});

test.for(['/no/such/shell', '/bin/false'])('%s gives the server’s own PATH', async (shell) => {
  const login = create(shell);
  expect(await login.resolve()).toBe('/usr/bin:/bin');
  login.dispose();
});

const real = [
  { name: 'bash', shell: '/bin/bash', file: '.bash_profile', isMissing: needs('bash') },
  { name: 'zsh', shell: '/usr/bin/zsh', file: '.zshrc', isMissing: needs('zsh') },
];
test.for(real.filter(({ isMissing }) => !isMissing))(
  '$name reads its own start-up files',
  async ({ shell, file }) => {
    writeFileSync(join(directory, file), 'export PATH="$HOME/.pyenv/shims:$PATH"\n');
    const login = create(shell, { HOME: directory });
    await expect.poll(() => login.resolve(), { timeout: 5000 }).toContain(`${directory}/.pyenv/shims`);
    login.dispose();
  },
);

test('each directory is there once', () => {
  expect(mergePaths('/a:/b:/a', '/b:/c:')).toBe('/a:/b:/c');
});
