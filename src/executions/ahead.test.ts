import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { needs } from '../../test/setup/needs.ts';
import type { Sink, StreamType } from '../outputs/types.ts';
import { createHost, type Host, wallOf } from '../security/sandbox/sandbox.fixture.ts';
import { createAhead, type MountTables } from './ahead.ts';
import { type Cgroups, createCgroups } from './cgroups/cgroups.ts';
import { type EnclosedSpec, startEnclosed } from './enclosed.ts';
import { readMounts } from './gate.ts';
import { createPipes } from './pipes.ts';
import { findProcess, listChildren } from './process-table.ts';

interface Ran {
  readonly pid: number;
  readonly exitCode: number | undefined;
  readonly text: Readonly<Partial<Record<StreamType, string>>>;
  readonly state: string;
}

function createBench(host: Host) {
  const pipes = createPipes(join(host.state, 'pipes'), 4);
  const cgroups = createCgroups();
  const made: string[] = [];
  const watched: Cgroups = {
    ...cgroups,
    create(name, limits) {
      const group = cgroups.create(name, limits);
      if (group !== undefined) made.push(group.path);
      return group;
    },
  };
  // Other tests of this machine mount and unmount.
  const mounts = { host: 'as it is' };
  const tables: MountTables = {
    host: () => mounts.host,
    inside: (pid) =>
      readMounts(pid)
        ?.split('\n')
        .filter((line) => line.includes(host.root))
        .join('\n'),
  };
  const ahead = createAhead({ pipes, cgroups: watched, server: 'test', now: Date.now }, tables);
  onTestFinished(async () => {
    await ahead.dispose();
    pipes.dispose();
    cgroups.dispose();
  });
  const specOf = (script: string, changes: Partial<EnclosedSpec> = {}): EnclosedSpec => ({
    id: 'test',
    argv: ['/bin/bash', '-c', script],
    environment: { PATH: '/usr/bin:/bin' },
    directory: host.workspace,
    marker: `MARK=${host.root}`,
    limits: {},
    inputData: undefined,
    streams: ['stdout', 'stderr'],
    openSinks: () => new Map(),
    wantsState: false,
    wall: wallOf(host, { repositories: [host.workspace] }),
    ...changes,
  });
  return {
    ahead,
    mounts,
    groups: () => made.filter((path) => existsSync(path)),
    specOf,
    async run(script: string, changes: Partial<EnclosedSpec> = {}): Promise<Ran> {
      const text: Partial<Record<StreamType, string>> = {};
      const spec = specOf(script, changes);
      const sinkOf = (stream: StreamType): Sink => ({
        totalBytes: 0,
        problem: undefined,
        write: (chunk) => void (text[stream] = (text[stream] ?? '') + Buffer.from(chunk).toString()),
        close: () => undefined,
      });
      const openSinks = () => new Map(spec.streams.map((stream) => [stream, sinkOf(stream)]));
      const tools = { pipes, cgroups: watched, ahead, now: Date.now };
      const { capture, ending } = await startEnclosed({ ...spec, openSinks }, tools);
      const { exitCode } = await ending.finished;
      return { pid: capture.identity.pid, exitCode, text, state: capture.state().toString() };
    },
  };
}

const wallsOf = (): number[] =>
  (listChildren(process.pid) ?? []).filter((pid) => findProcess(pid)?.name === 'bwrap');

/** Walls with nothing behind them but the shell that waits; the first of them is used next. */
async function untilThereAre(count: number): Promise<number> {
  // bwrap, its own first process inside, and the shell.
  const standing = (): number[] =>
    wallsOf().filter((pid) => listChildren(listChildren(pid)?.[0] ?? 0)?.length === 1);
  await expect.poll(standing, { interval: 5, timeout: 20_000 }).toHaveLength(count);
  const age = (pid: number): number => findProcess(pid)?.startTime ?? 0;
  return standing().toSorted((a, b) => age(a) - age(b) || a - b)[0] ?? 0;
}

/** One command makes another likely. */
async function untilOneStands(run: (script: string) => Promise<unknown>): Promise<number> {
  await run('true');
  return untilThereAre(1);
}

const isGone = (pid: number): boolean => {
  const entry = findProcess(pid);
  return entry === undefined || entry.isZombie || entry.name !== 'bwrap';
};

