import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { lacks, needs } from '../../test/setup/needs.ts';
import { FORKER } from '../../test/support/root.ts';
import { createWorld, outcomeOf, untilPrinted, type World } from '../../test/support/world.ts';
import { randomText } from '../base/ids.ts';
import { MARKER_NAME } from '../base/marker.ts';
import type { Sink, StreamType } from '../outputs/types.ts';
import type { LaunchPermit } from '../security/permit.ts';
import type { BubblewrapSpec } from '../security/sandbox/profile.ts';
import { createHost, type Host, sandboxSpecOf, UNCOVERED } from '../security/sandbox/sandbox.fixture.ts';
import { type Cgroups, createCgroups } from './cgroups/cgroups.ts';
import { createForker } from './forker.ts';
import { type LaunchIo, launch } from './launch.ts';
import { createPipes } from './pipes.ts';
import { findProcess, listProcesses, type ProcessEntry } from './process-table.ts';
import { NOT_SET_UP } from './sandbox-failures.ts';
import { createSpawner, type Spawner } from './spawner.ts';

const sandboxed = (): World => createWorld({ settings: { security: { sandbox: 'required' } } });

function isStillAlive({ pid, startTime }: ProcessEntry): boolean {
  const now = findProcess(pid);
  return now !== undefined && now.startTime === startTime && !now.isZombie;
}

/** Alive, with the execution's mark in its environment: also inside, where it cannot be told from outside. */
function membersOf(marker: string): string[] {
  return listProcesses()
    .filter(({ pid, isZombie }) => {
      try {
        return !isZombie && readFileSync(`/proc/${pid}/environ`, 'latin1').includes(marker);
      } catch {
        return false;
      }
    })
    .map(({ name }) => name);
}

describe.skipIf(needs('bwrap'))('how a command in a sandbox ended', () => {
  test.for([
    ['true', { status: 'completed', reason: 'exit', exitCode: 0 }],
    ['exit 3', { status: 'failed', reason: 'exit', exitCode: 3 }],
    ['exit 255', { status: 'failed', reason: 'exit', exitCode: 255 }],
    [
      'no-such-command',
      { status: 'failed', reason: 'exit', exitCode: 127, securityEvent: 'command_not_found' },
    ],
    ['kill -TERM $$', { status: 'failed', reason: 'signal', exitCode: 143, signal: 'SIGTERM' }],
    ['kill -KILL $$', { status: 'failed', reason: 'signal', exitCode: 137, signal: 'SIGKILL' }],
    ['kill -SEGV $$', { status: 'failed', reason: 'signal', exitCode: 139, signal: 'SIGSEGV' }],
    ['exit 128', { status: 'failed', reason: 'exit', exitCode: 128 }],
    ['exit 200', { status: 'failed', reason: 'exit', exitCode: 200 }],
  ] as const)('%s', async ([command, expected]) => {
    await using world = sandboxed();
    const { outcome } = await world.run(command);
    const { endedAtMs: _at, durationMs: _for, peakMemoryBytes: _peak, ...rest } = outcome;
    expect(rest).toMatchObject({ ...expected, survivors: [], endedLeftovers: [] });
  });

  test('is known though something in the background went on', async () => {
    await using world = sandboxed();
    const { outcome, stdout } = await world.run(
      '(sleep 300; echo late) & setsid sleep 300 & echo out; exit 4',
    );
    expect(outcome).toMatchObject({ status: 'failed', reason: 'exit', exitCode: 4, survivors: [] });
    expect(stdout).toBe('out\n');
  });
});

