import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { needs } from '../../test/setup/needs.ts';
import { bwrapOptions } from '../security/sandbox/bwrap.ts';
import { findPrivatePaths } from '../security/sandbox/find-private.ts';
import { loginProfile } from '../security/sandbox/login-profile.ts';
import { createHost, type Host, securityOf } from '../security/sandbox/sandbox.fixture.ts';
import type { SandboxSpec } from '../security/security.ts';
import { createLoginPath, type LoginPath, type LoginPathOptions, mergePaths } from './login-path.ts';
import { listProcesses } from './process-table.ts';

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

function create(
  shell: string,
  environment: Record<string, string> = {},
  options: Partial<LoginPathOptions> = {},
): LoginPath {
  const login = createLoginPath({
    shell,
    stateDirectory: join(directory, 'state'),
    environment: { PATH: '/usr/bin:/bin', ...environment },
    home: directory,
    prepareSandbox: async () => ({ sandboxSpec: undefined }),
    marker: 'test',
    ...options,
  });
  created.push(login);
  return login;
}

test('the login shell’s PATH goes before the server’s, and noise in its start-up files is no part of it', async () => {
  const shell = shellThat(
    'echo "Welcome!"; echo PATH=/wrong; export PATH="/home/me/.nvm/bin:$PATH"; echo bye >&2',
  );
  const login = create(shell);
  await expect.poll(() => login.resolve()).toBe('/home/me/.nvm/bin:/usr/bin:/bin');
  login.dispose();
});

/** What comes before it waited for nothing. */
const nextTurn = (): Promise<string> =>
  new Promise((resolve) => {
    setImmediate(resolve, 'it waited for something');
  });

test('is kept on disk for the next start, which does not wait, and asked for again in the background', async () => {
  const first = create(shellThat('PATH="/old:$PATH"'));
  await expect.poll(() => first.resolve()).toBe('/old:/usr/bin:/bin');
  first.dispose();
  const shell = shellThat('sleep 1; PATH="/new:$PATH"');
  const second = create(shell);
  expect(await Promise.race([second.resolve(), nextTurn()])).toBe('/old:/usr/bin:/bin');
  await expect.poll(() => second.resolve()).toBe('/new:/usr/bin:/bin');
  second.dispose();
});

test('a login shell that hangs is waited for a second, once, and is ended with what it started', async () => {
  const pid = join(directory, 'pid');
  const login = create(shellThat(`sleep 300 & echo $! > ${pid}; wait`));
  const began = Date.now();
  expect(await login.resolve()).toBe('/usr/bin:/bin');
  expect(Date.now() - began).toBeGreaterThanOrEqual(990);
  expect(await Promise.race([login.resolve(), nextTurn()])).toBe('/usr/bin:/bin');
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
    await expect.poll(() => login.resolve()).toContain(`${directory}/.pyenv/shims`);
    login.dispose();
  },
);

test('each directory is there once', () => {
  expect(mergePaths('/a:/b:/a', '/b:/c:')).toBe('/a:/b:/c');
});

test('starts in the home directory, whatever the server’s own is', async () => {
  const login = create(shellThat('PATH="$PWD/here:$PATH"'));
  await expect.poll(() => login.resolve()).toBe(`${directory}/here:/usr/bin:/bin`);
});

test('is waited for longer where commands can write to what it names, and said once it is known', async () => {
  const heard: string[] = [];
  const login = create(
    shellThat('sleep 1; PATH="/slow:$PATH"'),
    {},
    { isHomeOpen: true, onKnown: (path) => heard.push(path) },
  );
  expect(await login.resolve()).toBe('/slow:/usr/bin:/bin');
  const next = create(join(directory, 'shell'), {}, { onKnown: (path) => heard.push(path) });
  await next.resolve();
  expect(heard).toEqual(['/slow:/usr/bin:/bin', '/slow:/usr/bin:/bin']);
});

test('is not asked where nothing may run without a sandbox and there is none', async () => {
  const trace = join(directory, 'trace');
  const shell = shellThat(`: > ${trace}; PATH=/login`);
  const login = create(shell, {}, { prepareSandbox: async () => undefined });
  expect(await login.resolve()).toBe('/usr/bin:/bin');
  await sleep(200);
  expect(existsSync(trace)).toBe(false);
});

describe.skipIf(needs('bwrap'))('in its sandbox', () => {
  function sandboxSpecIn(host: Host): SandboxSpec {
    const profile = loginProfile({
      security: securityOf('development', { workspace: [host.home] }),
      homedir: host.home,
      environment: {},
      ownPaths: [host.state],
      privatePaths: findPrivatePaths(host.home, {}),
      specialFiles: [],
    });
    const options = bwrapOptions(profile, { disablesUserns: false, hasSeccomp: false });
    return {
      kind: 'bubblewrap',
      program: '/usr/bin/bwrap',
      options,
      seccomp: undefined,
      pinned: [],
      kept: [],
      watched: [],
    };
  }

  /** The PATH that it answers with. */
  async function askAfter(
    does: string,
    host: Host,
    { shell = '/bin/bash', file = '.bash_profile' } = {},
  ): Promise<string> {
    host.write(`home/${file}`, `${does}\nexport PATH="$PWD/login:$PATH"\n`);
    const login = create(
      shell,
      { HOME: host.home },
      { home: host.home, prepareSandbox: async () => ({ sandboxSpec: sandboxSpecIn(host) }) },
    );
    await expect.poll(() => login.resolve()).toMatch(`${host.home}/login:`);
    return await login.resolve();
  }

  const shells = [
    { name: 'bash', shell: '/bin/bash', file: '.bash_profile' },
    { name: 'zsh', shell: '/usr/bin/zsh', file: '.zshrc' },
    { name: 'fish', shell: '/usr/bin/fish', file: '.config/fish/config.fish' },
  ] as const;
  test.for(shells.filter(({ name }) => !needs(name)))(
    '$name answers from the home directory',
    async ({ shell, file }) => {
      const host = createHost();
      expect(await askAfter('', host, { shell, file })).toMatch(`${host.home}/login:`);
    },
  );

  const places = [
    '$HOME/written',
    '$HOME/.cache/written',
    '$HOME/project/written',
    '/etc/written-by-login',
    '/usr/written-by-login',
    '/dev/shm/written-by-login',
  ];
  test.for(places)('start-up files cannot write to %s', async (place) => {
    const host = createHost();
    host.makeDirectory('home/.cache');
    await askAfter(`echo x > "${place}"`, host);
    expect(existsSync(place.replace('$HOME', host.home))).toBe(false);
  });

  test('start-up files reach neither the network nor private files', async () => {
    const host = createHost();
    host.write('home/.ssh/id_ed25519', 'secret');
    let connections = 0;
    const listener = createServer(() => connections++).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    try {
      const path = await askAfter(
        `(echo x > /dev/tcp/127.0.0.1/${port}); [ -e ~/.ssh/id_ed25519 ] && export PATH=/saw-a-key:$PATH`,
        host,
      );
      expect(connections).toBe(0);
      expect(path).not.toContain('/saw-a-key');
    } finally {
      listener.close();
    }
  });

  test('what start-up files leave running ends with the answer', async () => {
    await askAfter('(exec -a left-by-login sleep 300) & disown', createHost());
    await expect
      .poll(() => listProcesses().filter(({ pid }) => commandLineOf(pid).includes('left-by-login')))
      .toEqual([]);
  });
});

function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}
