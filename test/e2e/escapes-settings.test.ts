/** What a caller can say, what the operator can set, and what a command can prepare for the next one. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { needs } from '../setup/needs.ts';
import { python, type User } from './escapes/attempt.ts';
import { cannotRun } from './escapes/describe.ts';
import { createHouse, type House, type Server, type StartOptions, startIn } from './escapes/stage.ts';

const USERS: readonly User[] = ['root', 'ordinary user'];

/** A house of this test's own, prepared, and a server in it. */
async function open(
  user: User,
  prepare: (house: House) => void = () => undefined,
  options: StartOptions | ((house: House) => StartOptions) = {},
): Promise<{ house: House; server: Server; restart(more?: StartOptions): Promise<Server> }> {
  const house = createHouse(user);
  onTestFinished(house.remove);
  prepare(house);
  house.handOver();
  const started = typeof options === 'function' ? options(house) : options;
  const start = async (more: StartOptions = {}): Promise<Server> => {
    const server = await startIn(house, { ...started, ...more });
    onTestFinished(server.close);
    return server;
  };
  const server = await start();
  return {
    house,
    server,
    async restart(more) {
      await server.close();
      return start(more);
    },
  };
}

const initialise = (directory: string): void => {
  mkdirSync(directory, { recursive: true });
  execFileSync('git', ['init', '-q', directory], {
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], HOME: directory },
  });
};

const holds = (path: string, text = 'EVIL'): boolean =>
  existsSync(path) && readFileSync(path, 'utf8').includes(text);