describe.skipIf(needs('bwrap'))('ending what runs in a sandbox', () => {
  test('a trap on TERM has time to clean up, and its exit code is told', async () => {
    await using world = sandboxed();
    const execution = await world.start(
      'trap "echo cleaned > done; exit 9" TERM; echo ready; while :; do sleep 0.05; done',
    );
    await untilPrinted(execution, 'ready');
    await execution.live?.end('terminated');
    expect(await outcomeOf(execution)).toMatchObject({
      status: 'failed',
      reason: 'terminated',
      exitCode: 9,
      survivors: [],
    });
    expect(readFileSync(join(world.settings.defaultWorkdir, 'done'), 'utf8')).toBe('cleaned\n');
  });

  test('a polite request reaches the command alone, and what survives it goes on', async () => {
    await using world = sandboxed();
    const execution = await world.start('trap "echo asked" TERM; echo ready; while :; do sleep 0.05; done');
    await untilPrinted(execution, 'ready');
    expect(await execution.live?.request('SIGTERM', 'leader', 50)).toBe(false);
    await untilPrinted(execution, 'asked');
    await execution.live?.end('terminated', 'SIGKILL');
    expect(await outcomeOf(execution)).toMatchObject({ reason: 'terminated', survivors: [] });
  });

  test('KILL leaves nothing, whatever tried to get away', async () => {
    await using world = sandboxed();
    const execution = await world.start(`
      trap "" TERM INT HUP
      setsid sh -c 'trap "" TERM; echo > one; while :; do sleep 1; done' &
      (setsid env -i sh -c 'echo > two; exec sleep 300' &)
      nohup sh -c 'echo > three; exec sleep 300' > /dev/null 2>&1 &
      until [ -e one ] && [ -e two ] && [ -e three ]; do sleep 0.02; done
      echo ready
      while :; do sleep 1; done`);
    await untilPrinted(execution, 'ready');
    const tree = execution.live?.tree;
    const members = tree?.members() ?? [];
    expect(members.length).toBeGreaterThanOrEqual(6);
    await execution.live?.end('terminated', 'SIGKILL');
    expect(await outcomeOf(execution)).toMatchObject({ reason: 'terminated', survivors: [] });
    expect(members.filter(isStillAlive)).toEqual([]);
  });

  test('a time limit ends it all', async () => {
    await using world = sandboxed();
    const { outcome } = await world.run('trap "" TERM; setsid sleep 300 & sleep 300', { timeoutMs: 500 });
    expect(outcome).toMatchObject({ status: 'timeout', errorCode: 'EXECUTION_002', survivors: [] });
  });
});

describe.skipIf(needs('bwrap'))('a directory that the sandbox does not show', () => {
  test.for(['foreground', 'background', 'detached'] as const)(
    'is EXECUTION_001 in the %s, and explained',
    async (mode) => {
      await using world = sandboxed();
      const { root } = createHost(UNCOVERED);
      const { outcome, stdout } = await world.run('echo ran', { workingDirectory: root, mode });
      expect(outcome).toMatchObject({ status: 'failed', errorCode: 'EXECUTION_001', survivors: [] });
      expect(outcome.explanation).toContain(`Nothing was run: the sandbox does not show ${root}.`);
      expect(stdout).toBe('');
    },
  );
});

/** A bare capture, without records and permits. */
function createBench(
  host: Host,
  spawner: Spawner = createForker(FORKER),
  cgroups: Cgroups = createCgroups(),
) {
  const pipes = createPipes(join(host.state, 'pipes'), spawner, 4);
  onTestFinished(async () => {
    await spawner.dispose();
    pipes.dispose();
    cgroups.dispose();
  });
  const texts = new Map<StreamType, string>();
  const sinkOf = (stream: StreamType): Sink => ({
    totalBytes: () => 0,
    problem: () => undefined,
    write: (chunk) => void texts.set(stream, (texts.get(stream) ?? '') + Buffer.from(chunk).toString()),
    close: () => undefined,
  });
  const start = (
    sandboxSpec: BubblewrapSpec | undefined,
    script: string,
    changes: Partial<LaunchPermit & LaunchIo> = {},
  ) => {
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
    const io: LaunchIo = {
      inputData: undefined,
      streams: ['stdout', 'stderr'],
      openSinks: () =>
        new Map([
          ['stdout', sinkOf('stdout')],
          ['stderr', sinkOf('stderr')],
        ]),
      keepsState: false,
      ...changes,
    };
    return launch(randomText(), permit, io, { pipes, cgroups, spawner, now: Date.now });
  };
  return { start, textOf: (stream: StreamType) => texts.get(stream) ?? '' };
}

