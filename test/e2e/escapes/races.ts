/** What one command prepares for the next, before it or while it starts. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { python, type User } from './attempt.ts';
import { cannotRun } from './describe.ts';
import { holds, makeRepository, open, run } from './open.ts';
import type { House, StartOptions } from './stage.ts';

/** Of the one with most at stake, and of the others. */
const STARTS = 100;
const FEWER_STARTS = 40;

/** Exchanges two names as fast as it can. */
const exchange = (before: string, one: string, other: string): string =>
  python(
    `${before}\nprint("ready", flush=True)\nend = time.time() + 50\nwhile time.time() < end: libc.renameat2(-100, b"${one}", -100, b"${other}", 2)`,
  );

/** Runs the command many times while names are being exchanged; what was answered. */
async function race(
  user: User,
  options: {
    prepare: (house: House) => void;
    exchanger: (house: House) => string;
    command: (house: House) => string;
    start?: StartOptions;
    starts?: number;
  },
): Promise<{ house: House; texts: string[] }> {
  const opened = await open(user, options.prepare, () => options.start ?? {});
  const { house, server } = opened;
  const { execution_id } = (await run(opened, options.exchanger(house), { execution_mode: 'background' }))
    .data;
  for (let tries = 0; ; tries++) {
    const { data, text } = await server.call('process_get_execution', { execution_id });
    if (text.includes('ready')) break;
    if (tries > 2000 || data.status !== 'running') throw new Error(`The race did not begin: ${text}`);
  }
  const texts: string[] = [];
  const inOneRow = async (): Promise<void> => {
    for (let count = 0; count < (options.starts ?? FEWER_STARTS) / 2; count++)
      texts.push((await server.execute(options.command(house), { merge_stderr: true })).text);
  };
  await Promise.all([inOneRow(), inOneRow()]);
  await server.call('process_terminate', { execution_id, signal: 'KILL', force: true });
  return { house, texts };
}

export function describeRaces(user: User): void {
  describe.skipIf(cannotRun)(`as ${user}`, () => {
    describe('while executions start, exchanging', () => {
      test('a directory for a link to secrets shows and changes none of them', async () => {
        const { house, texts } = await race(user, {
          prepare: (made) => {
            for (const path of ['.ssh/id_rsa', '.ssh/hooks/keep', '.ssh/config'])
              made.write(path, made.secret, 0o600);
            mkdirSync(join(made.work, 'between'));
          },
          // Made by the one that exchanges it, in which it is therefore not held fast.
          exchanger: () =>
            exchange(
              'os.makedirs("between/repo/.git/hooks"); open("between/repo/.git/config", "w").close(); os.symlink("../../../.ssh", "between/repo/link")',
              'between/repo/.git',
              'between/repo/link',
            ),
          command: () =>
            'cat between/repo/*/* between/repo/.git/* between/repo/*/hooks/*; echo EVIL > between/repo/.git/id_rsa; echo EVIL > between/repo/link/hooks/keep; true',
          starts: STARTS,
        });
        expect(texts.filter((text) => text.includes(house.secret))).toEqual([]);
        expect(['.ssh/id_rsa', '.ssh/hooks/keep'].filter((path) => holds(join(house.home, path)))).toEqual(
          [],
        );
        expect(texts.length).toBe(STARTS);
      });

      test('a directory on the way for a link out of the workspace changes nothing there', async () => {
        const { house } = await race(user, {
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
        const there = join(house.home, 'outside/repo');
        expect([
          readdirSync(there),
          readFileSync(join(there, '.git/config'), 'utf8'),
          readFileSync(join(there, '.git/hooks/keep'), 'utf8'),
        ]).toEqual([['.git'], 'mine\n', 'mine\n']);
      });

      test('a settings file for a link to a hidden one, at home, shows nothing of it', async () => {
        const { house, texts } = await race(user, {
          prepare: (made) => made.write('.bash_history', `export API_TOKEN=x\n${made.secret}\n`, 0o600),
          start: { cwd: '/usr' },
          exchanger: (made) =>
            exchange(
              `os.chdir("${made.home}"); os.symlink(".bash_history", "sw"); open(".wgetrc", "w").write("plain=x")`,
              'sw',
              '.wgetrc',
            ),
          command: () => 'cd; cat .wgetrc sw; true',
        });
        expect(texts.filter((text) => text.includes(house.secret))).toEqual([]);
      });

      test('the directory of a client’s settings for a link to another’s leaves those alone', async () => {
        const { house } = await race(user, {
          prepare: (made) => {
            made.write('outside/settings.json', 'mine\n');
            made.write('outside/settings.local.json', 'mine\n');
          },
          exchanger: () =>
            exchange('os.makedirs("own"); os.symlink("../outside", ".claude")', 'own', '.claude'),
          command: () =>
            'echo EVIL > own/settings.json; echo EVIL > .claude/settings.json; echo EVIL > own/settings.local.json; true',
        });
        const there = join(house.home, 'outside');
        expect(
          Object.fromEntries(
            readdirSync(there).map((name) => [name, readFileSync(join(there, name), 'utf8')]),
          ),
        ).toEqual({ 'settings.json': 'mine\n', 'settings.local.json': 'mine\n' });
      });
    });

    // Who it is makes no difference to these, and they are long.
    describe.skipIf(user === 'root')('before a server is started again', () => {
      test('very many repositories do not take the sandbox away', async () => {
        const opened = await open(user, (house) => house.write('outside/keep', 'mine\n'));
        const { house, server, start } = opened;
        await run(
          opened,
          python(
            'for i in range(1200): os.makedirs(f"r/{i}/.git/hooks"); open(f"r/{i}/.git/config", "w").close()',
          ),
        );
        await server.close();
        const again = await start();
        await run({ house, server: again }, `echo EVIL > ${house.home}/outside/keep`);
        expect(readFileSync(join(house.home, 'outside/keep'), 'utf8')).toBe('mine\n');
      });

      test('very many directories hide no repository and show no FIFO', async () => {
        const opened = await open(user, (house) => {
          makeRepository(join(house.work, 'zz/inner'));
          house.write('ctl/keep', '');
          execFileSync('mkfifo', ['-m', '666', join(house.home, 'ctl/fifo')]);
        });
        const { house, server, start } = opened;
        await run(opened, python('for i in range(21000): os.mkdir(f"d{i}")'));
        await server.close();
        const again = await start();
        await again.execute('true');
        const { data } = await run(
          { house, server: again },
          '[ -p ~/ctl/fifo ] && echo FIFO; echo EVIL > zz/inner/.git/hooks/pre-commit',
          { merge_stderr: false },
        );
        expect({
          stdout: data.stdout,
          hook: holds(join(house.work, 'zz/inner/.git/hooks/pre-commit')),
        }).toEqual({ stdout: '', hook: false });
      });

      test('old directories that pose as repositories push none out', async () => {
        const opened = await open(user, (house) => {
          for (let index = 0; index < 40; index++)
            mkdirSync(join(house.work, `old/${index}`), { recursive: true });
          makeRepository(join(house.work, 'young'));
        });
        const { house, server, start } = opened;
        await run(
          opened,
          'for i in {0..39}; do mkdir fake$i; mv old/$i fake$i/.git; mkdir fake$i/.git/hooks; : > fake$i/.git/config; done',
        );
        await server.close();
        await run(
          { house, server: await start() },
          'echo EVIL >> young/.git/config; echo EVIL > young/.git/hooks/pre-commit',
        );
        expect(
          ['config', 'hooks/pre-commit'].filter((name) => holds(join(house.work, 'young/.git', name))),
        ).toEqual([]);
      });
    });
  });
}
