/** What the sandbox stopped is explained, with the setting that opens it; what it did not stop is not. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lacks, needs } from '../setup/needs.ts';
import {
  createDeveloper,
  type Developer,
  isRoot,
  NOBODY,
  SANDBOX_WORDS,
  works,
} from './support/developer.ts';
import type { Product } from './support/product.ts';

const cannot = lacks(process.platform !== 'linux', 'bubblewrap is for Linux') || needs('bwrap');

/** Programs that may not be installed, as far as they complain. */
const STAND_INS: Readonly<Record<string, string>> = {
  sudo: 'echo "sudo: The \\"no new privileges\\" flag is set, which prevents sudo from running as root." >&2; exit 1',
  docker:
    'echo "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?" >&2; exit 1',
  gh: '[ -e ~/.config/gh/hosts.yml ] && echo "Logged in to github.com" && exit 0; echo "To get started with GitHub CLI, please run:  gh auth login" >&2; exit 4',
  aws: 'echo "Unable to locate credentials. You can configure credentials by running \\"aws configure\\"." >&2; exit 253',
};

let developer: Developer;
let product: Product;
beforeAll(async () => {
  if (cannot) return;
  developer = createDeveloper();
  for (const [name, script] of Object.entries(STAND_INS)) {
    developer.put(`tools/${name}`, `#!/bin/sh\n${script}\n`, 0o755);
  }
  developer.put('.ssh/id_ed25519', 'PRIVATE');
  developer.put('.ssh/config', 'Host none\n');
  developer.put('.config/gh/hosts.yml', 'github.com: PRIVATE\n');
  developer.put('.aws/credentials', 'PRIVATE');
  developer.put('.netrc', 'machine example.com login me password PRIVATE\n');
  developer.put('.bash_history', 'PRIVATE\n');
  developer.put('.gradle/gradle.properties', 'token=PRIVATE\n');
  developer.put('.bundle/config', 'BUNDLE_TOKEN: PRIVATE\n');
  developer.put('.npmrc', '//registry.npmjs.org/:_authToken=PRIVATE\n');
  developer.put('.yarnrc.yml', 'enableTelemetry: false\nnpmAuthToken: PRIVATE\n');
  developer.put('shown/file', 'shown\n');
  developer.put('work/package.json', '{"scripts":{"test":"exit 1"}}');
  developer.put('work/broken.c', 'int main( { return 0; }\n');
  developer.put(
    'work/failing.test.mjs',
    'import test from "node:test"; test("no", () => { throw new Error("no"); });',
  );
  developer.put(
    'work/failing.py',
    'import unittest\nclass It(unittest.TestCase):\n  def test_it(self): self.fail()\nunittest.main()\n',
  );
  developer.put('work/secret', 'x\n', 0o000);
  developer.put('work/Makefile', 'fails:\n\tfalse\n');
  execFileSync('git', ['init', '-q', '-b', 'main', developer.work]);
  product = await developer.open('', { env: { PATH: `${join(developer.home, 'tools')}:/usr/bin:/bin` } });
});
afterAll(() => developer?.remove());