/** As on a machine where the server may create none. */
const NO_GROUPS: Cgroups = {
  create: () => undefined,
  held: () => ({ memory: undefined, processes: undefined, cpu: undefined }),
  settled: () => Promise.resolve(),
  dispose: () => undefined,
};
const MEMORY_LIMIT = { memoryBytes: 256 * 1024 * 1024 };
const SHOW_DATA_LIMIT = 'ulimit -S -d; ulimit -H -d; ulimit -S -d unlimited; ulimit -S -d';
const DATA_LIMIT_SHOWN = `${4 * 1024 * 1024}\nunlimited\nunlimited\n`;

describe.skipIf(needs('bwrap'))('a sandboxed command', () => {
  test('prints, and ends as it says', async () => {
    const host = createHost();
    const { start, textOf } = createBench(host);
    const { ending } = await start(sandboxSpecOf(host), 'echo out; echo err >&2; pwd; exit 5');
    expect(await ending.finished).toMatchObject({ reason: 'exit', exitCode: 5, survivors: [] });
    expect([textOf('stdout'), textOf('stderr')]).toEqual([`out\n${host.workspace}\n`, 'err\n']);
  });

  test('has variables that no program outside the sandbox has', async () => {
    const host = createHost();
    const { start, textOf } = createBench(host);
    const environment = { PATH: '/usr/bin:/bin', LD_LIBRARY_PATH: host.workspace };
    const { ending, identity } = await start(
      sandboxSpecOf(host),
      'echo "$LD_LIBRARY_PATH"; until [ -e go ]; do sleep 0.02; done',
      {
        environment,
        limits: { fileBytes: 1024 * 1024, memoryBytes: 512 * 1024 * 1024, processes: 64 },
      },
    );
    const outer = readFileSync(`/proc/${identity.pid}/environ`, 'utf8').split('\0').filter(Boolean);
    // A shell before it may have set PWD.
    expect(outer.filter((entry) => entry !== 'PWD=/').toSorted()).toEqual([
      `MARK=${host.root}`,
      'PATH=/usr/bin:/bin',
    ]);
    writeFileSync(join(host.workspace, 'go'), '');
    expect(await ending.finished).toMatchObject({ exitCode: 0 });
    expect(textOf('stdout')).toBe(`${host.workspace}\n`);
  });

  test('is refused where a directory was exchanged meanwhile, and leaves no process', async () => {
    const host = createHost();
    host.makeRepository('home/project');
    host.makeDirectory('home/project/evil');
    const sandboxSpec = sandboxSpecOf(host);
    renameSync(join(host.workspace, '.git/hooks'), join(host.workspace, 'away'));
    symlinkSync('../evil', join(host.workspace, '.git/hooks'));
    const { start, textOf } = createBench(host);
    await expect(start(sandboxSpec, 'echo ran > here; echo ran')).rejects.toMatchObject({
      code: 'SECURITY_003',
      details: { path: join(host.workspace, '.git/hooks') },
    });
    expect(existsSync(join(host.workspace, 'here'))).toBe(false);
    expect(textOf('stdout')).toBe('');
    expect(membersOf(`MARK=${host.root}`)).toEqual([]);
  });

  test('is a failure of the sandbox where something it was to mount is gone, in bwrap’s own words', async () => {
    const host = createHost();
    const extra = host.makeDirectory('extra');
    const sandboxSpec = sandboxSpecOf(host);
    const { start } = createBench(host);
    const failing = start(
      { ...sandboxSpec, options: ['--ro-bind', join(extra, 'gone'), '/x', ...sandboxSpec.options] },
      'echo ran > here',
    );
    await expect(failing).rejects.toMatchObject({ details: { sandbox: NOT_SET_UP } });
    await expect(failing).rejects.toThrow(/Can't find source path .*extra\/gone/);
    expect(existsSync(join(host.workspace, 'here'))).toBe(false);
    expect(membersOf(`MARK=${host.root}`)).toEqual([]);
  });

  test('in a directory that the sandbox does not show has not run', async () => {
    const host = createHost();
    const { start } = createBench(host);
    const { ending } = await start(sandboxSpecOf(host), 'echo ran', {
      directory: join(host.root, 'not-shown'),
    });
    expect(await ending.finished).toMatchObject({
      status: 'failed',
      errorCode: 'EXECUTION_001',
      exitCode: 1,
    });
  });

  test('cannot write a larger file than it may', async () => {
    const host = createHost();
    const { start } = createBench(host);
    const { ending } = await start(sandboxSpecOf(host), 'exec head -c 3M /dev/zero > large', {
      limits: { fileBytes: 1024 * 1024 },
    });
    expect(await ending.finished).toMatchObject({ signal: 'SIGXFSZ', exitCode: 153 });
    expect(readFileSync(join(host.workspace, 'large')).length).toBe(1024 * 1024);
  });

  test('has the data limit of each process, which it can raise', async () => {
    const host = createHost();
    const { start, textOf } = createBench(host, createForker(FORKER), NO_GROUPS);
    const { ending } = await start(sandboxSpecOf(host), SHOW_DATA_LIMIT, { limits: MEMORY_LIMIT });
    expect(await ending.finished).toMatchObject({ exitCode: 0 });
    expect(textOf('stdout')).toBe(DATA_LIMIT_SHOWN);
  });

  test('does not print what must not be seen', async () => {
    const host = createHost();
    const { start, textOf } = createBench(host);
    const { ending } = await start(sandboxSpecOf(host), 'printf hun; printf ter22; echo; echo hunter22 >&2', {
      masked: ['hunter22'],
    });
    await ending.finished;
    expect([textOf('stdout'), textOf('stderr')]).toEqual(['***\n', '***\n']);
  });

  test('reads what it was given', async () => {
    const host = createHost();
    const { start, textOf } = createBench(host);
    const { ending } = await start(sandboxSpecOf(host), 'cat; cat /dev/stdin | wc -c', {
      inputData: 'given\n',
    });
    await ending.finished;
    expect(textOf('stdout')).toBe('given\n6\n');
  });
});

describe.for([
  ['the forker', () => createForker(FORKER)],
  ['the server itself', () => createSpawner(FORKER)],
] as const)('a process that %s starts', ([, create]) => {
  const run = async (script: string, changes: Partial<LaunchPermit & LaunchIo> = {}, cgroups?: Cgroups) => {
    const host = createHost();
    const { start, textOf } = createBench(host, create(), cgroups);
    const launched = await start(undefined, script, changes);
    const outcome = await launched.ending.finished;
    return { host, launched, outcome, stdout: textOf('stdout'), stderr: textOf('stderr') };
  };

  test.for([
    ['true', { status: 'completed', reason: 'exit', exitCode: 0 }],
    ['exit 137', { status: 'failed', reason: 'exit', exitCode: 137 }],
    ['kill -KILL $$', { status: 'failed', reason: 'signal', exitCode: 137, signal: 'SIGKILL' }],
    ['kill -INT $$; exit 3', { status: 'failed', reason: 'signal', exitCode: 130, signal: 'SIGINT' }],
    ['kill -ABRT $$', { status: 'failed', reason: 'signal', exitCode: 134, signal: 'SIGABRT' }],
    ['kill -PIPE $$; exit 3', { status: 'failed', reason: 'signal', exitCode: 141, signal: 'SIGPIPE' }],
  ] as const)('ends exactly as it did: %s', async ([script, expected]) => {
    const { outcome } = await run(script);
    const { endedAtMs: _at, durationMs: _for, ...rest } = outcome;
    expect(rest).toMatchObject({ ...expected, survivors: [], endedLeftovers: [] });
  });

  describe.skipIf(lacks(process.platform !== 'linux', 'rlimits are set on Linux'))(
    'where no cgroup enforces the memory limit',
    () => {
      const runLimited = (script: string) => run(script, { limits: MEMORY_LIMIT }, NO_GROUPS);

      test('has a data limit, which it can raise', async () => {
        expect((await runLimited(SHOW_DATA_LIMIT)).stdout).toBe(DATA_LIMIT_SHOWN);
      });

      test('is refused more at once, ends as it says, and its outcome names the limit', async () => {
        const { outcome, stderr } = await runLimited(`perl -e '$n = 5 << 30; $x = "x" x $n; print "got"'`);
        expect(stderr).toMatch(/out of memory/i);
        expect(outcome).toMatchObject({ status: 'failed', dataLimitBytes: 4 * 1024 ** 3 });
        expect(outcome.exitCode).toBeGreaterThan(0);
      });

      test.skipIf(needs('python3'))('gets address space that it raises the limit for', async () => {
        // 0x4000: MAP_NORESERVE, so that the machine's memory does not matter.
        const script = `python3 -c 'import mmap; mmap.mmap(-1, 5 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)'`;
        expect((await runLimited(script)).outcome.exitCode).toBe(1);
        expect((await runLimited(`ulimit -S -d unlimited; ${script}`)).outcome.exitCode).toBe(0);
      });

      test.each([
        ['Node', `'${process.execPath}' -e 'new WebAssembly.Memory({ initial: 1 }); console.log("ok")'`],
        ['Perl', `perl -e 'print "ok\n"'`],
        ['Git', 'git --version > version && echo ok'],
        ['a shell with a pipe', 'head -c 1M /dev/zero | sort | wc -c > count; echo ok'],
      ])('starts %s', async (_, script) => {
        expect((await runLimited(script)).stdout).toBe('ok\n');
      });

      test('has none without a memory limit', async () => {
        const { stdout } = await run('ulimit -S -d', {}, NO_GROUPS);
        expect(stdout).not.toBe(`${384 * 1024}\n`);
      });
    },
  );

  test('is what bash -c is: a session of its own, no signal blocked or ignored', async () => {
    const { launched, stdout } = await run(
      'echo $$ $BASHPID; cut -d" " -f5,6 /proc/$$/stat; umask; trap; exec grep -E "Sig(Blk|Ign)" /proc/self/status',
    );
    const { pid } = launched.identity;
    const umask = process.umask().toString(8).padStart(4, '0');
    expect(stdout).toBe(
      `${pid} ${pid}\n${pid} ${pid}\n${umask}\nSigBlk:\t${'0'.repeat(16)}\nSigIgn:\t${'0'.repeat(16)}\n`,
    );
  });

  test('has the variables, marker, arguments and directory that it was given, and no others', async () => {
    const environment = {
      PATH: '/usr/bin:/bin',
      EMPTY: '',
      LINES: 'a\nb\n',
      EQUALS: '=a=b',
      WORDS: 'Grüße 🌍',
      'BASH_FUNC_f%%': '() { echo called; }',
      UID_: '5',
    };
    const argv = ['/bin/bash', '-c', 'pwd; f; printf "<%s>" "$0" "$@"; exec env -0', 'a', '', "it's", 'x\ny'];
    const { host, stdout } = await run('', { environment, argv });
    const [head = '', ...variables] = stdout.split('\0');
    expect(head.startsWith(`${host.workspace}\ncalled\n<a><><it's><x\ny>`)).toBe(true);
    const all = [head.slice(head.lastIndexOf('>') + 1), ...variables].filter((entry) => entry !== '');
    const own = /^(?:PWD|SHLVL|_|OLDPWD)=/;
    expect(all.filter((entry) => !own.test(entry)).toSorted()).toEqual(
      Object.entries({ ...environment, MARK: host.root })
        .map(([name, value]) => (name.endsWith('%%') ? `${name}=() {  echo called\n}` : `${name}=${value}`))
        .toSorted(),
    );
  });

  test.for<[name: string, changes: Partial<LaunchPermit>, reason: RegExp]>([
    ['no directory', { directory: '/no/such/directory' }, /working directory is gone/],
    ['too long an argument', { argv: ['/bin/true', 'x'.repeat(140_000)] }, /together are too long/],
  ])('is refused in words where there is %s, and leaves nothing', async ([, changes, reason]) => {
    const host = createHost();
    const { start } = createBench(host, create());
    await expect(start(undefined, 'true', changes)).rejects.toThrow(reason);
    expect(readdirSync(join(host.state, 'pipes')).filter((name) => name.startsWith('input'))).toEqual([]);
  });

  test('has merged streams in their order, its state and its input', async () => {
    const { launched, stdout } = await run(
      'cat; echo state >&3; for i in 1 2 3; do echo out $i; echo err $i >&2; done',
      { streams: ['combined'], keepsState: true, inputData: 'given\n' },
    );
    expect(stdout).toBe('given\nout 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n');
    expect(launched.capture.state().toString()).toBe('state\n');
  });
});

describe('the forker', () => {
  test('gives a process three descriptors, and none of ours', async () => {
    const { start, textOf } = createBench(createHost());
    const { ending } = await start(undefined, 'exec ls -l /proc/self/fd | grep -o " [0-9] ->.*"');
    await ending.finished;
    expect(textOf('stdout')).toMatch(/^ 0 -> \/dev\/null\n 1 -> .*\n 2 -> .*\n 3 -> \/proc.*\n$/);
  });

  test('says where there is no program', async () => {
    const { start } = createBench(createHost());
    await expect(start(undefined, '', { argv: ['/no/such/program'] })).rejects.toThrow(
      /there is no program \/no\/such\/program/,
    );
  });

  test('is one process for all, and ends when it is disposed of', async () => {
    const host = createHost();
    const spawner = createForker(FORKER);
    const { start } = createBench(host, spawner);
    const parents = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const marker = `MARK=${randomText()}`;
        const { ending, identity } = await start(undefined, 'sleep 300', { marker, environment: {} });
        const parent = findProcess(identity.pid)?.parentPid;
        await ending.end('terminated', 'SIGKILL');
        await ending.finished;
        return parent;
      }),
    );
    expect(new Set(parents)).toEqual(new Set([parents[0]]));
    const forker = findProcess(parents[0] ?? 0);
    expect(findProcess(forker?.parentPid ?? 0)?.parentPid).toBe(process.pid);
    await spawner.dispose();
    expect(findProcess(forker?.pid ?? 0)).toBeUndefined();
  });

  test('takes nothing that is just being started for an orphan of another command', async () => {
    const { start } = createBench(createHost(), createForker(FORKER), NO_GROUPS);
    const runInRow = async (): Promise<string[]> => {
      const ends: string[] = [];
      for (let n = 0; n < 20; n++) {
        const marker = `MARK=${randomText()}`;
        const { ending } = await start(undefined, 'exit 3', { marker, environment: {} });
        const { exitCode, signal, survivors } = await ending.finished;
        ends.push(`${exitCode} ${signal} ${survivors.length}`);
      }
      return ends;
    };
    const ends = await Promise.all(Array.from({ length: 10 }, runInRow));
    expect(new Set(ends.flat())).toEqual(new Set(['3 undefined 0']));
  });

  test.for([
    ['nobody is killed', 'true'],
    ['it is killed by the command', 'kill -9 $PPID'],
    ['its reaper is', 'kill -9 "$(ps -o ppid= -p $PPID | tr -d " ")"'],
    ['both are', 'kill -9 "$(ps -o ppid= -p $PPID | tr -d " ")" $PPID'],
  ])('leaves no orphan without a cgroup, where %s', async ([, kill]) => {
    const marker = `MARK=${randomText()}`;
    const { start } = createBench(createHost(), createForker(FORKER), NO_GROUPS);
    const orphan = '(setsid sh -c "sleep 300 & exec sleep 301" > /dev/null 2>&1 &)';
    const command = `${orphan}; sleep 0.2; ${kill}; sleep 0.1`;
    const { ending } = await start(undefined, command, { marker, environment: {} });
    const { survivors } = await ending.finished;
    expect(survivors).toEqual([]);
    expect(membersOf(marker)).toEqual([]);
  });

  test.each([0, 2, 4, 8])(
    'that is killed %d ms after a start leaves nothing that was not told',
    async (ms) => {
      const { start } = createBench(createHost(), createForker(FORKER), NO_GROUPS);
      const { identity } = await start(undefined, 'sleep 300');
      const reaper = findProcess(findProcess(identity.pid)?.parentPid ?? 0)?.parentPid ?? 0;
      const starting = Array.from({ length: 12 }, async () => {
        const marker = `${MARKER_NAME}=${randomText()}`;
        const { ending } = await start(undefined, 'sleep 300', { marker }).catch(() => ({
          ending: undefined,
        }));
        // Another one may have started it.
        await ending?.end('terminated');
        await ending?.finished;
        return membersOf(marker);
      });
      await sleep(ms);
      process.kill(reaper, 'SIGKILL');
      expect((await Promise.all(starting)).flat()).toEqual([]);
    },
  );

  test('that is killed is replaced, and what it had started is ended and told', async () => {
    const host = createHost();
    const { start, textOf } = createBench(host);
    const { ending, identity } = await start(undefined, 'sleep 300');
    process.kill(findProcess(identity.pid)?.parentPid ?? 0, 'SIGKILL');
    expect(await ending.finished).toMatchObject({ status: 'failed', signal: 'SIGKILL', survivors: [] });
    expect(findProcess(identity.pid)?.isZombie ?? true).toBe(true);
    const next = await start(undefined, 'echo again');
    expect(await next.ending.finished).toMatchObject({ exitCode: 0 });
    expect(textOf('stdout')).toBe('again\n');
  });
});