describe.skipIf(needs('bwrap'))('a wall that was built ahead', () => {
  test('is what the next command runs behind, and then there is another', async () => {
    const { run } = createBench(createHost());
    const first = await untilOneStands(run);
    expect(await run('echo out; echo err >&2; exit 7')).toEqual({
      pid: first,
      exitCode: 7,
      text: { stdout: 'out\n', stderr: 'err\n' },
      state: '',
    });
    // One was used: more are likely to follow at once.
    const second = await untilThereAre(2);
    expect(await run('echo again')).toMatchObject({ pid: second, text: { stdout: 'again\n' } });
    await untilThereAre(2);
  });

  test('is there for a first command that was announced', async () => {
    const { run, ahead, specOf } = createBench(createHost());
    ahead.prepare(specOf(''));
    const standing = await untilThereAre(1);
    expect(await run('echo first')).toMatchObject({ pid: standing, text: { stdout: 'first\n' } });
  });

  test.for([
    ['a line\n', 'a line\n'],
    ['', ''],
    ['x'.repeat(200_000), 'x'.repeat(200_000)],
  ])('gives a command its input', async ([input, printed]) => {
    const { run } = createBench(createHost());
    const standing = await untilOneStands(run);
    const inputData = input ?? '';
    const { pid, text } = await run('cat; cat /dev/stdin >&2; echo end', { inputData });
    expect(pid).toBe(standing);
    expect(text.stdout).toBe(`${printed}end\n`);
    // Opened again by its name, it begins anew.
    expect(text.stderr ?? '').toBe(printed);
  });

  test('cannot write to its input', async () => {
    const { run } = createBench(createHost());
    const standing = await untilOneStands(run);
    const script = 'echo x > /dev/stdin || echo x > /proc/self/fd/0 || cat';
    const { pid, text } = await run(script, { inputData: 'as it was' });
    expect({ pid, stdout: text.stdout }).toEqual({ pid: standing, stdout: 'as it was' });
  });

  test('is for any directory', async () => {
    const host = createHost();
    const { run } = createBench(host);
    const standing = await untilOneStands(run);
    const directory = host.makeDirectory("home/project/it's a place");
    expect(await run('pwd; echo "$PWD|$OLDPWD"; env', { directory })).toMatchObject({
      pid: standing,
      text: { stdout: expect.stringMatching(/^(.*it's a place)\n\1\|\n(?!.*OLDPWD)/s) },
    });
  });

  test('is not used for a directory that is not there, and the answer is as without', async () => {
    const host = createHost();
    const { run } = createBench(host);
    const directory = join(host.workspace, 'gone');
    const { pid: _, ...cold } = await run('true', { directory });
    const standing = await untilThereAre(1);
    expect(cold.text.stderr).toContain('gone');
    const { pid, ...warm } = await run('true', { directory });
    expect(warm).toEqual(cold);
    expect(pid).not.toBe(standing);
  });

  test.for([[undefined], ['words']])(
    'gives a command what it has otherwise: variables, arguments, directory, descriptors',
    async ([inputData]) => {
      const host = createHost();
      const { run, ahead } = createBench(host);
      const environment = {
        PATH: '/usr/bin:/bin',
        QUOTES: `'"\`$(id) $HOME \\ \\n`,
        LINES: 'one\ntwo\n',
        EMPTY: '',
        EQUAL: 'a=b=c',
        WORDS: 'Grüße 🌍 -i --',
        SHLVL: '3',
        _: '/usr/bin/node',
        OLDPWD: '/usr',
        PS4: '$(id)',
        IFS: 'xyz',
      };
      const changes = {
        environment,
        inputData,
        argv: [
          '/bin/bash',
          '-c',
          'env -0 | sort -z; printf "<%s>" "$0" "$@"; pwd; readlink /proc/$$/fd/0 | sed s/input-[a-z0-9]*/input/; ls /proc/$$/fd; cat; umask; ulimit -a',
          "it's",
          '-x',
          '',
          'a\nb',
        ],
      };
      const cold = await run('', changes);
      const standing = await untilThereAre(1);
      const warm = await run('', changes);
      expect(warm.pid).toBe(standing);
      expect(cold.pid).not.toBe(standing);
      expect(warm.text).toEqual(cold.text);
      expect(warm.text.stdout).toContain(environment.QUOTES);
      await ahead.dispose();
    },
  );

  test.for<[name: string, changes: Partial<EnclosedSpec>, expected: Partial<Ran>]>([
    ['both streams in one', { streams: ['combined'] }, { text: { combined: 'out\nerr\n' }, state: '' }],
    ['no errors', { streams: ['stdout'] }, { text: { stdout: 'out\n' }, state: '' }],
    ['a state', { wantsState: true }, { text: { stdout: 'out\n', stderr: 'err\n' }, state: 'kept\n' }],
    ['masked values', { masked: ['out'] }, { text: { stdout: '***\n', stderr: 'err\n' } }],
  ])('knows of %s', async ([, changes, expected]) => {
    const { run } = createBench(createHost());
    const standing = await untilOneStands(run);
    const script = 'echo out; echo err >&2; { echo kept >&3; } 2>/dev/null; true';
    expect(await run(script, changes)).toMatchObject({ pid: standing, exitCode: 0, ...expected });
  });

  test('is not used where a protected file was exchanged meanwhile, and the new one is protected', async () => {
    const host = createHost();
    host.makeRepository('home/project');
    const { run } = createBench(host);
    const standing = await untilOneStands(run);
    const config = join(host.workspace, '.git/config');
    writeFileSync(`${config}.lock`, 'new');
    renameSync(`${config}.lock`, config);
    const { pid, text } = await run('cat .git/config; echo evil > .git/config || echo kept');
    expect(pid).not.toBe(standing);
    expect(text.stdout).toBe('newkept\n');
    expect(isGone(standing)).toBe(true);
  });

  test.for<[name: string, changes: (host: Host) => Partial<EnclosedSpec>]>([
    ['other limits', () => ({ limits: { fileBytes: 4096 } })],
    [
      'other options',
      (host) => ({ wall: { ...wallOf(host), options: [...wallOf(host).options, '--unshare-net'] } }),
    ],
    ['a program that is searched for', () => ({ argv: ['bash', '-c', 'true'] })],
    ['a variable that is no name', () => ({ environment: { '-x': '1' } })],
    ['a variable of shells', () => ({ environment: { OPTIND: 'x' } })],
    ['very long arguments', () => ({ argv: ['/bin/bash', '-c', 'true', 'x'.repeat(70_000)] })],
  ])('is not for %s', async ([, changes]) => {
    const host = createHost();
    const { run } = createBench(host);
    const standing = await untilOneStands(run);
    expect(await run('true', changes(host))).toMatchObject({ exitCode: 0, pid: expect.any(Number) });
    expect(isGone(standing)).toBe(false);
  });

  test('is not used after something was mounted on the host', async () => {
    const { run, mounts } = createBench(createHost());
    const standing = await untilOneStands(run);
    mounts.host = 'another one';
    const { pid, text } = await run('echo fine');
    expect(text.stdout).toBe('fine\n');
    expect(pid).not.toBe(standing);
    expect(isGone(standing)).toBe(true);
  });

  test('whose shell is slow is told all the same', async () => {
    const { run } = createBench(createHost());
    const standing = await untilOneStands(run);
    const shell = listChildren(listChildren(standing)?.[0] ?? 0)?.[0] ?? 0;
    process.kill(shell, 'SIGSTOP');
    const running = run('echo heard');
    // By now all is said, and our end is closed.
    await sleep(200);
    process.kill(shell, 'SIGCONT');
    expect(await running).toMatchObject({ pid: standing, exitCode: 0, text: { stdout: 'heard\n' } });
  });

  test('that was ended by somebody is not used', async () => {
    const { run } = createBench(createHost());
    const standing = await untilOneStands(run);
    process.kill(standing, 'SIGKILL');
    await expect.poll(() => isGone(standing)).toBe(true);
    expect(await run('echo fine')).toMatchObject({ text: { stdout: 'fine\n' } });
  });

  test('goes with the server, and so does one that is being built', async () => {
    const host = createHost();
    const { run, ahead, specOf } = createBench(host);
    const standing = await untilOneStands(run);
    ahead.prepare(specOf('true', { limits: { fileBytes: 4096 } }));
    await ahead.dispose();
    expect(isGone(standing)).toBe(true);
    await run('true');
    expect(wallsOf()).toEqual([]);
  });

  test('there are few at a time, and the latest are kept', async () => {
    const host = createHost();
    const { ahead, specOf, run } = createBench(host);
    const kinds = Array.from({ length: 9 }, (_, n) => ({ limits: { fileBytes: 4096 + n } }));
    for (const kind of kinds) ahead.expect(specOf('true', kind), false);
    await expect.poll(wallsOf, { timeout: 20_000 }).toHaveLength(6);
    const standing = wallsOf();
    expect(standing).toContain((await run('true', kinds.at(-1))).pid);
  });

  test('is not announced in the place of another', async () => {
    const { ahead, specOf } = createBench(createHost());
    for (let n = 0; n < 9; n++) ahead.prepare(specOf('true', { limits: { fileBytes: 4096 + n } }));
    await untilThereAre(6);
    await sleep(50);
    expect(wallsOf()).toHaveLength(6);
  });

  test('leaves no cgroup', async () => {
    const { run, ahead, specOf, groups } = createBench(createHost());
    const limits = { processes: 50, memoryBytes: 512 * 1024 * 1024 };
    await run('true', { limits });
    ahead.prepare(specOf('true', { limits }));
    await untilThereAre(1);
    await ahead.dispose();
    expect(groups()).toEqual([]);
  });
});