describe.skipIf(cannot)('in development', () => {
  const denied: readonly [command: string, ...says: (string | RegExp)[]][] = [
    ['sudo ls', /sudo/],
    ['su -c id', /sudo and su/],
    ['docker ps', 'security.expose', '"docker"'],
    ['gh pr list', 'security.expose', '"gh"'],
    ['aws s3 ls', 'security.expose', '"aws"'],
    ['echo "git@github.com: Permission denied (publickey)." >&2; exit 128', 'security.expose', '"ssh-agent"'],
    [
      `echo "fatal: could not read Username for 'https://github.com': terminal prompts disabled" >&2; exit 128`,
      'security.expose',
      '"git"',
    ],
    ['npm whoami --registry=http://127.0.0.1:9/', 'security.expose', '"npm"'],
    ['touch /usr/x', '/usr/x', 'security.writable_paths'],
    ['touch "/usr/a b"', '/usr/a b', 'security.writable_paths'],
    ['mkdir -p /opt/x/y', '/opt/x', 'security.writable_paths'],
    ['echo x > /etc/x', '/etc/x', 'security.writable_paths'],
    ['echo x | tee ~/x', /home\/x\b/, 'security.writable_paths'],
    ['sed -i s/a/b/ /etc/hostname', '/etc/', 'security.writable_paths'],
    [`node -e "require('fs').writeFileSync('/usr/x', '')"`, '/usr/x', 'security.writable_paths'],
    [`node -e "require('fs').mkdirSync('/opt/a b')"`, '/opt/a b', 'security.writable_paths'],
    [
      `node -e "require('fs').promises.appendFile('/usr/x', '').catch(e => { console.error(e.message); process.exit(1) })"`,
      '/usr/x',
    ],
    [`python3 -c "open('/usr/x', 'w')"`, '/usr/x', 'security.writable_paths'],
    ['cp package.json /usr/x', '/usr/x', 'security.writable_paths'],
    ['git clone -q . /opt/clone', '/opt/clone', 'security.writable_paths'],
    ['git config --global a.b c', '.gitconfig', 'security.writable_paths'],
    ['cd /usr && touch x', 'security.writable_paths'],
    [
      'mkdir global && cd global && echo \'{"name":"gx","version":"1.0.0"}\' > package.json && npm pack --silent && npm install --prefix /usr -g ./gx-1.0.0.tgz',
      '/usr/lib/node_modules/gx',
      'security.writable_paths',
    ],
    [
      `node -e "require('fs').symlinkSync('../package.json', '/usr/lib/gx')"`,
      '/usr/lib/gx',
      'security.writable_paths',
    ],
    ['git config user.name Other', '.git/config', 'security.writable_paths'],
    ['git remote add origin /x', '.git/config'],
    ['echo x > .git/hooks/pre-commit', '.git/hooks', 'security.writable_paths'],
    ['cat ~/.ssh/id_ed25519', '.ssh/id_ed25519', 'security.expose', '"ssh"'],
    ['cat ~/.config/gh/hosts.yml', '.config/gh', 'security.expose', '"gh"'],
    ['cat ~/.aws/credentials', '.aws', 'security.expose', '"aws"'],
    [
      `node -e "require('fs').readFileSync(process.env.HOME + '/.ssh/id_ed25519')"`,
      '.ssh/id_ed25519',
      '"ssh"',
    ],
    [`python3 -c "import os; open(os.environ['HOME'] + '/.aws/credentials')"`, '.aws/credentials', '"aws"'],
    ['unshare -U true', /namespaces/i],
  ];
  test.skipIf(needs('git', 'python3')).each(denied)('explained: %s', async (command, ...says) => {
    const { data, text } = await product.execute(command, { execution_mode: 'foreground' });
    expect(data).toMatchObject({ success: false, message: expect.stringMatching(SANDBOX_WORDS) });
    for (const said of says) expect(data.message).toMatch(said instanceof RegExp ? said : literally(said));
    expect(text).toContain(data.message);
    // Nothing is invented: no path of the workspace that the command did not speak of.
    expect(data.message).not.toMatch(/EROFS|ENOENT|somebody outside.*package\.json/);
    expect(data.error_code).toBeUndefined();
  });

  const ordinary = [
    'grep nothing-like-this package.json',
    'cat missing.txt',
    'ls nothing',
    './nothing',
    'cd nothing',
    'rm nothing',
    'cp nothing other',
    'false',
    'exit 3',
    'test -f nothing',
    'kill -TERM $$',
    'diff package.json broken.c',
    'gcc broken.c',
    'make fails',
    'make nothing',
    'npm test',
    'npm run nothing',
    'node --test failing.test.mjs',
    'python3 failing.py',
    'node -e "throw new Error()"',
    `node -e "require('./nothing')"`,
    `node -e "require('fs').readFileSync('nothing')"`,
    `python3 -c "import nothing"`,
    `python3 -c "open('nothing')"`,
    'git checkout nothing',
    'git merge nothing',
    'git push',
    'tar xf nothing.tar',
    'curl -sS http://127.0.0.1:9/',
    'curl -sS http://nowhere.invalid/',
    `node -e "fetch('http://127.0.0.1:9').catch(e => { console.error(e); process.exit(1) })"`,
    'ssh -o BatchMode=yes nowhere.invalid',
    'timeout 0.1 sleep 5',
    'cat ~/.kube/config',
    'cat ~/.config/gcloud/nothing',
    'cat ~/.bashrc',
    'echo "expected: Connection refused" >&2; exit 1',
    'echo "1 failing: sign in with GH_TOKEN" ; exit 1',
    'mkdir package.json',
    'echo x > nothing/there',
    'chmod +x nothing',
    'rmdir .',
    'touch ""',
    'head -c 100 /dev/urandom > /dev/null; exit 9',
    'find . -name nothing | grep .',
    'nothing-like-a-command',
    'bash -c "exit 77"',
    'set -e; false; true',
    'echo $((1 / 0))',
    'awk "BEGIN { exit 5 }"',
    'read -t 0.1 x',
    'python3 -m nothing',
    'sqlite3 nothing/there.db .tables || false',
  ];
  test.skipIf(needs('git', 'python3', 'gcc', 'make', 'curl', 'ssh')).each(ordinary)(
    'an ordinary failure is not the sandbox’s: %s',
    async (command) => {
      const { data } = await product.execute(command, { execution_mode: 'foreground' });
      expect(data).toMatchObject({ success: false });
      expect(data.message ?? '').not.toMatch(SANDBOX_WORDS);
      expect(data.error_code).toBeUndefined();
    },
  );

  test.skipIf(isRoot)('nor is a file that may not be read', async () => {
    const { data } = await product.execute('cat secret');
    expect(data.message).toContain('mode 0000');
    expect(data.message).not.toMatch(SANDBOX_WORDS);
  });

  const succeeding: readonly [command: string, args?: Record<string, unknown>][] = [
    ['true'],
    ['echo "No space left on device" >&2'],
    ['echo "No space left on device"', { merge_stderr: true }],
    ['echo "touch: cannot touch \'/usr/x\': Read-only file system"'],
    ['echo "touch: cannot touch \'/usr/x\': Read-only file system"', { merge_stderr: true }],
    ['echo "pthread_create failed; fork: Resource temporarily unavailable" >&2'],
    ['echo "Cannot connect to the Docker daemon; Permission denied (publickey)" >&2'],
    ['curl -sS http://127.0.0.1:9/ || true'],
    ['echo $((6 & 3))'],
    ['cat <<END\nTom & Jerry\nEND'],
    ['# this & that\ntrue'],
    ['sleep 0.01 & wait'],
  ];
  test.skipIf(needs('curl')).each(succeeding)('nor is a success: %s', async (command, args = {}) => {
    const { data } = await product.execute(command, args);
    expect(data).toMatchObject({ status: 'completed', success: true, exit_code: 0 });
    expect(data.error_code).toBeUndefined();
    expect(data.message).toBeUndefined();
  });

  test('what is hidden and reads as empty is told, though the command succeeded', async () => {
    const { data } = await product.execute('ls ~/.ssh; true');
    expect(data).toMatchObject({
      status: 'completed',
      exit_code: 0,
      message: expect.stringMatching(/The sandbox hides .*\.ssh: inside it is empty/),
    });
    expect(data.error_code).toBeUndefined();
  });

  test('so is a file of which nothing is left without its secrets', async () => {
    const { data } = await product.execute('cat ~/.npmrc');
    expect(data).toMatchObject({ exit_code: 0, stdout: '' });
    expect(data.message).toMatch(/The sandbox hides .*\.npmrc: .*security\.readable_paths/);
    const { data: shown } = await product.execute('cat ~/.yarnrc.yml');
    expect(shown).toMatchObject({ stdout: 'enableTelemetry: false\n' });
    expect(shown).not.toHaveProperty('message');
  });

  test.for(['bash', 'sh'])('the same of what is typed in a terminal, in %s', async (shell_type) => {
    const { data: opened } = await product.call('terminal_create', { shell_type });
    const type = async (input: string): Promise<Record<string, unknown>> => {
      const { terminal_id } = opened;
      const asked = { terminal_id, input, execute: true, timeout_seconds: 60 };
      return (await product.call('terminal_send_input', asked)).data;
    };
    expect((await type('cat ~/.ssh/config')).message).toMatch(/The sandbox hides .*\.ssh/);
    expect((await type('cat ~/.npmrc')).message).toMatch(/The sandbox hides .*\.npmrc/);
    expect((await type('touch /usr/stopped')).message).toMatch(/stopped it from writing to \/usr\/stopped/);
    expect(await type('cat ~/shown/file')).not.toHaveProperty('message');
    await product.call('terminal_close', { terminal_id: opened.terminal_id });
  });

  test('of several commands one that was stopped is told, though the last one succeeded', async () => {
    const { data } = await product.execute('touch /usr/stopped; echo done');
    expect(data).toMatchObject({
      status: 'completed',
      success: true,
      stdout: 'done\n',
      message: expect.stringMatching(/stopped it from writing to \/usr\/stopped.*security\.writable_paths/),
    });
    expect(data.error_code).toBeUndefined();
  });

  test('what is hidden cannot be read, but is no obstacle to programs that look for it', async () => {
    const { data } = await product.execute(
      'cat ~/.netrc ~/.bash_history ~/.gradle/gradle.properties ~/.bundle/config ~/.ssh/* ~/.aws/* ~/.config/gh/* 2>/dev/null; true',
    );
    expect(data.stdout).not.toContain('PRIVATE');
    const emptied = await product.execute('cat ~/.gradle/gradle.properties ~/.bundle/config');
    expect(emptied.data).toMatchObject({ success: true, exit_code: 0, stdout: '' });
    expect(emptied.data.message).toContain('.gradle/gradle.properties: inside it is empty');
    await works(product, `python3 -c "import netrc; netrc.netrc()"`);
  });

  test.each([
    ['plain', 'git init -q && git config user.name me && git status', /^$/],
    ['evil', 'git init -q && git config core.fsmonitor ./evil', /\/new\/evil\/\.git\/config\b/],
    ['hooked', 'git init -q && touch .git/hooks/pre-commit', /\/new\/hooked\/\.git\/hooks\b/],
  ])('a new repository is spoken of if git would run something in it: %s', async (name, how, said) => {
    developer.put(`new/${name}/file`, '');
    const cwd = join(developer.home, 'new', name);
    const server = await developer.open('', { cwd });
    const { data } = await server.execute(how);
    expect(data).toMatchObject({ status: 'completed', exit_code: 0 });
    expect(data.message ?? '').toMatch(said);
  });

  test.skipIf(lacks(!isRoot, 'only root unpacks what is another user’s'))(
    'root unpacks an archive of somebody else’s',
    async () => {
      developer.put('work/theirs/file', 'theirs\n');
      execFileSync('chown', ['-R', '1234:1234', 'theirs'], { cwd: developer.work });
      execFileSync('tar', ['cf', 'theirs.tar', 'theirs'], { cwd: developer.work });
      execFileSync('rm', ['-r', 'theirs'], { cwd: developer.work });
      expect((await works(product, 'tar xf theirs.tar && cat theirs/file')).stdout).toBe('theirs\n');
    },
  );
});

