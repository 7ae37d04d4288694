/** What developers do all day, inside the sandbox of the default preset. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createDeveloper,
  type Developer,
  isRoot,
  NOBODY,
  placeNode,
  untilPrinted,
  works,
} from '../e2e/support/developer.ts';
import { type Product, startProduct } from '../e2e/support/product.ts';
import { lacks, needs } from '../setup/needs.ts';

const NPMRC = [
  'registry=http://127.0.0.1:9/company/',
  '//127.0.0.1:9/company/:_authToken=npm_thisTokenIsNobodysBusiness',
  'audit=false',
  'fund=false',
  'update-notifier=false',
  '',
].join('\n');

const PACKAGE = JSON.stringify({
  name: 'app',
  version: '1.0.0',
  type: 'module',
  scripts: { test: 'node --test', postinstall: 'echo yes > built' },
  dependencies: { dependency: 'file:../dependency/dependency-1.2.3.tgz' },
});

const cannot = lacks(process.platform !== 'linux', 'bubblewrap is for Linux') || needs('bwrap');
const users = [
  { who: 'the user of the tests', uid: undefined },
  { who: 'an ordinary user', uid: NOBODY },
].filter(
  ({ uid }) => uid === undefined || (!lacks(!isRoot, 'only root becomes another user') && !needs('setpriv')),
);

describe.skipIf(cannot).each(users)('as $who', ({ uid }) => {
  let developer: Developer;
  let product: Product;
  beforeAll(async () => {
    developer = createDeveloper({ uid });
    developer.put('.npmrc', NPMRC, 0o600);
    product = await developer.start();
    await works(
      product,
      'git init -q -b main . && git config user.name Somebody && git config user.email somebody@example.com',
    );
  });
  afterAll(() => developer.remove());

  test('the sandbox is there', async () => {
    expect(product.client.instructions).toContain('Commands run in a sandbox');
    const { data } = await product.execute('touch /usr/x');
    expect(data.message).toContain('/usr/x');
  });

  test('npm: install of a package with a command, tests, npx; the registry is known and its token is not', async () => {
    mkdirSync(join(product.work, 'app'));
    mkdirSync(join(product.work, 'dependency'));
    writeFileSync(
      join(product.work, 'dependency/package.json'),
      JSON.stringify({ name: 'dependency', version: '1.2.3', bin: { greet: 'greet.js' }, main: 'main.js' }),
    );
    writeFileSync(join(product.work, 'dependency/main.js'), 'module.exports = 42;');
    writeFileSync(
      join(product.work, 'dependency/greet.js'),
      '#!/usr/bin/env node\nconsole.log("hello from", require("./package.json").version);\n',
    );
    writeFileSync(join(product.work, 'app/package.json'), PACKAGE);
    writeFileSync(
      join(product.work, 'app/answer.test.js'),
      'import answer from "dependency"; import test from "node:test"; import assert from "node:assert"; test("it", () => assert.equal(answer, 42));',
    );
    if (uid !== undefined) execFileSync('chown', ['-R', `${uid}:${uid}`, product.work]);
    await works(product, 'npm pack --silent', { working_directory: 'dependency' });
    await works(product, 'npm install', { working_directory: 'app' });
    expect(existsSync(join(product.work, 'app/node_modules/dependency/main.js'))).toBe(true);
    expect(readFileSync(join(product.work, 'app/built'), 'utf8')).toBe('yes\n');
    const tested = await works(product, 'npm test', { working_directory: 'app' });
    expect(tested.stdout).toMatch(/pass 1\n/);
    const greeted = await works(product, 'npx greet', { working_directory: 'app' });
    expect(greeted.stdout).toBe('hello from 1.2.3\n');
    const settings = await works(product, 'npm config get registry; cat ~/.npmrc');
    expect(settings.stdout).toContain('http://127.0.0.1:9/company/\n');
    expect(settings.stdout).not.toContain('Nobodys');
    expect(existsSync(join(developer.home, '.npm/_cacache'))).toBe(true);
  });

  test.skipIf(needs('python3', 'pip3'))(
    'python: a virtual environment with a wheel, unittest, sqlite',
    async () => {
      await works(
        product,
        `mkdir py && cd py && python3 - <<'END'
import zipfile
with zipfile.ZipFile('demo-1.0-py3-none-any.whl', 'w') as wheel:
    wheel.writestr('demo.py', 'def main(): print("demo runs")\\n')
    wheel.writestr('demo-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: demo\\nVersion: 1.0\\n')
    wheel.writestr('demo-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr('demo-1.0.dist-info/entry_points.txt', '[console_scripts]\\ndemo=demo:main\\n')
    wheel.writestr('demo-1.0.dist-info/RECORD', '')
END
python3 -m venv --without-pip venv`,
      );
      const installed = await works(
        product,
        'pip3 -q --python venv/bin/python install --no-index --find-links . demo && venv/bin/demo',
        { working_directory: 'py' },
      );
      expect(installed.stdout).toBe('demo runs\n');
      await works(
        product,
        `cat > test_it.py <<'END'
import sqlite3, unittest
class It(unittest.TestCase):
    def test_it(self):
        with sqlite3.connect('data.db') as db:
            db.execute('pragma journal_mode = wal')
            db.execute('create table t (a)')
            db.execute('insert into t values (1), (2)')
            self.assertEqual(db.execute('select sum(a) from t').fetchone(), (3,))
END
python3 -m unittest`,
        { working_directory: 'py' },
      );
    },
  );

  test.skipIf(needs('make', 'gcc'))('make with many processes', async () => {
    const files = Array.from({ length: 40 }, (_, index) => `f${index}`);
    const made = await works(
      product,
      `mkdir c && cd c
for f in ${files.join(' ')}; do echo "int $f(void) { return 1; }" > $f.c; done
{ echo '#include <stdio.h>'; for f in ${files.join(' ')}; do echo "int $f(void);"; done
  echo 'int main(void) { printf("%d\\n", ${files.map((name) => `${name}()`).join('+')}); }'; } > main.c
printf 'prog: %s main.o\\n\\t$(CC) -o $@ $^\\n' '${files.map((name) => `${name}.o`).join(' ')}' > Makefile
make -s -j8 && ./prog`,
    );
    expect(made.stdout).toBe('40\n');
  });

  test('git: commits, branches, merges, stashes, worktrees; hooks run and cannot be changed', async () => {
    mkdirSync(join(product.work, '.git/hooks'), { recursive: true });
    writeFileSync(join(product.work, '.git/hooks/pre-commit'), '#!/bin/sh\necho the hook ran\n', {
      mode: 0o755,
    });
    const first = await works(product, 'echo one > one && git add one && git commit -m one 2>&1');
    expect(first.stdout).toContain('the hook ran');
    await works(
      product,
      `git switch -q -c feature && echo two > two && git add two && git commit -qm two 2>/dev/null
git switch -q main && echo three > three && git add three && git commit -qm three 2>/dev/null && git merge -q --no-edit feature 2>/dev/null
echo changed >> one && git stash -q && git stash pop -q && git checkout -q -- one
git worktree add -q "../$(basename "$PWD")/tree" feature && cd tree && echo four > four && git add four && git commit -qm four 2>/dev/null && cd ..
git tag v1 && git rebase -q HEAD~1 && git gc -q && git branch -D -q nothing || true`,
    );
    const log = await works(
      product,
      'git log --format=%s feature && git log --format=%s main | sort && git status --short one',
    );
    expect(log.stdout).toMatch(/^four\ntwo\none\n/);
    const written = await product.execute('echo evil >> .git/hooks/pre-commit');
    expect(written.data).toMatchObject({
      status: 'failed',
      message: expect.stringContaining(join(product.work, '.git/hooks')),
    });
    const replaced = await product.execute(
      'rm -f .git/hooks/pre-commit; mv .git/hooks .git/hooks2; git config core.hooksPath /tmp',
    );
    expect(replaced.data.status).toBe('failed');
    expect(readFileSync(join(product.work, '.git/hooks/pre-commit'), 'utf8')).toBe(
      '#!/bin/sh\necho the hook ran\n',
    );
    expect(readFileSync(join(product.work, '.git/config'), 'utf8')).not.toContain('hooksPath');
  });

  test.skipIf(needs('curl'))(
    'a dev server in the background answers another command, and the person outside',
    async () => {
      writeFileSync(
        join(product.work, 'server.cjs'),
        `const server = require('http').createServer((_, answer) => answer.end('served')); server.listen(0, '127.0.0.1', () => console.log('port', server.address().port));`,
      );
      const { data } = await product.execute('node server.cjs', { execution_mode: 'background' });
      await untilPrinted(product, data.output_id, 'port');
      const { data: output } = await product.call('read_execution_output', { output_id: data.output_id });
      const url = `http://127.0.0.1:${/\d+/.exec(output.content)?.[0]}/`;
      expect((await works(product, `curl -sS ${url}`)).stdout).toBe('served');
      expect(await (await fetch(url)).text()).toBe('served');
      const ended = await product.call('process_terminate', { execution_id: data.execution_id });
      expect(ended.data.success).toBe(true);
      await expect(fetch(url)).rejects.toThrow('fetch failed');
    },
  );

  test('a file watcher sees what another command, and the person outside, changes', async () => {
    await works(product, 'mkdir watched');
    const { data } = await product.execute(
      `node -e "require('fs').watch('watched', (_, name) => console.log(name)); console.log('ready')"`,
      { execution_mode: 'background' },
    );
    await untilPrinted(product, data.output_id, 'ready');
    await works(product, 'echo x > watched/from-inside');
    writeFileSync(join(product.work, 'watched/from-outside'), 'x');
    await untilPrinted(product, data.output_id, 'from-inside');
    await untilPrinted(product, data.output_id, 'from-outside');
    const ended = await product.call('process_terminate', { execution_id: data.execution_id });
    expect(ended.data.success).toBe(true);
  });

  test.skipIf(needs('python3'))(
    'terminals, semaphores, shared memory, sockets, tracing and locks of programs',
    async () => {
      const { stdout } = await works(
        product,
        `script -qc 'test -t 1 && echo a terminal' /dev/null | tr -d '\\r'
python3 - <<'END'
import multiprocessing, socket
from multiprocessing import shared_memory
with multiprocessing.Pool(2) as pool: print(sum(pool.map(abs, range(10))))
memory = shared_memory.SharedMemory(create=True, size=100); memory.close(); memory.unlink()
server = socket.socket(socket.AF_UNIX); server.bind('s.sock'); server.listen()
socket.socket(socket.AF_UNIX).connect('s.sock'); print('connected')
END
flock lock echo locked; diff <(echo a) <(echo a) && echo same
echo err > /dev/stderr; touch /tmp/moved && mv /tmp/moved . && ln moved linked && echo linked`,
      );
      expect(stdout).toBe('a terminal\n45\nconnected\nlocked\nsame\nlinked\n');
    },
  );

  test('/tmp is there, kept between calls, and not the host’s', async () => {
    await works(product, 'echo kept > /tmp/kept && mktemp -d && echo kept > /var/tmp/kept');
    expect((await works(product, 'cat /tmp/kept /var/tmp/kept')).stdout).toBe('kept\nkept\n');
    expect(existsSync('/tmp/kept')).toBe(false);
  });
});

describe.skipIf(cannot || needs('cargo'))('rust', () => {
  const real = userInfo().homedir;
  const toolchain = ['.cargo', '.rustup'].map((name) => join(real, name)).filter((path) => existsSync(path));

  test('cargo builds and tests a crate', async () => {
    const developer = createDeveloper();
    try {
      const product = await developer.start(`readable_paths = ${JSON.stringify(toolchain)}`, {
        env: toolchain.length === 0 ? {} : { RUSTUP_HOME: join(real, '.rustup') },
      });
      const { stderr } = await works(
        product,
        'cargo init -q --vcs none --lib --name demo . && cargo build && cargo test -q',
      );
      expect(stderr).toContain('Compiling demo');
    } finally {
      await developer.remove();
    }
  });
});

describe.skipIf(cannot)('the home directory', () => {
  let developer: Developer;
  let product: Product;
  beforeAll(async () => {
    developer = createDeveloper();
    const tool = (path: string, says: string): string =>
      developer.put(path, `#!/bin/sh\necho ${says}\n`, 0o755);
    const version = join(developer.home, '.nvm/versions/node/v20.0.0');
    mkdirSync(join(version, 'bin'), { recursive: true });
    placeNode(join(version, 'bin/node'));
    tool('.nvm/versions/node/v20.0.0/bin/nvm-tool', 'nvm');
    tool('.pyenv/versions/3.99/bin/python3.99', 'python of pyenv');
    developer.put(
      '.pyenv/shims/python3.99',
      '#!/usr/bin/env bash\nexec "$HOME/.pyenv/versions/3.99/bin/python3.99" "$@"\n',
      0o755,
    );
    tool('.cargo/bin/cargo-tool', 'cargo');
    tool('.volta/bin/volta-tool', 'volta');
    tool('.local/bin/local-tool', 'local');
    developer.put(
      '.bashrc',
      `case $- in *i*) ;; *) return;; esac
export NVM_DIR="$HOME/.nvm"
export PATH="$NVM_DIR/versions/node/v20.0.0/bin:$HOME/.pyenv/shims:$HOME/.cargo/bin:$HOME/.volta/bin:$HOME/.local/bin:$PATH"
`,
    );
    developer.put('.profile', '. "$HOME/.bashrc"\n');
    developer.put('.ssh/id_ed25519', 'PRIVATE');
    developer.put('.aws/credentials', 'PRIVATE');
    developer.put('.netrc', 'machine example.com password PRIVATE');
    developer.put('.gitconfig', '[user]\n\tname = Somebody\n\temail = somebody@example.com\n');
    product = await developer.start('', { env: { PATH: '/usr/bin:/bin' } });
  });
  afterAll(() => developer.remove());

  test('tools of version managers are found by the login shell’s PATH, and work', async () => {
    // On a machine that is busy the first command does not wait for the login shell to the end.
    await expect
      .poll(async () => (await product.execute('command -v nvm-tool')).data.exit_code, { timeout: 10_000 })
      .toBe(0);
    const { stdout } = await works(
      product,
      'command -v node; node -p 6*7; nvm-tool; python3.99; cargo-tool; volta-tool; local-tool',
    );
    expect(stdout).toBe(
      `${join(developer.home, '.nvm/versions/node/v20.0.0/bin/node')}\n42\nnvm\npython of pyenv\ncargo\nvolta\nlocal\n`,
    );
  });

  test('caches can be written to, also those that were never used', async () => {
    await works(product, 'touch ~/.npm/x ~/.cache/x && mkdir -p ~/.cache/pip/http ~/.npm/_cacache');
    // The tool is there, as its directory says.
    await works(product, 'mkdir -p ~/.cargo/registry/index ~/.cargo/git/db');
    expect(existsSync(join(developer.home, '.cargo/registry/index'))).toBe(true);
  });

  test.for(['notes.txt', '.bashrc', '.cargo/bin/evil', '.nvm/evil', '.local/bin/evil', '.config/evil'])(
    'otherwise nothing in it can be written, and the answer says why: %s',
    async (name) => {
      const { data } = await product.execute(`mkdir -p "$(dirname ~/${name})"; echo evil >> ~/${name}`);
      expect(data).toMatchObject({
        status: 'failed',
        message: expect.stringContaining('security.writable_paths'),
      });
      expect(data.message).toContain(product.work);
    },
  );

  test.skipIf(needs('git'))(
    'as the workspace: all but start-up files is writable, credentials are not there',
    async () => {
      const atHome = await developer.start('', { cwd: '/' });
      const { data: where } = await atHome.execute('pwd; ls -A');
      expect(where.stdout.split('\n')[0]).toBe(developer.home);
      await works(
        atHome,
        `echo mine > notes.txt && mkdir -p Documents/deep projects/one
git init -q projects/one && git -C projects/one commit -q --allow-empty -m one && git clone -q projects/one projects/two && git -C projects/two log --format=%s`,
      );
      const secret = await atHome.execute(
        'cat .ssh/id_ed25519 .aws/credentials .netrc; grep -rs PRIVATE . | head',
      );
      expect(secret.data.stdout).toBe('');
      for (const name of [
        '.bashrc',
        '.profile',
        '.cargo/bin/cargo-tool',
        '.nvm/evil',
        '.gitconfig',
        '.local/bin/evil',
      ]) {
        const { data } = await atHome.execute(`echo evil >> ${name}`);
        expect(data, name).toMatchObject({ status: 'failed', message: expect.stringContaining(name) });
      }
      expect((await atHome.execute('mv .bashrc old || mv .ssh old-ssh || rm -rf .nvm')).data.status).toBe(
        'failed',
      );
      expect(readFileSync(join(developer.home, '.profile'), 'utf8')).not.toContain('evil');
      expect(readFileSync(join(developer.home, 'notes.txt'), 'utf8')).toBe('mine\n');
    },
  );
});

describe.skipIf(cannot || needs('git'))('git works where the repository’s own directory lies outside', () => {
  let developer: Developer;
  beforeAll(() => {
    developer = createDeveloper();
    developer.put('.gitconfig', '[user]\n\tname = Somebody\n\temail = somebody@example.com\n');
    developer.put('work/packages/one/file', 'x\n');
    const git = (...args: string[]): unknown =>
      execFileSync('git', args, { cwd: developer.work, env: { ...process.env, HOME: developer.home } });
    git('init', '-q', '-b', 'main');
    git('add', '.');
    git('-c', 'user.name=a', '-c', 'user.email=b@c', 'commit', '-qm', 'first');
    git('worktree', 'add', '-q', '../tree');
  });
  afterAll(() => developer.remove());

  test.each(['tree', 'work/packages/one', 'work/packages'])('%s', async (name) => {
    const product = await developer.start('', { cwd: join(developer.home, name) });
    const { stdout } = await works(
      product,
      'echo more > more && git add . && git commit -qm more && git log --format=%s && git status --short',
    );
    expect(stdout).toMatch(/^more\n(?:more\n)?first\n$/);
    const hooks = join(developer.work, '.git/hooks');
    for (const attempt of [`echo evil > ${hooks}/pre-commit`, 'git config core.hooksPath /tmp']) {
      expect((await product.execute(attempt)).data.success, attempt).toBe(false);
    }
  });

  test('a workspace with a space and other letters in its name, and one behind a link', async () => {
    const odd = join(developer.home, 'my wörk, (new)');
    mkdirSync(odd);
    symlinkSync(odd, join(developer.home, 'link'));
    const product = await developer.start('', { cwd: join(developer.home, 'link') });
    const { stdout } = await works(
      product,
      'git init -q . && echo x > file && git add . && git commit -qm odd && git log --format=%s',
    );
    expect(stdout).toBe('odd\n');
    await works(product, 'echo y >> file && git commit -qam more');
    const { data } = await product.execute('git config a.b c');
    expect(data.message).toContain('.git/config');
    expect(readFileSync(join(odd, 'file'), 'utf8')).toBe('x\ny\n');
  });
});

describe.skipIf(cannot || needs('git'))('files that clients and editors read', () => {
  let developer: Developer;
  let product: Product;
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=b@c', ...args], {
      cwd: developer.work,
      encoding: 'utf8',
      stdio: 'pipe',
    });
  beforeAll(async () => {
    developer = createDeveloper();
    developer.put('work/file', 'x\n');
    git('init', '-q', '-b', 'main');
    git('add', '.');
    git('commit', '-qm', 'first');
    product = await developer.start();
  });
  afterAll(() => developer.remove());

  test('what the person makes while a command runs stays where it is', async () => {
    const { data } = await product.execute('echo up; while [ ! -e stop ]; do sleep 0.05; done', {
      execution_mode: 'background',
    });
    await untilPrinted(product, data.output_id, 'up');
    const theirs = ['.mcp.json', '.claude/settings.local.json', '.vscode/tasks.json'];
    for (const name of theirs) developer.put(`work/${name}`, '{}');
    writeFileSync(join(developer.work, 'stop'), '');
    const { execution_id } = data;
    await product.call('process_get_execution', { execution_id, wait_seconds: 20 });
    expect(theirs.filter((name) => !existsSync(join(developer.work, name)))).toEqual([]);
    git('clean', '-fdq');
  });

  test.each(['.github/workflows/ci.yml', '.gitmodules', '.editorconfig', 'CLAUDE.md'])(
    'switching branches leaves a clean tree: %s',
    async (name) => {
      git('switch', '-q', '-f', '--detach', 'main');
      git('clean', '-fdq');
      for (const text of ['one', 'two']) {
        developer.put(`work/${name}`, `# ${text}\n`);
        git('add', '.');
        git('commit', '-qm', text);
        git('branch', '-f', text);
      }
      git('switch', '-q', '--detach', 'one');
      await works(
        product,
        'git switch -q --detach two && git switch -q --detach main && git switch -q --detach one && git merge -q two',
      );
      expect(git('status', '--short')).toBe('');
    },
  );

  test('what git cannot change, since it is protected, is named', async () => {
    git('switch', '-q', '-f', '--detach', 'main');
    git('clean', '-fdq');
    const name = '.vscode/settings.json';
    for (const text of ['one', 'two']) {
      developer.put(`work/${name}`, `// ${text}\n`);
      git('add', '.');
      git('commit', '-qm', text);
      git('branch', '-f', text);
    }
    git('switch', '-q', '--detach', 'one');
    const { data } = await product.execute('git switch -q --detach two; git status --short');
    expect(data.stdout).toBe(` M ${name}\n`);
    expect(data.message).toContain(join(developer.work, name));
  });
});

test.skipIf(cannot)('a home directory in /tmp is in the sandbox too', async () => {
  const product = await startProduct();
  try {
    expect(product.client.instructions).toContain('Commands run in a sandbox');
    await works(product, 'echo x > inside && ls -d ~');
    const { data } = await product.execute('touch ~/x');
    expect(data.message).toContain('security.writable_paths');
    expect(existsSync(join(product.directory, 'x'))).toBe(false);
  } finally {
    await product.close();
  }
});

test.skipIf(cannot || lacks(!isRoot, 'only root becomes another user') || needs('setpriv'))(
  'a user without a name works as others do, as in a container',
  async () => {
    const developer = createDeveloper({ uid: 54_321 });
    try {
      const product = await developer.start();
      expect((await works(product, 'id -u; cd ~; pwd; touch work/x')).stdout).toBe(
        `54321\n${developer.home}\n`,
      );
    } finally {
      await developer.remove();
    }
  },
);
