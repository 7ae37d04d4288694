import { closeSync, existsSync, mkdirSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { needs } from '../../test/setup/needs.ts';
import { FORKER } from '../../test/support/root.ts';
import type { Sink, StreamType } from '../outputs/types.ts';
import type { LaunchPermit } from '../security/permit.ts';
import { createHost, type Host, sandboxSpecOf } from '../security/sandbox/sandbox.fixture.ts';
import { makeTmp } from '../security/sandbox/state-files.ts';
import { shellArgv } from '../security/shells.ts';
import { type Cgroups, createCgroups } from './cgroups/cgroups.ts';
import { createForker } from './forker.ts';
import { handoffWords } from './handoff-script.ts';
import { type LaunchIo, launch } from './launch.ts';
import { createPipes } from './pipes.ts';
import { findProcess, listChildren } from './process-table.ts';
import { createSandboxPool, type WantedSandbox } from './sandbox-pool.ts';
import type { MountTables } from './sandbox-tools.ts';
import { endSandbox, readMounts } from './sandboxed.ts';

interface Ran {
  readonly pid: number;
  readonly exitCode: number | undefined;
  readonly text: Readonly<Partial<Record<StreamType, string>>>;
  readonly state: string;
}

function createBench(host: Host) {
  const spawner = createForker(FORKER);
  const pipes = createPipes(join(host.state, 'pipes'), spawner, 4);
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
  const mounts = { host: readMounts('self') ?? '' };
  const tables: MountTables = {
    host: () => mounts.host,
    seen: (inside) =>
      inside
        .split('\n')
        .filter((line) => line.includes(host.root) || !line.includes(tmpdir()))
        .join('\n'),
  };
  const tools = { pipes, cgroups: watched, spawner, tables, server: 'test', now: Date.now };
  const pool = createSandboxPool(tools);
  onTestFinished(async () => {
    await pool.dispose();
    await spawner.dispose();
    pipes.dispose();
    cgroups.dispose();
  });
  // One of its own for /tmp, which is around the workspace, would be covered in a copy.
  const tmpDirectory = isCopied ? makeTmp(host.makeDirectory('tmp')) : undefined;
  const sandboxSpec = sandboxSpecOf(host, { repositories: [host.workspace], tmpDirectory });
  const wanted = (changes: Partial<WantedSandbox> = {}): WantedSandbox => ({
    sandboxSpec,
    limits: {},
    ...changes,
  });
  return {
    pool,
    mounts,
    groups: () => made.filter((path) => existsSync(path)),
    wanted,
    async run(script: string, changes: Partial<LaunchPermit & LaunchIo> = {}): Promise<Ran> {
      const text: Partial<Record<StreamType, string>> = {};
      const permit = {
        argv: ['/bin/bash', '-c', script],
        environment: { PATH: '/usr/bin:/bin' },
        directory: host.workspace,
        marker: `MARK=${host.root}`,
        maxDurationMs: undefined,
        limits: {},
        masked: [],
        sandboxSpec,
        ...changes,
      } as unknown as LaunchPermit;
      const sinkOf = (stream: StreamType): Sink => ({
        totalBytes: () => 0,
        problem: () => undefined,
        write: (chunk) => void (text[stream] = (text[stream] ?? '') + Buffer.from(chunk).toString()),
        close: () => undefined,
      });
      const { streams = ['stdout', 'stderr'], inputData, keepsState = false, command } = changes;
      const openSinks = () => new Map(streams.map((stream) => [stream, sinkOf(stream)]));
      const io: LaunchIo = { streams, inputData, keepsState, command, openSinks };
      const { identity, capture, ending } = await launch('test', permit, io, { ...tools, pool });
      const { exitCode } = await ending.finished;
      return { pid: identity.pid, exitCode, text, state: capture.state().toString() };
    },
  };
}

let isCopied = false;
/** Of the process that stays outside. */
const nameOfOuter = (): string => (isCopied ? 'mcp-shell-serve' : 'bwrap');

/** Children of the forker, whose parent is a child of this process. */
const sandboxes = (): number[] =>
  (listChildren(process.pid) ?? [])
    .flatMap((own) => listChildren(own) ?? [])
    .flatMap((forker) => listChildren(forker) ?? [])
    .filter((pid) => {
      const entry = findProcess(pid);
      return entry !== undefined && entry.name === nameOfOuter() && !entry.isZombie;
    });

/** Sandboxes with nothing in them but the shell that waits; the first of them is used next. */
async function untilThereAre(count: number): Promise<number> {
  // One outside, the first process inside, and the shell.
  const standing = (): number[] =>
    sandboxes().filter((pid) => listChildren(listChildren(pid)?.[0] ?? 0)?.length === 1);
  await expect.poll(standing, { interval: 5 }).toHaveLength(count);
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
  return entry === undefined || entry.isZombie || entry.name !== nameOfOuter();
};

describe.skipIf(needs('bwrap'))('a sandbox that bwrap built before its command came', () => {
  beforeEach(() => {
    isCopied = false;
  });
  testSandboxes();
});

describe.skipIf(needs('bwrap'))('a copy of a sandbox that was made before its command came', () => {
  beforeEach(() => {
    isCopied = true;
  });
  testSandboxes();

  test('shares no memory, terminals or processes with another', async () => {
    const { run } = createBench(createHost());
    await run('echo > /dev/shm/left; chmod 777 /home /run; echo > /home/left; echo > /run/left; sleep 100 &');
    const { text } = await run(
      'ls /dev/shm /dev/pts /home /run; ls -d /proc/[0-9]*; cat /proc/1/environ /proc/1/maps | wc -c',
    );
    expect(text.stdout).toBe('/dev/pts:\nptmx\n\n/dev/shm:\n\n/home:\n\n/run:\n/proc/1\n/proc/2\n0\n');
  });

  test('is what commands get again after something was mounted while copies of several kinds waited', async () => {
    const { pool, wanted, run, mounts } = createBench(createHost());
    const kinds = [4096, 8192, 12_288, 16_384].map((fileBytes) => ({ limits: { fileBytes } }));
    for (const kind of kinds) pool.prepare(wanted(kind));
    await untilThereAre(kinds.length);
    mounts.host += '\n';
    await Promise.all(kinds.map((kind) => run('true', kind)));
    const sandbox = await pool.take(wanted(kinds[0]));
    expect(sandbox.isCopy).toBe(true);
    await endSandbox(sandbox);
  });

  test('runs nothing of a command whose hand-off was cut short', async () => {
    const host = createHost();
    const { pool, wanted } = createBench(host);
    const whole = handoffWords({
      argv: ['/usr/bin/touch', 'made'],
      environment: {},
      directory: host.workspace,
      stdin: 'inherited',
      stderr: 'own',
      keepsState: false,
      maxProcesses: undefined,
    });
    const exits = [];
    for (const text of ['', whole.slice(0, -'\0end'.length), whole]) {
      const { child, handoffFd, input, capture, group } = await pool.take(wanted());
      writeSync(handoffFd, text);
      closeSync(handoffFd);
      input?.close();
      const { code } = await child.exited;
      exits.push([code, existsSync(join(host.workspace, 'made'))]);
      capture.close();
      group?.remove();
    }
    expect(exits).toEqual([
      [126, false],
      [126, false],
      [0, true],
    ]);
  });

  test('has no rights', async () => {
    const { run } = createBench(createHost());
    await run('true');
    const { text } = await run('grep -E "^(Cap...|NoNewPrivs):" /proc/self/status | cut -f 2 | sort -u');
    expect(text.stdout).toBe('0000000000000000\n1\n');
  });
});

/** As the server runs the text of a command, for which a shell may wait. */
const inShell = (command: string) => ({ command, argv: shellArgv('/bin/bash', command) });

describe.skipIf(needs('bwrap'))('a shell that waits in a copy of a sandbox', () => {
  beforeEach(() => {
    isCopied = true;
  });

  const SHOWN =
    'env -0 | sort -z; pwd; bash -c \'echo "$0|$*|$-"; ls /dev/""fd/; umask; ulimit -a\' a b; grep -E "^(Cap...|NoNew|Seccomp)" /"proc"/self/status';

  test('runs the next command of its kind as one of its own would', async () => {
    const { run } = createBench(createHost());
    const changes = { ...inShell(SHOWN), keepsState: true };
    const first = await run('', changes);
    await untilThereAre(2);
    const standing = sandboxes();
    const second = await run('', changes);
    const plain = ({ text }: Ran): string =>
      (text.stdout ?? '').replace(/(?:MARK|MCP_SHELL_EXECUTION)=[^\0]+\0/, '');
    expect(standing).toContain(second.pid);
    expect(plain(second)).toBe(plain(first));
    expect(second.text.stderr ?? '').toBe(first.text.stderr ?? '');
  });

  test.each<[string, (host: Host, mounts: { host: string }) => void, isOther: boolean]>([
    [
      'its directory was exchanged',
      ({ workspace }) => {
        renameSync(join(workspace, 'sub'), join(workspace, 'old'));
        mkdirSync(join(workspace, 'sub'));
      },
      // One that has no shell yet.
      true,
    ],
    ['something was mounted on the host', (_, mounts) => void (mounts.host += '\n'), false],
    [
      'a file that it protects was replaced',
      ({ workspace }) => {
        writeFileSync(join(workspace, 'new'), '[core]\n');
        renameSync(join(workspace, 'new'), join(workspace, '.git/config'));
      },
      false,
    ],
  ])('is not used where %s', async (_, change, isOther) => {
    const host = createHost();
    host.makeRepository('home/project');
    const { run, mounts } = createBench(host);
    const directory = host.makeDirectory('home/project/sub');
    const changes = { ...inShell('echo x > here; cat ../.git/config'), directory };
    await run('', changes);
    await untilThereAre(2);
    const standing = sandboxes();
    change(host, mounts);
    const { pid, exitCode } = await run('', changes);
    expect([standing.includes(pid), exitCode, existsSync(join(directory, 'here'))]).toEqual([
      isOther,
      0,
      true,
    ]);
  });
});

function testSandboxes(): void {
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
    await untilThereAre(2);
    const standing = sandboxes();
    const { pid, text } = await run('echo again');
    expect({ isOneOfThem: standing.includes(pid), text }).toEqual({
      isOneOfThem: true,
      text: { stdout: 'again\n' },
    });
    await untilThereAre(2);
  });

  test('is there for a first command that was announced', async () => {
    const { run, pool, wanted } = createBench(createHost());
    pool.prepare(wanted());
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

  test('says of a directory that is not there what one of its own would say', async () => {
    const host = createHost();
    const { run } = createBench(host);
    const directory = join(host.workspace, 'gone');
    const { pid: _, ...cold } = await run('true', { directory });
    await untilThereAre(1);
    expect(cold).toMatchObject({ exitCode: 1, text: { stderr: expect.stringContaining('gone') } });
    const { pid: _pid, ...warm } = await run('true', { directory });
    expect(warm).toEqual(cold);
  });

  test.for([[undefined], ['words']])(
    'gives a command what it has otherwise: variables, arguments, directory, descriptors',
    async ([inputData]) => {
      const host = createHost();
      const { run, pool } = createBench(host);
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
      await pool.dispose();
    },
  );

  test.for<[name: string, changes: Partial<LaunchPermit & LaunchIo>, expected: Partial<Ran>]>([
    ['both streams in one', { streams: ['combined'] }, { text: { combined: 'out\nerr\n' }, state: '' }],
    ['no errors', { streams: ['stdout'] }, { text: { stdout: 'out\n' }, state: '' }],
    ['a state', { keepsState: true }, { text: { stdout: 'out\n', stderr: 'err\n' }, state: 'kept\n' }],
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

  test.for<[name: string, changes: (host: Host) => Partial<LaunchPermit & LaunchIo>]>([
    ['other limits', () => ({ limits: { fileBytes: 4096 } })],
    [
      'other options',
      (host) => ({
        sandboxSpec: { ...sandboxSpecOf(host), options: [...sandboxSpecOf(host).options, '--unshare-net'] },
      }),
    ],
  ])('is not for %s', async ([, changes]) => {
    const host = createHost();
    const { run } = createBench(host);
    const standing = await untilOneStands(run);
    expect(await run('true', changes(host))).toMatchObject({ exitCode: 0, pid: expect.any(Number) });
    expect(isGone(standing)).toBe(false);
  });

  test.for<[name: string, changes: Partial<LaunchPermit>, stdout: string]>([
    ['a program that is searched for', { argv: ['bash', '-c', 'echo found'] }, 'found\n'],
    ['a variable that is no name', { environment: { PATH: '/usr/bin:/bin', '-x': '1' } }, '-x=1\n'],
    [
      'an exported function',
      { argv: ['/bin/bash', '-c', 'f'], environment: { 'BASH_FUNC_f%%': '() { echo called; }' } },
      'called\n',
    ],
    ['a variable of shells', { argv: ['/usr/bin/printenv', 'OPTIND'], environment: { OPTIND: 'x' } }, 'x\n'],
    [
      'very long arguments',
      { argv: ['/bin/bash', '-c', 'echo ${#1}', 'bash', 'x'.repeat(120_000)] },
      '120000\n',
    ],
  ])('is for %s too', async ([, changes, stdout]) => {
    const { run } = createBench(createHost());
    const standing = await untilOneStands(run);
    const { pid, exitCode, text } = await run('env | grep -E "^-x"', changes);
    expect({ pid, exitCode, stdout: text.stdout }).toEqual({ pid: standing, exitCode: 0, stdout });
  });

  test('is not used after something was mounted on the host', async () => {
    const { run, mounts } = createBench(createHost());
    const standing = await untilOneStands(run);
    // Until it is known here, too.
    await sleep(100);
    mounts.host += '\n';
    const { pid, text } = await run('echo fine');
    expect(text.stdout).toBe('fine\n');
    expect(pid).not.toBe(standing);
    expect(isGone(standing)).toBe(true);
  });

  test('that is of no use any more keeps none of many commands at once from running', async () => {
    const { run, mounts } = createBench(createHost());
    await untilOneStands(run);
    mounts.host += '\n';
    const ran = await Promise.all(Array.from({ length: 8 }, (_, n) => run(`echo ${n}`)));
    expect(ran.map(({ text }) => text.stdout)).toEqual(ran.map((_, n) => `${n}\n`));
  });

  test('that is slow to read its command runs it all the same', async () => {
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

  test('that was ended meanwhile is not used', async () => {
    const { run } = createBench(createHost());
    const standing = await untilOneStands(run);
    process.kill(standing, 'SIGKILL');
    await expect.poll(() => isGone(standing)).toBe(true);
    expect(await run('echo fine')).toMatchObject({ text: { stdout: 'fine\n' } });
  });

  test('goes with the server, and so does one that is being built', async () => {
    const host = createHost();
    const { run, pool, wanted } = createBench(host);
    const standing = await untilOneStands(run);
    pool.prepare(wanted({ limits: { fileBytes: 4096 } }));
    await pool.dispose();
    expect(isGone(standing)).toBe(true);
    await run('true');
    expect(sandboxes()).toEqual([]);
  });

  test('there are few at a time, and the latest are kept', async () => {
    const host = createHost();
    const { run } = createBench(host);
    const kinds = Array.from({ length: 9 }, (_, n) => ({ limits: { fileBytes: 4096 + n } }));
    for (const kind of kinds) await run('true', kind);
    await expect.poll(sandboxes).toHaveLength(6);
    const isThereFor = async (kind: (typeof kinds)[number] | undefined): Promise<boolean> => {
      const standing = sandboxes();
      return standing.includes((await run('true', kind)).pid);
    };
    await expect.poll(() => isThereFor(kinds.at(-1))).toBe(true);
    await expect.poll(sandboxes).toHaveLength(6);
  });

  test('of another kind is not waited for until all commands of one that keep coming have theirs', async () => {
    const { run } = createBench(createHost());
    const order: string[] = [];
    const runOne = async (kind: 'many' | 'one'): Promise<void> => {
      await run('true', { limits: { fileBytes: kind === 'many' ? 4096 : 8192 } });
      order.push(kind);
    };
    const inRow = async (): Promise<void> => {
      for (let n = 0; n < 5; n++) await runOne('many');
    };
    const many = Array.from({ length: 8 }, inRow);
    await sleep(1);
    const earlier = order.length;
    await Promise.all([...many, runOne('one')]);
    expect(order.indexOf('one') - earlier).toBeLessThan(20);
  });

  test('more than there may be are not built in turns while nobody wants one', async () => {
    const { run } = createBench(createHost());
    const kinds = Array.from({ length: 5 }, (_, n) => ({ limits: { fileBytes: 4096 + n } }));
    // With the second command of a kind, two are to be ready.
    for (const kind of [...kinds, ...kinds]) await run('true', kind);
    await untilThereAre(6);
    const standing = (): string => String(sandboxes().toSorted((a, b) => a - b));
    // What was being built may still take the place of another.
    const isAtRest = async (): Promise<boolean> => {
      const before = standing();
      await sleep(300);
      return standing() === before;
    };
    await expect.poll(isAtRest).toBe(true);
  });

  test('is not announced in the place of another', async () => {
    const { pool, wanted } = createBench(createHost());
    for (let n = 0; n < 9; n++) pool.prepare(wanted({ limits: { fileBytes: 4096 + n } }));
    await untilThereAre(6);
    await sleep(50);
    expect(sandboxes()).toHaveLength(6);
  });

  test('leaves no cgroup', async () => {
    const { run, pool, wanted, groups } = createBench(createHost());
    const limits = { processes: 50, memoryBytes: 512 * 1024 * 1024 };
    await run('true', { limits });
    pool.prepare(wanted({ limits }));
    await untilThereAre(1);
    await pool.dispose();
    expect(groups()).toEqual([]);
  });
}