describe.skipIf(cannot)('in the sandbox preset', () => {
  let shut: Product;
  beforeAll(async () => {
    shut = await developer.open(
      'preset = "sandbox"\nmax_file_mb = 40\nmax_tmp_mb = 20\nmax_pids = 64\nmax_memory_mb = 200',
    );
  });

  const cases: readonly [command: string, code: string | undefined, ...says: string[]][] = [
    ['curl -sS http://nowhere.invalid/', 'EXECUTION_005', 'security.enable_network'],
    ['curl -sS http://192.0.2.1/', 'EXECUTION_005', 'security.enable_network'],
    ['git clone http://nowhere.invalid/x', 'EXECUTION_005', 'security.enable_network'],
    [
      `node -e "fetch('http://nowhere.invalid').catch(e => { console.error(e); process.exit(1) })"`,
      'EXECUTION_005',
      'security.enable_network',
    ],
    [
      `python3 -c "import urllib.request as u; u.urlopen('http://nowhere.invalid')"`,
      'EXECUTION_005',
      'security.enable_network',
    ],
    ['npm view anything --fetch-retries=0', 'EXECUTION_005', 'security.enable_network'],
    ['head -c 30M /dev/zero > /tmp/x', 'EXECUTION_004', 'security.max_tmp_mb'],
    ['head -c 50M /dev/zero > large', 'EXECUTION_004', 'security.max_file_mb'],
    [`python3 -c "open('large', 'wb').truncate(50 << 20)"`, 'EXECUTION_004', 'security.max_file_mb'],
    ['for i in $(seq 100); do sleep 1 & done; exit 1', undefined, 'security.max_pids'],
    ['python3 -c "x = bytearray(1 << 30)"', 'EXECUTION_003', 'security.max_memory_mb'],
    ['touch /usr/x', undefined, 'security.writable_paths'],
    ['cat /home/somebody/file', undefined, 'security.readable_paths'],
  ];
  test.skipIf(needs('curl', 'git', 'python3')).each(cases)(
    'explained: %s',
    async (command, code, ...says) => {
      const { data } = await shut.execute(command, { execution_mode: 'foreground' });
      expect(data.success).toBe(false);
      expect(data.error_code).toBe(code);
      for (const said of says) expect(data.message).toContain(said);
    },
  );

  const plain = [
    'cat missing.txt',
    'grep x /etc/hostname-nothing',
    'ls /tmp/nothing',
    'false',
    'git push',
    './nothing',
    'gcc broken.c',
    'python3 failing.py',
  ];
  test.skipIf(needs('git', 'gcc', 'python3')).each(plain)(
    'an ordinary failure is not the sandbox’s: %s',
    async (command) => {
      const { data } = await shut.execute(command, { execution_mode: 'foreground' });
      expect(data.success).toBe(false);
      expect(data.message ?? '').not.toMatch(SANDBOX_WORDS);
      expect(data.error_code).toBeUndefined();
    },
  );

  test('builds that need no network work', async () => {
    const { stdout } = await works(
      shut,
      'echo "int main(void) { return 0; }" > ok.c && gcc -o ok ok.c && ./ok && node -p 6*7 && git status --short ok.c',
    );
    expect(stdout).toBe('42\n?? ok.c\n');
  });
});

