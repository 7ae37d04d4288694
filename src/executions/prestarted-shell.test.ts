import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FORKER } from '../../test/support/root.ts';
import { createWorld } from '../../test/support/world.ts';
import { attempt } from '../base/attempt.ts';
import type { Sink, StreamType } from '../outputs/types.ts';
import type { LaunchPermit } from '../security/permit.ts';
import { shellArgv } from '../security/shells.ts';
import { createCgroups } from './cgroups/cgroups.ts';
import { createForker } from './forker.ts';
import { type LaunchIo, launch } from './launch.ts';
import { createPipes } from './pipes.ts';
import { type ShellSpec, shellFor } from './prestarted-shell.ts';
import { exists, findProcess, hasEnvironmentEntry, listDescendants } from './process-table.ts';
import { createSandboxPool } from './sandbox-pool.ts';
import { withReport } from './shell-report.ts';
import type { Child, Spawner } from './spawner.ts';
import { startShell } from './start-shell.ts';

const BASH = '/bin/bash';
const ENVIRONMENT = { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', HOME: '/', KEPT: 'a b\n"c"' };

interface Ran {
  readonly isPrestarted: boolean;
  readonly marker: string;
  readonly state: string;
  readonly said: readonly [code: number | undefined, signal: string | undefined, out: string, error: string];
}

function createShells() {
  const directory = mkdtempSync(join(tmpdir(), 'prestarted-shell-'));
  const waiting: Child[] = [];
  const forker = createForker(FORKER);
  const spawner: Spawner = {
    ...forker,
    async start(spec) {
      const child = await forker.start(spec);
      // The pool has it by then.
      if (spec.argv.at(-1)?.includes('BASH_EXECUTION_STRING') === true)
        setImmediate(() => waiting.push(child));
      return child;
    },
  };
  const pipes = createPipes(join(directory, '.pipes'), spawner, 4);
  const cgroups = createCgroups();
  const tools = { pipes, cgroups, spawner, now: Date.now };
  const pool = createSandboxPool({ ...tools, server: 'test' });
  onTestFinished(async () => {
    await pool.dispose();
    await spawner.dispose();
    pipes.dispose();
    cgroups.dispose();
    rmSync(directory, { recursive: true, force: true });
  });

  const pids = (): number[] => waiting.map(({ identity }) => identity.pid);

  const permitOf = (command: string, changes: Partial<LaunchPermit>): LaunchPermit =>
    ({
      argv: shellArgv(BASH, command),
      environment: ENVIRONMENT,
      directory,
      marker: 'MCP_SHELL_EXECUTION=own',
      limits: {},
      masked: [],
      ...changes,
    }) as unknown as LaunchPermit;

  function ioOf(command: string, changes: Partial<LaunchIo>) {
    const text = new Map<StreamType, string>();
    const sinkOf = (stream: StreamType): Sink => ({
      totalBytes: () => 0,
      problem: () => undefined,
      write: (chunk) => void text.set(stream, (text.get(stream) ?? '') + Buffer.from(chunk).toString()),
      close: () => undefined,
    });
    const { streams = ['stdout', 'stderr'], inputData, keepsState = false } = changes;
    const openSinks = () => new Map(streams.map((stream) => [stream, sinkOf(stream)]));
    const io: LaunchIo = { streams, inputData, keepsState, command, openSinks };
    return { io, text };
  }

  async function run(command: string, changes: Partial<LaunchPermit & LaunchIo> = {}): Promise<Ran> {
    const known = new Set(pids());
    const { io, text } = ioOf(command, changes);
    const launched = await launch('test', permitOf(command, changes), io, { ...tools, pool });
    const { exitCode, signal } = await launched.ending.finished;
    return {
      isPrestarted: known.has(launched.identity.pid),
      marker: launched.marker,
      state: launched.capture.state().toString(),
      said: [exitCode, signal, text.get('stdout') ?? text.get('combined') ?? '', text.get('stderr') ?? ''],
    };
  }

  return {
    directory,
    run,
    pids,
    async untilWaiting(count: number): Promise<void> {
      await expect.poll(() => pids().filter(exists).length).toBeGreaterThanOrEqual(count);
    },
    start: () =>
      startShell(shellFor(permitOf('true', {}), ioOf('true', {}).io)?.shell as ShellSpec, {}, tools),
    /** As the second of two that are alike. */
    async runPrestarted(command: string, changes: Partial<LaunchPermit & LaunchIo> = {}): Promise<Ran> {
      const before = waiting.length;
      await run('true', changes);
      await expect.poll(() => waiting.length).toBeGreaterThan(before);
      return run(command, changes);
    },
  };
}

/** Numbers of processes differ. */
const plain = (text: string): string => text.replaceAll(/\d{2,}/g, 'N');

function runPlain(command: string, directory: string): Ran['said'] {
  const [file = '', ...args] = shellArgv(BASH, command);
  const ran = spawnSync(file, args, {
    cwd: directory,
    env: { ...ENVIRONMENT, MCP_SHELL_EXECUTION: 'own' },
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
  });
  const signal = ran.signal ?? undefined;
  const code = ran.status ?? (signal === 'SIGKILL' ? 137 : signal === 'SIGSEGV' ? 139 : undefined);
  return [code, signal, plain(ran.stdout), plain(ran.stderr)];
}

describe('a shell that waits for its command does what `bash -c` does with', () => {
  test.each([
    'echo hi',
    'echo "$KEPT"; pwd; umask',
    'env | sort | grep -v -e ^MCP_',
    'printenv _',
    'cd / && printenv _',
    '/usr/bin/printenv _',
    'echo a; false; exit 3',
    'false',
    'true || gti',
    'gti status',
    'cd / && gti',
    '/usr/bin/gti',
    '/usr/bin status',
    'missing/gti | cat',
    'sh -c "kill -9 \\$\\$"',
    'sh -c "kill -SEGV \\$\\$"',
    'cd / && sh -c "kill -9 \\$\\$"',
    'cd / ; sh -c "kill -9 \\$\\$"',
    'false || sh -c "kill -9 \\$\\$"',
    'sh -c "kill -9 \\$\\$" | cat',
    'cat | sh -c "kill -9 \\$\\$"',
    'sh -c "kill -9 \\$\\$"; echo after',
    'sh -c "kill -9 \\$\\$" 2>&1',
    "sh -c 'exit 4'; pwd",
    "sh -c 'echo $0 $# $-' a b",
    "bash -c 'echo $$ $PPID'",
    'test -t 0; cat',
    'umask 077; sh -c umask',
    "printf '%s\\t|' a '' '  b  '",
    'echo "é ü 日本" \'$x\' "\\$x \\"q\\""',
    '  echo  leading',
    'echo trailing  ',
    'ls trailing  ',
    'ls /nonexistent 2>&1',
    'ls /nonexistent 2>/dev/null',
    'ls /nonexistent > made; cat made',
    'ls > /nonexistent/x',
    'cd / && ls > /nonexistent/x',
    'export NEW="a b" OTHER=$HOME; env | sort | grep -v ^MCP_',
    'export NEW=1; printenv NEW',
    'echo a > made2; echo b >> made2; cat < made2',
    'echo *; echo ~ ~+; echo [a-z]*',
    'echo $HOME${HOME}"$nope"x$nope',
    '[ -d / ] && echo dir',
    "node -e 'console.log(process.argv0)'",
  ])('%j', async (command) => {
    const shells = createShells();
    const { isPrestarted, said } = await shells.runPrestarted(command);
    expect([isPrestarted, said[0], said[1], plain(said[2]), plain(said[3])]).toEqual([
      true,
      ...runPlain(command, shells.directory),
    ]);
  });
});

describe('a command gets a shell of its own', () => {
  test.each([
    'echo $BASH_COMMAND',
    'echo $_',
    'set -x; echo hi',
    'set -v\nls',
    'set -euxo pipefail; echo hi',
    'tr "\\0" " " < /proc/$$/cmdline',
    'trap "echo bye" EXIT; echo hi',
    "tr\\ap 'echo bye' 0; ls",
    "'tr''ap' 'echo bye' 0; ls",
    'ls() { echo mine; }; ls',
    'ls(\\\n) { echo mine; }; ls',
    'function ls { echo mine; }; ls',
    'alias x=y; x',
    "shopt -s expand_aliases\na''lias ls='echo mine'\nls",
    'enable -n echo; echo hi',
    'if',
    'echo "unterminated',
    'echo a \\',
    '$SHELL -c "echo hi"',
    'PATH=/bin ls /nonexistent',
    'printf "\x01"',
    `echo ${'a'.repeat(3000)}`,
    // The status of the command before.
    'false; /bin/echo $?',
    "sh -c 'exit 42'; sh -c 'exit $1' _ $?",
    "ls /nonexistent || sh -c 'echo failed with $1' _ $?",
    "x=$(false); sh -c 'exit $1' _ ${?}",
    "false; sh -c 'exit $1' _ $(( $? + 1 ))",
    // A text that ends before its here-document.
    'cat <<X\nhello',
    'cat <<X | cat\nhello',
    'cat <<X\nhi\nX ',
    // Time since the start.
    'echo $SECONDS',
    'echo ${SECONDS}',
    'printf "%(%s)T\\n" -2 | cut -c 1-3',
    // Names of programs.
    "printf '#!/bin/sh\\necho $0\\n' > s; chmod +x s; ./s",
    'cd /usr; bin/printenv HOME',
    '../missing',
    // bash waits for a program that is not at the very end.
    "sh -c 'kill -9 $$'\n# c",
    "sh -c 'kill -9 $$'\n\n",
    "true & sh -c 'kill -9 $$'",
    'set -m; ls',
    'echo > empty; chmod +x empty; ./empty',
    'shopt -s execfail; /etc/passwd $(echo side >&2)',
    "gti 'a\nb'",
    'declare -p; ls',
    'export -p; ls',
    'export PATH=/bin; ls',
    'set -r; ls',
    'echo $(if)',
    'echo $LINENO',
    'A=b sh -c "echo \\$A; kill -9 \\$\\$"',
    'for i in 1 2; do echo $i; done',
    'cat <<< "x"',
    'sleep 0 & wait; echo $?',
    '(exit 4)',
    'time true 2>/dev/null; echo $?',
    '! true',
    '',
  ])('where it could notice the difference: %j', async (command) => {
    const shells = createShells();
    const { isPrestarted, said } = await shells.runPrestarted(command);
    const [code, signal, out, error] = runPlain(command, shells.directory);
    expect([isPrestarted, said[0], said[1], plain(said[2]), plain(said[3])]).toEqual([
      false,
      code,
      signal,
      out,
      error,
    ]);
  });

  test.each<[string, Partial<LaunchPermit & LaunchIo>]>([
    ['another variable', { environment: { ...ENVIRONMENT, OTHER: '1' } }],
    ['one variable less', { environment: { PATH: '/usr/bin:/bin' } }],
    ['another directory', { directory: '/' }],
    ['other limits', { limits: { fileBytes: 1 << 20 } }],
    ['one stream', { streams: ['combined'] }],
    ['no stderr', { streams: ['stdout'] }],
    ['input', { inputData: 'given' }],
    ['a report', { keepsState: true }],
    ['a variable that bash obeys', { environment: { ...ENVIRONMENT, BASH_ENV: '/dev/null' } }],
    ['a variable that ends what waits', { environment: { ...ENVIRONMENT, TMOUT: '900' } }],
    ['a relative directory of programs', { environment: { ...ENVIRONMENT, PATH: '/usr/bin:/bin:.' } }],
    [
      'the directory itself among those of programs',
      { environment: { ...ENVIRONMENT, PATH: '/usr/bin::/bin' } },
    ],
    ['an exported function', { environment: { ...ENVIRONMENT, 'BASH_FUNC_echo%%': '() { :; }' } }],
    ['another shell', { argv: shellArgv('/bin/sh', 'echo hi') }],
    ['a list to decide, without a sandbox', { hasLists: true }],
  ])('where it wants %s', async (_, changes) => {
    const shells = createShells();
    await shells.runPrestarted('echo hi');
    await shells.untilWaiting(1);
    expect((await shells.run('echo hi', changes)).isPrestarted).toBe(false);
  });

  test('where its directory was exchanged', async () => {
    const shells = createShells();
    const directory = join(shells.directory, 'work');
    mkdirSync(directory);
    expect((await shells.runPrestarted('pwd', { directory })).isPrestarted).toBe(true);
    await shells.untilWaiting(1);
    renameSync(directory, `${directory}.old`);
    mkdirSync(directory);
    const { isPrestarted, said } = await shells.run('echo x > here; ls ../work.old | wc -l', { directory });
    expect([isPrestarted, said[2]]).toEqual([false, '0\n']);
  });

  test('where the one that waited was killed', async () => {
    const shells = createShells();
    await shells.runPrestarted('true');
    await shells.untilWaiting(1);
    for (const pid of shells.pids().filter(exists)) process.kill(pid, 'SIGKILL');
    await expect.poll(() => shells.pids().filter(exists)).toEqual([]);
    expect((await shells.run('echo hi')).said).toEqual([0, undefined, 'hi\n', '']);
  });
});

test('after a row of commands one shell stays', async () => {
  const shells = createShells();
  await shells.runPrestarted('true');
  await shells.untilWaiting(2);
  await expect.poll(() => shells.pids().filter(exists)).toHaveLength(1);
  const { isPrestarted } = await shells.run('true');
  expect(isPrestarted).toBe(true);
});

test('what a waiting shell starts is found by the marker that it has', async () => {
  const shells = createShells();
  const { isPrestarted, marker, said } = await shells.runPrestarted('env | grep ^MCP_; env | grep ^MCP_');
  expect([isPrestarted, said[2]]).toEqual([true, `${marker}\n${marker}\n`]);
  expect(marker).not.toBe('MCP_SHELL_EXECUTION=own');
});

test('a waiting shell has no descriptor that a plain one has not', async () => {
  const shells = createShells();
  const list =
    "bash -c 'for n in 3 4 5 6 7 8 9 10 63 64 65 250 255; do { : >&$n; } 2>&- && echo x$n; done; echo done'";
  const { isPrestarted, said } = await shells.runPrestarted(list);
  expect([isPrestarted, plain(said[2])]).toEqual([true, runPlain(list, shells.directory)[2]]);
});

test('a report of the shell is the same', async () => {
  const shells = createShells();
  const command = 'cd /; export NEW=1; sh -c "exit 3" | true';
  const argv = shellArgv(BASH, withReport(BASH, command, { state: true, statuses: true }) ?? '');
  const first = await shells.run(command, { keepsState: true, argv });
  await shells.untilWaiting(1);
  const second = await shells.run(command, { keepsState: true, argv });
  const withoutMarker = ({ state, marker }: Ran): string => state.replace(marker, '');
  expect([first.isPrestarted, second.isPrestarted]).toEqual([false, true]);
  expect(withoutMarker(first)).toMatch(/^\|3\|0\0\/\0[^]*NEW=1\0[^]*mcp-shell-state-end\0$/);
  expect(withoutMarker(second)).toBe(withoutMarker(first));
});

test.each(['', 'touch made', 'touch made; '])(
  'a shell whose server ends before the last byte of its command runs nothing of %j',
  async (text) => {
    const shells = createShells();
    const { child, handoffFd, capture, group } = await shells.start();
    writeSync(handoffFd, text);
    closeSync(handoffFd);
    expect([(await child.exited).code, existsSync(join(shells.directory, 'made'))]).toEqual([126, false]);
    capture.close();
    group?.remove();
  },
);

/** What this process has started, and they. */
function ownProcesses() {
  const own = findProcess(process.pid);
  return (own && listDescendants([own])) ?? [];
}

const waitingShells = () =>
  ownProcesses().filter(({ pid }) =>
    (attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')) ?? '').includes('BASH_EXECUTION_STRING'),
  );

test.each([{ environment: { ONCE: 'meant-for-one' } }, { sessionId: 's' }])(
  'no shell without a sandbox waits with variables of %o',
  async (request) => {
    await using world = createWorld();
    await world.run('export ONCE=meant-for-one', request);
    await world.run('true', request);
    // One is there for commands without any, so that another would be there by now too.
    await world.run('true');
    await expect.poll(() => waitingShells().length).toBeGreaterThan(0);
    const holding = ownProcesses().filter(({ pid }) => hasEnvironmentEntry(pid, 'ONCE=meant-for-one'));
    expect(holding.map(({ name }) => name)).toEqual([]);
  },
);
