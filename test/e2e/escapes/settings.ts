/** What a caller can say, what the operator can set, and what commands find in a home directory. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, symlinkSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { needs } from '../../setup/needs.ts';
import { python, type User } from './attempt.ts';
import { cannotRun } from './describe.ts';
import { holds, makeRepository, open, run } from './open.ts';
import type { House } from './stage.ts';

/** Names of libraries that programs outside load. Neither is one: what tries to load it fails. */
const LIBRARIES = 'libselinux.so.1 libcap.so.2 libpcre2-8.so.0 libsmartcols.so.1 libc.so.6';
const PLANT = `for name in ${LIBRARIES}; do echo EVIL > $name; done`;

/** Programs and scripts in a home directory that are run outside. */
const RUN_OUTSIDE = [
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
];

export function describeSettings(user: User): void {
  describe.skipIf(cannotRun)(`as ${user}`, () => {
    test('variables of a caller and of a session do not reach the loader of anything of ours', async () => {
      const opened = await open(user, (house) => house.write('outside/keep', ''));
      const { house, server } = opened;
      const outside = join(house.home, 'outside');
      await run(opened, PLANT);
      const here = house.work;
      const variables: Record<string, string>[] = [
        { LD_PRELOAD: join(here, 'libcap.so.2') },
        { LD_AUDIT: join(here, 'libcap.so.2') },
        { LD_LIBRARY_PATH: here },
        { LD_DEBUG: 'all', LD_DEBUG_OUTPUT: join(outside, 'trace') },
        { LD_PROFILE: 'libc.so.6', LD_PROFILE_OUTPUT: outside },
        { BASH_ENV: join(here, 'libcap.so.2') },
        { GCONV_PATH: here },
        { LOCPATH: here, NLSPATH: here },
      ];
      for (const environment_variables of variables) {
        const { data, text } = await server.execute('echo fine', { environment_variables });
        // The loader of the command itself may fail: that is its own business.
        const isTaken = data.error?.code !== 'SECURITY_003' && /bwrap|prlimit/.test(text);
        expect({ environment_variables, isTaken, text }).toMatchObject({ isTaken: false });
      }
      await server.execute(
        `export LD_LIBRARY_PATH=${here} LD_DEBUG=all LD_DEBUG_OUTPUT=${outside}/trace LD_PRELOAD=${here}/libc.so.6 BASH_ENV=${here}/x`,
        { session_id: 'one' },
      );
      expect((await server.execute('echo fine', { session_id: 'one' })).text).not.toMatch(/bwrap|prlimit/);
      expect(readdirSync(outside)).toEqual(['keep']);
    });

    test('LD_PRELOAD, LD_AUDIT and BASH_ENV are refused', async () => {
      const { server } = await open(user);
      for (const name of [
        'LD_PRELOAD',
        'LD_AUDIT',
        'BASH_ENV',
        'GCONV_PATH',
        'GLIBC_TUNABLES',
        'SHELLOPTS',
        'PS4',
      ])
        expect(
          (await server.execute('true', { environment_variables: { [name]: '/x' } })).data.error,
          name,
        ).toMatchObject({ code: 'SECURITY_003' });
      await server.execute(
        String.raw`for fd in 3 4 5 6 7; do printf '/root\0LD_PRELOAD=/x\0BASH_ENV=/y\0' >&$fd; done 2>/dev/null; exec true`,
        { session_id: 'two' },
      );
      expect((await server.execute('echo "[$LD_PRELOAD$BASH_ENV]"', { session_id: 'two' })).data.stdout).toBe(
        '[]\n',
      );
    });

    test('working in a hidden directory shows nothing, and no answer tells about hidden files', async () => {
      const { house, server } = await open(user, (made) => {
        made.write('.ssh/id_rsa', made.secret, 0o640);
        made.write('.aws/credentials', made.secret, 0o600);
      });
      for (const path of ['.ssh', '.aws', '../bob', '.local/state/mcp-shell-server']) {
        const { text } = await server.execute('ls -A; cat *', {
          working_directory: join(house.home, path),
          merge_stderr: true,
        });
        expect(text).not.toContain(house.secret);
        expect(text).not.toMatch(/^(?:id_rsa|credentials|notes|executions|audit)$/m);
      }
      const { text } = await server.execute(
        `echo "bash: line 1: ${house.home}/.ssh/id_rsa: Permission denied" >&2; exit 126`,
      );
      expect(text).not.toContain('0640');
    });

    test('what is run outside stays as it is', async () => {
      const opened = await open(user, (house) => {
        for (const path of RUN_OUTSIDE) house.write(path, 'good\n', 0o755);
      });
      await run(
        opened,
        RUN_OUTSIDE.map(
          (path) =>
            `f=~/${path}; d=$(dirname $f); echo EVIL > $f; rm -f $f; echo EVIL > $f; mv $d $d.old; mkdir -p $d; echo EVIL > $f`,
        ).join('\n'),
      );
      expect(
        RUN_OUTSIDE.filter(
          (path) => holds(join(opened.house.home, path)) || !existsSync(join(opened.house.home, path)),
        ),
      ).toEqual([]);
    });

    test('the server’s program in npx’s cache cannot be exchanged', async () => {
      const inCache = (house: House): string =>
        join(house.home, '.npm/_npx/abc/node_modules/mcp-shell-server/dist');
      const opened = await open(
        user,
        (house) => {
          mkdirSync(join(inCache(house), '..'), { recursive: true });
          cpSync(house.installation, inCache(house), { recursive: true });
        },
        (house) => ({ installation: inCache(house) }),
      );
      await run(
        opened,
        'cd ~/.npm/_npx; mv abc old; mv ../_npx ../_old; mkdir -p ~/.npm/_npx/abc/node_modules/mcp-shell-server/dist; echo "EVIL program" > ~/.npm/_npx/abc/node_modules/mcp-shell-server/dist/cli.js',
      );
      expect(holds(join(inCache(opened.house), 'cli.js'), 'EVIL program')).toBe(false);
      expect(readdirSync(inCache(opened.house))).toContain('cli.js');
    });

    test('a socket in a cache is not reached by moving its directory', async () => {
      let reached = 0;
      const listener = net.createServer((socket) => {
        reached++;
        socket.on('error', () => undefined).destroy();
      });
      onTestFinished(() => void listener.close());
      const opened = await open(user, (house) => house.write('.cache/agent/keep', ''));
      const cache = join(opened.house.home, '.cache');
      await new Promise<void>((resolve) => {
        listener.listen({ path: join(cache, 'agent/sock'), writableAll: true, readableAll: true }, resolve);
      });
      await run(opened, 'mv ~/.cache/agent ~/.cache/moved');
      for (const name of ['agent', 'moved'])
        await run(
          opened,
          python(
            `s = socket.socket(socket.AF_UNIX)\ntry: s.connect("${cache}/${name}/sock")\nexcept OSError: pass`,
          ),
        );
      if (existsSync(join(cache, 'moved'))) renameSync(join(cache, 'moved'), join(cache, 'agent'));
      expect(reached).toBe(0);
    });

    test('writable_paths leave protected what is protected, and hidden what is hidden', async () => {
      const opened = await open(
        user,
        (house) => {
          makeRepository(join(house.home, 'other'));
          makeRepository(house.work);
          house.write('.ssh/id_rsa', house.secret, 0o600);
        },
        (house) => ({ env: { MCP_SHELL_SECURITY_WRITABLE_PATHS: house.home } }),
      );
      const { house } = opened;
      const { text } = await run(
        opened,
        'echo EVIL > ~/other/.git/hooks/x; echo EVIL > .git/hooks/x; cat ~/.ssh/id_rsa; echo fine > ~/allowed',
      );
      expect(
        {
          leaks: text.includes(house.secret),
          changed: ['other/.git/hooks/x', 'work/.git/hooks/x'].filter((path) =>
            holds(join(house.home, path)),
          ),
          allowed: holds(join(house.home, 'allowed'), 'fine'),
        },
        text,
      ).toEqual({ leaks: false, changed: [], allowed: true });
    });

    test('a home directory with tokens and the settings of clients can be a workspace', async () => {
      const { house, server, start } = await open(
        user,
        (made) => {
          for (const path of [
            '.claude/settings.json',
            '.codex/config.toml',
            '.cursor/mcp.json',
            '.gemini/settings.json',
          ])
            made.write(path, '{}\n');
          made.write('.npmrc', `//registry.example/:_authToken=${made.secret}\n`);
          made.write('.gitconfig', `[http]\n\textraheader = AUTHORIZATION: bearer ${made.secret}\n`);
          made.write('.config/git/credentials', `https://me:${made.secret}@example.com\n`);
          made.write('.config/git/config', `[http]\n\textraheader = AUTHORIZATION: bearer ${made.secret}\n`);
        },
        () => ({ cwd: '/usr' }),
      );
      for (const [preset, there] of [
        ['development', server],
        ['sandbox', await start({ preset: 'sandbox', cwd: house.home })],
      ] as const) {
        const { data, text } = await there.execute(
          `cd ${house.home}; head .npmrc .gitconfig .config/git/*; echo end`,
          { merge_stderr: true },
        );
        expect(
          { preset, end: String(data.stdout).endsWith('end\n'), leaks: text.includes(house.secret) },
          text,
        ).toEqual({ preset, end: true, leaks: false });
      }
    });

    test('an absolute link in the home directory does not take the sandbox away', async () => {
      const opened = await open(user, (house) => {
        house.write('dotfiles/config/gh/hosts.yml', house.secret);
        symlinkSync(join(house.home, 'dotfiles/config'), join(house.home, '.config'));
        house.write('outside/keep', '');
      });
      const { house } = opened;
      const { text } = await run(
        opened,
        'cat ~/.config/gh/hosts.yml ~/dotfiles/config/gh/hosts.yml; echo EVIL > ~/outside/keep; echo end',
      );
      expect({
        leaks: text.includes(house.secret),
        ran: text.includes('end'),
        wrote: holds(join(house.home, 'outside/keep')),
      }).toEqual({ leaks: false, ran: true, wrote: false });
    });

    test('masked secrets are in no view of an output', async () => {
      const secret = 'hunter2-correct-horse';
      const { house, server } = await open(user, undefined, () => ({
        env: { MCP_SHELL_SECURITY_MASK_OUTPUT: 'true', DEPLOY_TOKEN: secret },
      }));
      const answers = [
        await server.execute(
          'echo "$DEPLOY_TOKEN"; echo "$DEPLOY_TOKEN" >&2; echo "${DEPLOY_TOKEN}x${DEPLOY_TOKEN}"',
        ),
        await server.execute(
          'for ((i = 0; i < ${#DEPLOY_TOKEN}; i++)); do printf %s "${DEPLOY_TOKEN:i:1}"; sleep 0.01; done; echo',
        ),
        await server.execute(
          'printf %s "${DEPLOY_TOKEN:0:7}"; sleep 0.1; printf %s "${DEPLOY_TOKEN:7}" >&2',
          {
            merge_stderr: true,
          },
        ),
        await server.execute('echo "$DEPLOY_TOKEN"', { execution_mode: 'detached' }),
      ];
      const texts = answers.map((called) => JSON.stringify(called));
      for (const { data } of answers) {
        const { execution_id } = data;
        texts.push(
          JSON.stringify(await server.call('process_get_execution', { execution_id, wait_seconds: 10 })),
        );
        const { data: list } = await server.call('list_execution_outputs', { execution_id });
        for (const { output_id } of list.outputs)
          texts.push(JSON.stringify(await server.call('read_execution_output', { output_id })));
      }
      expect(texts.filter((text) => text.includes(secret))).toEqual([]);
      expect(spawnSync('grep', ['-rlsF', secret, house.stateDir], { encoding: 'utf8' }).stdout).toBe('');
    });

    test.skipIf(needs('socat'))('allowed_domains are not got round', { timeout: 120_000 }, async () => {
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
      const opened = await open(user, undefined, () => ({
        env: { MCP_SHELL_SECURITY_ALLOWED_DOMAINS: 'allowed.example,*.example.org' },
      }));
      const ways: Readonly<Record<string, string>> = {
        'an address': `ask GET 127.0.0.1:${port}`,
        'a tunnel to an address': `ask CONNECT 127.0.0.1:${port}`,
        'an address in other words': `for a in 2130706433 0x7f.1 127.1 017700000001 [::1] [::ffff:127.0.0.1] 0.0.0.0 localhost. LOCALHOST; do ask GET $a:${port}; ask CONNECT $a:${port}; done`,
        'an allowed name before an @': `say "GET http://allowed.example@127.0.0.1:${port}/ HTTP/1.1\\r\\nHost: allowed.example\\r\\n\\r\\n"`,
        'an allowed Host with another address': `say "GET http://127.0.0.1:${port}/ HTTP/1.1\\r\\nHost: allowed.example\\r\\n\\r\\n"; say "CONNECT 127.0.0.1:${port} HTTP/1.1\\r\\nHost: allowed.example:443\\r\\n\\r\\nGET / HTTP/1.0\\r\\n\\r\\n"`,
        'a second request on one connection': `say "GET http://allowed.example/ HTTP/1.1\\r\\nHost: allowed.example\\r\\nContent-Length: 0\\r\\n\\r\\nGET http://127.0.0.1:${port}/ HTTP/1.1\\r\\nHost: 127.0.0.1:${port}\\r\\n\\r\\n"`,
        'a name like an allowed one': `for h in notallowed.example allowed.example.localhost localhost; do ask GET $h:${port}; ask CONNECT $h:${port}; done`,
        'past the proxy': `exec 3<>/dev/tcp/127.0.0.1/${port} && echo ESCAPED; exec 3<>/dev/tcp/localhost/${port} && echo ESCAPED`,
      };
      const ask = `say() { printf "$1" | timeout 3 socat -t 1 - TCP:127.0.0.1:3128; printf "$1" | timeout 3 socat -t 1 - UNIX-CONNECT:/run/mcp-shell-proxy; }; ask() { if [ $1 = GET ]; then say "GET http://$2/ HTTP/1.1\\r\\nHost: $2\\r\\nConnection: close\\r\\n\\r\\n"; else say "CONNECT $2 HTTP/1.1\\r\\nHost: $2\\r\\n\\r\\nGET / HTTP/1.0\\r\\n\\r\\n"; fi; }`;
      for (const [name, way] of Object.entries(ways)) {
        const { data, text } = await run(opened, `${ask}\n(${way}) 2>/dev/null; echo end`);
        expect(
          {
            name,
            reached,
            ran: String(data.stdout).includes('end'),
            said: /REACHED|ESCAPED/.test(String(data.stdout)),
          },
          text,
        ).toEqual({ name, reached: 0, ran: true, said: false });
      }
    });
  });
}