describe.skipIf(cannot || needs('socat', 'curl'))('with some domains', () => {
  const server = createServer((_, answer) => answer.end('served'));
  let some: Product;
  let address: string;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    some = await developer.open(`allowed_domains = ["${address}"]`);
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  test('an allowed one is reached', async () => {
    expect((await works(some, `curl -sS --noproxy '' http://${address}/`)).stdout).toBe('served');
  });

  test.each([
    'curl -sS https://nowhere.invalid/',
    'curl -sSf http://nowhere.invalid/',
    `curl -sS --noproxy '*' http://192.0.2.1/`,
  ])('another is refused, with its code and the setting: %s', async (command) => {
    const { data } = await some.execute(command);
    expect(data).toMatchObject({
      success: false,
      error_code: 'EXECUTION_005',
      message: expect.stringContaining('security.allowed_domains'),
    });
  });

  test('a refusal is told only to the one that was refused', async () => {
    const other = some.execute('while [ ! -e refused ]; do sleep 0.05; done; echo done');
    const failing = some.execute('while [ ! -e refused ]; do sleep 0.05; done; false');
    const { data } = await some.execute(
      'curl -sS https://nowhere.invalid/; code=$?; touch refused; exit $code',
    );
    expect(data.message).toContain('nowhere.invalid');
    expect((await other).data).toMatchObject({ stdout: 'done\n', success: true });
    expect((await other).data.message).toBeUndefined();
    expect((await failing).data.message ?? '').not.toMatch(SANDBOX_WORDS);
  });
});