describe.skipIf(needs('bwrap'))('a detached execution', () => {
  test('runs in the same sandbox, through its wrapper', async () => {
    await using world = sandboxed();
    const outside = join(world.directory, 'outside');
    mkdirSync(outside);
    const { outcome, stdout } = await world.run(
      `echo in > here; (echo out > ${outside}/x) 2> /dev/null && echo escaped; ls ${world.settings.stateDir}; exit 6`,
      { mode: 'detached' },
    );
    expect(outcome).toMatchObject({ reason: 'exit', exitCode: 6, survivors: [] });
    expect(stdout).toBe('');
    expect(readFileSync(join(world.settings.defaultWorkdir, 'here'), 'utf8')).toBe('in\n');
    expect(existsSync(join(outside, 'x'))).toBe(false);
  });

  test('is ended with all it started, politely first', async () => {
    await using world = sandboxed();
    const execution = await world.start(
      'trap "echo cleaned > done; exit 0" TERM; setsid sleep 300 & echo ready; while :; do sleep 0.05; done',
      { mode: 'detached' },
    );
    await untilPrinted(execution, 'ready');
    const members = execution.live?.tree.members() ?? [];
    expect(members.length).toBeGreaterThanOrEqual(4);
    expect(await execution.live?.end('terminated')).toEqual([]);
    expect(await outcomeOf(execution)).toMatchObject({ reason: 'terminated', survivors: [] });
    expect(existsSync(join(world.settings.defaultWorkdir, 'done'))).toBe(true);
    expect(members.filter(isStillAlive)).toEqual([]);
  });
});