describe.skipIf(cannotRun).for(USERS)('as %s', (user) => {
  describe('the environment of a caller', () => {
    test.for([
      { LD_PRELOAD: '/x.so' },
      { LD_AUDIT: '/x.so' },
      { LD_LIBRARY_PATH: '/x' },
      { LD_DEBUG: 'all', LD_DEBUG_OUTPUT: '/x' },
      { LD_PROFILE: 'libc.so.6', LD_PROFILE_OUTPUT: '/x' },
      { BASH_ENV: '/x' },
      { GCONV_PATH: '/x' },
      { GLIBC_TUNABLES: 'x' },
    ])('%o does not reach the loader of anything outside', async (variables) => {
      const { house, server } = await open(user, (made) => made.write('outside/keep', ''));
      const outside = join(house.home, 'outside');
      // Neither is a library: what tries to load one of them fails.
      await server.execute(
        'for name in libselinux.so.1 libcap.so.2 libpcre2-8.so.0 libsmartcols.so.1 libc.so.6 x.so; do echo EVIL > $name; done',
      );
      const environment_variables = Object.fromEntries(
        Object.entries(variables).map(([name, value]) => [
          name,
          value.startsWith('/x')
            ? name.endsWith('OUTPUT')
              ? join(outside, 'trace')
              : join(house.work, value === '/x' && name !== 'BASH_ENV' ? '' : 'x.so')
            : value,
        ]),
      );
      const { data, text } = await server.execute('echo fine', { environment_variables });
      // A library path is the command's own business, inside.
      const isRefused = data.error?.code === 'SECURITY_003';
      expect(isRefused || !text.includes('bwrap'), text).toBe(true);
      expect(readdirSync(outside)).toEqual(['keep']);
    });

    test('of a session does not either', async () => {
      const { house, server } = await open(user, (made) => made.write('outside/keep', ''));
      const outside = join(house.home, 'outside');
      await server.execute(
        `for name in libselinux.so.1 libcap.so.2 libpcre2-8.so.0 libc.so.6; do echo EVIL > $name; done; export LD_LIBRARY_PATH=$PWD LD_DEBUG=all LD_DEBUG_OUTPUT=${outside}/trace LD_PRELOAD=$PWD/libc.so.6 BASH_ENV=$PWD/x`,
        { session_id: 'one' },
      );
      const { text } = await server.execute('echo fine', { session_id: 'one' });
      expect(text).not.toContain('bwrap');
      expect(readdirSync(outside)).toEqual(['keep']);
    });

    test('a session’s state that a command forged is judged like a caller’s', async () => {
      const { server } = await open(user);
      await server.execute(
        String.raw`for fd in 3 4 5 6 7; do printf '/root\0LD_PRELOAD=/x\0BASH_ENV=/y\0' >&$fd; done 2>/dev/null; exec true`,
        { session_id: 'two' },
      );
      expect((await server.execute('echo "[$LD_PRELOAD$BASH_ENV]"', { session_id: 'two' })).data.stdout).toBe(
        '[]\n',
      );
    });
  });

  test.for(['.ssh', '.aws', '../bob', '.local/state/mcp-shell-server'])(
    'working in ~/%s shows nothing',
    async (path) => {
      const { house, server } = await open(user, (made) => {
        made.write('.ssh/id_rsa', made.secret, 0o600);
        made.write('.aws/credentials', made.secret, 0o600);
      });
      const { text } = await server.execute('ls -A; cat *', {
        working_directory: join(house.home, path),
        merge_stderr: true,
      });
      expect(text).not.toContain(house.secret);
      expect(text).not.toMatch(/^(?:id_rsa|credentials|notes|executions|audit)$/m);
    },
  );

  test('an answer does not tell about hidden files', async () => {
    const { house, server } = await open(user, (made) => made.write('.ssh/id_rsa', made.secret, 0o640));
    const { text } = await server.execute(
      `echo "bash: line 1: ${house.home}/.ssh/id_rsa: Permission denied" >&2; exit 126`,
    );
    expect(text).not.toContain('0640');
  });

  describe('what one command prepares for the next', () => {
    test('very many repositories do not take the wall away', async () => {
      const { house, server, restart } = await open(user, (made) => made.write('outside/keep', ''));
      await server.execute('for i in $(seq 1200); do mkdir -p r/$i/.git/hooks; : > r/$i/.git/config; done', {
        execution_mode: 'foreground',
      });
      const again = await restart();
      await again.execute(`echo EVIL > ${house.home}/outside/keep`);
      expect(holds(join(house.home, 'outside/keep'))).toBe(false);
    });

    test('very many directories do not hide a repository or show a FIFO', async () => {
      const { house, server, restart } = await open(user, (made) => {
        initialise(join(made.work, 'zz/inner'));
        made.write('ctl/keep', '');
        execFileSync('mkfifo', ['-m', '666', join(made.home, 'ctl/fifo')]);
      });
      await server.execute('seq 21000 | sed s/^/d/ | xargs mkdir', { execution_mode: 'foreground' });
      const again = await restart();
      await again.execute('true');
      const { data } = await again.execute(
        '[ -p ~/ctl/fifo ] && echo FIFO; mkdir -p zz/inner/.git/hooks; echo EVIL > zz/inner/.git/hooks/pre-commit',
      );
      expect({
        stdout: data.stdout,
        hook: holds(join(house.work, 'zz/inner/.git/hooks/pre-commit')),
      }).toEqual({ stdout: '', hook: false });
    });

    test('old directories that pose as repositories do not push one out', async () => {
      const { house, server, restart } = await open(user, (made) => {
        for (let index = 0; index < 40; index++)
          mkdirSync(join(made.work, `old/${index}`), { recursive: true });
        initialise(join(made.work, 'young'));
      });
      await server.execute(
        'for i in $(seq 0 39); do mkdir fake$i; mv old/$i fake$i/.git; mkdir fake$i/.git/hooks; : > fake$i/.git/config; done',
      );
      const again = await restart();
      await again.execute('echo EVIL >> young/.git/config; echo EVIL > young/.git/hooks/pre-commit');
      expect(holds(join(house.work, 'young/.git/config'))).toBe(false);
    });

    test('a link in the home directory that leads nowhere inside does not take the wall away', async () => {
      const { house, server } = await open(user, (made) => {
        made.write('dotfiles/config/gh/hosts.yml', made.secret);
        symlinkSync(join(made.home, 'dotfiles/config'), join(made.home, '.config'));
        made.write('outside/keep', '');
      });
      const { text } = await server.execute(
        `cat ~/.config/gh/hosts.yml ~/dotfiles/config/gh/hosts.yml; echo EVIL > ~/outside/keep; echo end`,
      );
      expect(text).not.toContain(house.secret);
      expect(text).toContain('end');
      expect(holds(join(house.home, 'outside/keep'))).toBe(false);
    });

    test('the server’s program in npx’s cache cannot be exchanged', async () => {
      const inCache = (made: House): string =>
        join(made.home, '.npm/_npx/abc/node_modules/mcp-shell-server/dist');
      const { house, server } = await open(
        user,
        (made) => {
          mkdirSync(join(inCache(made), '..'), { recursive: true });
          cpSync(made.installation, inCache(made), { recursive: true });
        },
        (made) => ({ installation: inCache(made) }),
      );
      await server.execute(
        'cd ~/.npm/_npx; mv abc old; mv ../_npx ../_old; mkdir -p ~/.npm/_npx/abc/node_modules/mcp-shell-server/dist; echo EVIL > ~/.npm/_npx/abc/node_modules/mcp-shell-server/dist/cli.js',
      );
      expect(holds(join(inCache(house), 'cli.js'), 'EVIL\n')).toBe(false);
    });

    test.for([
      '.deno/bin/deno',
      '.yarn/bin/tsc',
      '.pub-cache/bin/tool',
      '.mix/escripts/tool',
      '.npm/_npx/other/index.js',
      '.cache/p10k-instant-prompt-alice.zsh',
      '.cache/gitstatus/gitstatusd',
      '.cache/uv/archive-v0/x/bin/tool',
      '.cargo/bin/tool',
      '.nvm/nvm.sh',
      '.local/bin/tool',
    ])('~/%s, which is run outside, stays as it is', async (path) => {
      const { house, server } = await open(user, (made) => made.write(path, 'good\n', 0o755));
      await server.execute(
        `echo EVIL > ~/${path}; rm -f ~/${path}; echo EVIL > ~/${path}; d=$(dirname ~/${path}); mv $d $d.old; mkdir -p $d; echo EVIL > ~/${path}`,
      );
      expect(readFileSync(join(house.home, path), 'utf8')).toBe('good\n');
    });

    test('a socket in a cache, whose directory was moved', async () => {
      let reached = 0;
      const listener = net.createServer((socket) => {
        reached++;
        socket.on('error', () => undefined).destroy();
      });
      onTestFinished(() => void listener.close());
      const { house, server } = await open(user, (made) => made.write('.cache/agent/keep', ''));
      await new Promise<void>((resolve) => {
        listener.listen(join(house.home, '.cache/agent/sock'), resolve);
      });
      execFileSync('chmod', ['777', join(house.home, '.cache/agent/sock')]);
      await server.execute('mv ~/.cache/agent ~/.cache/moved');
      for (const name of ['agent', 'moved'])
        await server.execute(
          python(
            `s = socket.socket(socket.AF_UNIX)\ntry: s.connect("${house.home}/.cache/${name}/sock")\nexcept OSError: pass`,
          ),
        );
      expect(reached).toBe(0);
      // Where it was moved after all, its name is no longer ours to remove.
      if (existsSync(join(house.home, '.cache/moved')))
        renameSync(join(house.home, '.cache/moved'), join(house.home, '.cache/agent'));
    });
  });

  test('writable_paths leave protected what is protected, and hidden what is hidden', async () => {
    const { house, server } = await open(
      user,
      (made) => {
        initialise(join(made.home, 'other'));
        initialise(made.work);
        made.write('.ssh/id_rsa', made.secret, 0o600);
      },
      (made) => ({ env: { MCP_SHELL_SECURITY_WRITABLE_PATHS: made.home } }),
    );
    const { text } = await server.execute(
      'echo EVIL > ~/other/.git/hooks/x; echo EVIL > .git/hooks/x; echo EVIL > ~/.bashrc; cat ~/.ssh/id_rsa; echo fine > ~/allowed',
    );
    expect({
      leaks: text.includes(house.secret),
      changed: ['other/.git/hooks/x', 'work/.git/hooks/x'].filter((path) => holds(join(house.home, path))),
      allowed: holds(join(house.home, 'allowed'), 'fine'),
    }).toEqual({ leaks: false, changed: [], allowed: true });
  });

  test('a home directory with the settings of clients and tokens can be a workspace', async () => {
    const { house, server } = await open(
      user,
      (made) => {
        for (const path of [
          '.claude/settings.json',
          '.codex/config.toml',
          '.cursor/mcp.json',
          '.gemini/settings.json',
        ])
          made.write(path, `{"${made.secret}": 1}\n`);
        made.write('.npmrc', `//registry.example/:_authToken=${made.secret}\n`);
        made.write('.gitconfig', `[http]\n\textraheader = AUTHORIZATION: bearer ${made.secret}\n`);
        made.write('.config/git/credentials', `https://me:${made.secret}@example.com\n`);
      },
      { cwd: '/usr' },
    );
    for (const preset of ['development', 'sandbox'] as const) {
      const there = preset === 'development' ? server : await startIn(house, { preset, cwd: house.home });
      if (there !== server) onTestFinished(there.close);
      const { data } = await there.execute(
        `cd ${house.home}; cat .npmrc .gitconfig .config/git/credentials .c*/* .gemini/*; echo end`,
        { merge_stderr: true },
      );
      expect(data).toMatchObject({ stdout: expect.stringMatching(/end\n$/) });
      expect(data.stdout).not.toContain(house.secret);
    }
  });

  describe('links that change while executions start', () => {
    const STARTS = 100;
    /** Exchanges two names as fast as it can. */
    const exchange = (before: string, one: string, other: string): string =>
      python(
        `${before}\nprint("ready", flush=True)\nend = time.time() + 50\nwhile time.time() < end: libc.renameat2(-100, b"${one}", -100, b"${other}", 2)`,
      );

    async function race(options: {
      prepare: (house: House) => void;
      exchanger: (house: House) => string;
      command: (house: House) => string;
      start?: StartOptions;
    }): Promise<{ house: House; texts: string[] }> {
      const { house, server } = await open(user, options.prepare, options.start);
      const { data } = await server.execute(options.exchanger(house), { execution_mode: 'background' });
      for (let tries = 0; tries < 500; tries++) {
        const { text } = await server.call('process_get_execution', { execution_id: data.execution_id });
        if (text.includes('ready')) break;
      }
      const texts: string[] = [];
      const inOneRow = async (): Promise<void> => {
        for (let count = 0; count < STARTS / 2; count++)
          texts.push((await server.execute(options.command(house), { merge_stderr: true })).text);
      };
      await Promise.all([inOneRow(), inOneRow()]);
      await server.call('process_terminate', {
        execution_id: data.execution_id,
        signal: 'KILL',
        force: true,
      });
      return { house, texts };
    }

    test('a directory for a link to secrets', async () => {
      const { house, texts } = await race({
        prepare: (made) => {
          made.write('.ssh/id_rsa', made.secret, 0o600);
          made.write('.ssh/hooks/keep', made.secret, 0o600);
          made.write('.ssh/config', made.secret, 0o600);
          mkdirSync(join(made.work, 'between'), { recursive: true });
        },
        // Made by the one that exchanges it, in which it is therefore not held fast.
        exchanger: () =>
          exchange(
            'os.makedirs("between/repo/.git/hooks"); open("between/repo/.git/config", "w").close(); os.symlink("../../../.ssh", "between/repo/link")',
            'between/repo/.git',
            'between/repo/link',
          ),
        command: () =>
          'cat between/repo/.git/* between/repo/.git/hooks/* between/repo/link/* between/repo/link/hooks/* 2>/dev/null; echo EVIL > between/repo/.git/id_rsa; echo EVIL > between/repo/link/hooks/keep; true',
      });
      expect(texts.filter((text) => text.includes(house.secret))).toEqual([]);
      expect([holds(join(house.home, '.ssh/id_rsa')), holds(join(house.home, '.ssh/hooks/keep'))]).toEqual([
        false,
        false,
      ]);
      expect(texts.length).toBe(STARTS);
    });

    test('a directory on the way for a link out of the workspace', async () => {
      const { house, texts } = await race({
        prepare: (made) => {
          made.write('outside/repo/.git/config', 'mine\n');
          made.write('outside/repo/.git/hooks/keep', 'mine\n');
        },
        exchanger: () =>
          exchange(
            'os.makedirs("way/repo/.git/hooks"); open("way/repo/.git/config", "w").close(); os.symlink("../outside", "out")',
            'way',
            'out',
          ),
        command: () =>
          'echo EVIL >> way/repo/.git/config; echo EVIL > way/repo/.git/hooks/keep; echo EVIL > out/repo/.git/new; touch way/repo/made out/repo/made; true',
      });
      expect(texts.length).toBe(STARTS);
      expect([
        readdirSync(join(house.home, 'outside/repo')),
        readFileSync(join(house.home, 'outside/repo/.git/config'), 'utf8'),
        readFileSync(join(house.home, 'outside/repo/.git/hooks/keep'), 'utf8'),
      ]).toEqual([['.git'], 'mine\n', 'mine\n']);
    });

    test('a settings file for a link to a hidden one, where the home directory is the workspace', async () => {
      const { house, texts } = await race({
        prepare: (made) => made.write('.bash_history', `export API_TOKEN=x\n${made.secret}\n`, 0o600),
        start: { cwd: '/usr' },
        exchanger: (made) =>
          exchange(
            `os.chdir("${made.home}"); os.symlink(".bash_history", "sw"); open(".wgetrc", "w").write("plain=x")`,
            'sw',
            '.wgetrc',
          ),
        command: (made) => `cd ${made.home}; cat .wgetrc sw; true`,
      });
      expect(texts.filter((text) => text.includes(house.secret))).toEqual([]);
    });

    test('what is moved aside afterwards is never somebody else’s', async () => {
      const { house, texts } = await race({
        prepare: (made) => {
          made.write('outside/settings.json', 'mine\n');
          made.write('outside/settings.local.json', 'mine\n');
        },
        exchanger: () =>
          exchange('os.makedirs("own"); os.symlink("../outside", ".claude")', 'own', '.claude'),
        command: () =>
          'echo EVIL > own/settings.json; echo EVIL > .claude/settings.json; echo EVIL > own/settings.local.json; true',
      });
      expect(texts.length).toBe(STARTS);
      expect(readdirSync(join(house.home, 'outside')).toSorted()).toEqual([
        'settings.json',
        'settings.local.json',
      ]);
    });
  });

  test('masked secrets are in no view of an output', async () => {
    const secret = 'hunter2-correct-horse';
    const { house, server } = await open(user, undefined, {
      env: { MCP_SHELL_SECURITY_MASK_OUTPUT: 'true', DEPLOY_TOKEN: secret },
    });
    const whole = await server.execute(
      'echo "$DEPLOY_TOKEN"; echo "$DEPLOY_TOKEN" >&2; echo "${DEPLOY_TOKEN}x${DEPLOY_TOKEN}"',
    );
    const split = await server.execute(
      'for ((i = 0; i < ${#DEPLOY_TOKEN}; i++)); do printf %s "${DEPLOY_TOKEN:i:1}"; sleep 0.01; done; echo',
    );
    const merged = await server.execute(
      'printf %s "${DEPLOY_TOKEN:0:7}"; sleep 0.1; printf %s "${DEPLOY_TOKEN:7}" >&2',
      { merge_stderr: true },
    );
    const detached = await server.execute('echo "$DEPLOY_TOKEN"', { execution_mode: 'detached' });
    const texts = [whole, split, merged].map((called) => JSON.stringify(called));
    for (const { data } of [whole, split, merged, detached]) {
      const { execution_id } = data;
      texts.push(
        JSON.stringify(await server.call('process_get_execution', { execution_id, wait_seconds: 10 })),
      );
      const { data: list } = await server.call('list_execution_outputs', { execution_id });
      for (const { output_id } of list.outputs)
        texts.push(JSON.stringify(await server.call('read_execution_output', { output_id })));
    }
    expect(texts.filter((text) => text.includes(secret))).toEqual([]);
    const stored = execFileSync('grep', ['-rlF', secret, house.stateDir, '--include=*', '-s'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).toString();
    expect(stored).toBe('');
  });

  describe.skipIf(needs('socat'))('allowed_domains', () => {
    test.for<[string, (port: number) => string]>([
      ['an address', (port) => `curl -s -m 3 http://127.0.0.1:${port}/`],
      ['an address past the proxy', (port) => `curl -s -m 3 --noproxy '*' http://127.0.0.1:${port}/`],
      ['no_proxy', (port) => `no_proxy='*' NO_PROXY='*' http_proxy= curl -s -m 3 http://localhost:${port}/`],
      [
        'a tunnel to an address',
        (port) => `curl -s -m 3 -p -x http://127.0.0.1:3128 http://127.0.0.1:${port}/`,
      ],
      [
        'an address in other words',
        (port) =>
          `for a in 2130706433 0x7f.1 127.1 017700000001 [::1] [::ffff:127.0.0.1] 0.0.0.0 localhost.; do curl -s -m 2 -x http://127.0.0.1:3128 http://$a:${port}/; curl -s -m 2 -p -x http://127.0.0.1:3128 http://$a:${port}/; done`,
      ],
      [
        'an allowed name before an @',
        (port) =>
          `printf 'GET http://allowed.example@127.0.0.1:${port}/ HTTP/1.1\\r\\nHost: allowed.example\\r\\n\\r\\n' | socat -t 2 - TCP:127.0.0.1:3128`,
      ],
      [
        'an allowed Host with another address',
        (port) =>
          `printf 'GET http://127.0.0.1:${port}/ HTTP/1.1\\r\\nHost: allowed.example\\r\\nConnection: close\\r\\n\\r\\n' | socat -t 2 - TCP:127.0.0.1:3128; printf 'CONNECT 127.0.0.1:${port} HTTP/1.1\\r\\nHost: allowed.example:443\\r\\n\\r\\nGET / HTTP/1.0\\r\\n\\r\\n' | socat -t 2 - TCP:127.0.0.1:3128`,
      ],
      [
        'a second request on one connection',
        (port) =>
          `printf 'GET http://allowed.example/ HTTP/1.1\\r\\nHost: allowed.example\\r\\nContent-Length: 0\\r\\n\\r\\nGET http://127.0.0.1:${port}/ HTTP/1.1\\r\\nHost: 127.0.0.1:${port}\\r\\n\\r\\n' | socat -t 2 - TCP:127.0.0.1:3128`,
      ],
      [
        'a name that leads to this machine',
        (port) =>
          `curl -s -m 3 -x http://127.0.0.1:3128 http://localhost:${port}/; curl -s -m 3 -p -x http://127.0.0.1:3128 http://localhost:${port}/`,
      ],
      [
        'the socket of the proxy itself',
        (port) =>
          `printf 'CONNECT localhost:${port} HTTP/1.1\\r\\n\\r\\n' | socat -t 2 - UNIX-CONNECT:/run/mcp-shell-proxy`,
      ],
      [
        'sockets of its own',
        (port) =>
          python(
            `for a in ("127.0.0.1", "localhost"):\n    try: socket.create_connection((a, ${port}), 1); escaped()\n    except OSError: pass`,
          ),
      ],
    ])('%s reaches nothing of the host', async ([, command]) => {
      let reached = 0;
      const listener = net.createServer((socket) => {
        reached++;
        socket.on('error', () => undefined).end('HTTP/1.0 200 OK\r\n\r\nREACHED');
      });
      onTestFinished(() => void listener.close());
      await new Promise<void>((resolve) => {
        listener.listen(0, '127.0.0.1', resolve);
      });
      const { port } = listener.address() as net.AddressInfo;
      const { server } = await open(user, undefined, {
        env: { MCP_SHELL_SECURITY_ALLOWED_DOMAINS: `allowed.example,localhost:${port},*.example.org` },
      });
      const { data, text } = await server.execute(command(port), {
        execution_mode: 'foreground',
        timeout_seconds: 40,
        merge_stderr: true,
      });
      expect(data.error, text).toBeUndefined();
      expect({ reached, text: /REACHED|ESCAPED/.test(String(data.stdout)) }).toEqual({
        reached: 0,
        text: false,
      });
    });
  });
});

describe.skipIf(cannotRun)('without a wall', () => {
  /** In a bwrap without user namespaces no second one can be had, and this is a real place of that kind. */
  const inside = (house: House): string => {
    const script = join(house.base, 'server/walled.mjs');
    writeFileSync(
      script,
      `import { spawn } from 'node:child_process';
const [node, ...rest] = process.argv.slice(2);
spawn('bwrap', ['--unshare-user', '--disable-userns', '--cap-drop', 'ALL', '--dev-bind', '/', '/', node, ...rest], { stdio: 'inherit' }).on('exit', (code) => process.exit(code ?? 1));
`,
    );
    return script;
  };

  test.for(['required', 'auto'] as const)(
    'security.sandbox = %s: what runs, and what is said',
    async (sandbox) => {
      const house = createHouse('root');
      onTestFinished(house.remove);
      cpSync(house.installation, join(house.base, 'server/real'), { recursive: true });
      const script = inside(house);
      // The program that the starter runs wraps the real one.
      writeFileSync(
        join(house.installation, 'cli.js'),
        `import { execFileSync, spawn } from 'node:child_process';\nspawn(process.execPath, [${JSON.stringify(script)}, process.execPath, ${JSON.stringify(join(house.base, 'server/real/cli.js'))}], { stdio: 'inherit' }).on('exit', (code) => process.exit(code ?? 1));\n`,
      );
      const server = await startIn(house, { env: { MCP_SHELL_SECURITY_SANDBOX: sandbox } });
      onTestFinished(server.close);
      const { data, text } = await server.execute('echo ran');
      if (sandbox === 'auto') {
        expect(data.stdout).toBe('ran\n');
        return;
      }
      expect(data.error).toMatchObject({
        code: 'SECURITY_003',
        details: { fix: expect.stringMatching(/\S/) },
      });
      expect(text).toContain('Only the operator can change security.sandbox.');
      for (const execution_mode of ['foreground', 'background', 'detached'])
        expect((await server.execute('echo ran', { execution_mode })).data.error.code).toBe('SECURITY_003');
    },
  );
});