describe.skipIf(cannot)('what the operator opens', () => {
  test('expose, by name and by path', async () => {
    const open = await developer.open(`expose = ["gh", "~/.bash_history"]`, {
      env: { PATH: `${join(developer.home, 'tools')}:/usr/bin:/bin` },
    });
    expect((await works(open, 'gh pr list; cat ~/.config/gh/hosts.yml ~/.bash_history')).stdout).toBe(
      'Logged in to github.com\ngithub.com: PRIVATE\nPRIVATE\n',
    );
    const { data } = await open.execute('cat ~/.ssh/id_ed25519');
    expect(data.success).toBe(false);
    const written = await open.execute('echo x >> ~/.config/gh/hosts.yml');
    expect(written.data.message).toContain('.config/gh/hosts.yml');
  });

  test.skipIf(needs('ssh'))('the agent’s socket', async () => {
    const socket = join(developer.directory, 'agent.sock');
    const agent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' });
    const gone = new Promise((resolve) => agent.once('exit', resolve));
    try {
      await expect.poll(() => existsSync(socket)).toBe(true);
      const env = { SSH_AUTH_SOCK: socket };
      const open = await developer.open('expose = ["ssh-agent"]', { env });
      const listed = await open.execute('ssh-add -l; cat ~/.ssh/config; cat ~/.ssh/id_ed25519');
      expect(listed.data.stdout).toBe('The agent has no identities.\nHost none\n');
      const closed = await developer.open('', { env });
      const refused = await closed.execute('ssh-add -l');
      expect(refused.data).toMatchObject({ success: false, message: expect.stringContaining('"ssh-agent"') });
    } finally {
      agent.kill();
      await gone;
    }
  });

  test.skipIf(needs('curl'))('a socket outside the workspace, which is otherwise not there', async () => {
    const socket = join(developer.directory, 'service.sock');
    const server = createServer((_, answer) => answer.end('served'));
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    try {
      const command = `curl -sS --unix-socket ${socket} http://localhost/`;
      expect((await product.execute(command)).data.success).toBe(false);
      for (const setting of ['expose', 'readable_paths']) {
        const open = await developer.open(`${setting} = ["${socket}"]`);
        expect((await works(open, command)).stdout).toBe('served');
      }
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  test('readable_paths and writable_paths, .git/config among them', async () => {
    const config = join(developer.work, '.git/config');
    const open = await developer.open(
      `readable_paths = ["${join(developer.home, '.aws')}"]\nwritable_paths = ["${join(developer.home, 'shown')}", "${config}"]`,
    );
    expect(
      (await works(open, 'cat ~/.aws/credentials && echo more >> ~/shown/file && touch ~/shown/other'))
        .stdout,
    ).toBe('PRIVATE');
    expect(readFileSync(join(developer.home, 'shown/file'), 'utf8')).toBe('shown\nmore\n');
    await works(open, 'git config user.name Changed && git remote add origin /nowhere');
    expect(readFileSync(config, 'utf8')).toContain('Changed');
    expect((await open.execute('echo x > .git/hooks/pre-commit')).data.success).toBe(false);
    expect((await open.execute('echo x >> ~/.aws/credentials')).data.success).toBe(false);
  });
});

test.skipIf(cannot || lacks(!isRoot, 'only root becomes another user') || needs('setpriv'))(
  'an ordinary user gets the same explanations',
  async () => {
    const ordinary = createDeveloper({ uid: NOBODY });
    try {
      ordinary.put('.ssh/id_ed25519', 'PRIVATE');
      writeFileSync(join(ordinary.work, 'roots'), '', { mode: 0o600 });
      const server = await ordinary.start();
      const said = async (command: string): Promise<string> =>
        ((await server.execute(command)).data.message as string | undefined) ?? '';
      expect(await said('touch /etc/x')).toContain('security.writable_paths');
      expect(await said('cat ~/.ssh/id_ed25519')).toContain('"ssh"');
      expect(await said('su -')).toContain('sudo and su');
      expect(await said('touch ~/x')).toContain('security.writable_paths');
      const denied = await said('cat roots');
      expect(denied).toContain('mode 0600');
      expect(denied).not.toMatch(SANDBOX_WORDS);
      // It could not read this without a sandbox either.
      expect(await said('cat /etc/shadow')).not.toMatch(SANDBOX_WORDS);
    } finally {
      await ordinary.remove();
    }
  },
);

function literally(text: string): RegExp {
  return new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
}
