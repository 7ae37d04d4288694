import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { needs } from '../../test/setup/needs.ts';
import { bwrapOptions } from '../security/sandbox/bwrap.ts';
import { type BubblewrapWall, WALL_FILE } from '../security/sandbox/profile.ts';
import { createHost, type Host, type HostChanges } from '../security/sandbox/sandbox.fixture.ts';
import { buildSeccompFilter } from '../security/sandbox/seccomp.ts';
import {
  checkMounts,
  createGate,
  type Gate,
  NOT_SET_UP,
  OUTER_ENVIRONMENT,
  startBehind,
  untilEmpty,
  WallFailed,
} from './gate.ts';
import { createPipes } from './pipes.ts';
import { sendSignal } from './tree.ts';

const BWRAP = '/usr/bin/bwrap';
const NOBODY = { pid: 2 ** 22 + 1, startTime: 0 };

function wallOf(host: Host, changes: HostChanges = {}, seccomp?: Uint8Array): BubblewrapWall {
  const profile = host.profile({ isRoot: process.getuid?.() === 0, ...changes });
  return {
    kind: 'bubblewrap',
    program: BWRAP,
    options: bwrapOptions(profile, {
      features: { disablesUserns: false },
      hasSeccomp: seccomp !== undefined,
    }),
    seccomp: seccomp === undefined ? undefined : Buffer.from(seccomp).toString('base64'),
    pinned: profile.pinned,
    watched: [],
  };
}

interface Started {
  readonly child: ChildProcess;
  readonly gate: Gate;
  readonly ended: Promise<{ code: number | null; signal: string | null; stdout: string; stderr: string }>;
}

const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
});

async function startIn(
  host: Host,
  wall: BubblewrapWall,
  script: string,
  environment: Record<string, string> = { PATH: '/usr/bin:/bin' },
): Promise<Started> {
  const pipes = createPipes(join(host.root, 'pipes'), 2);
  const block = await pipes.takeOwn();
  const command = { argv: ['/bin/bash', '-c', script], directory: host.workspace };
  const start = startBehind(wall, command, block);
  const [file = '', ...args] = start.argv;
  const child = spawn(file, args, {
    cwd: '/',
    env: { ...OUTER_ENVIRONMENT },
    stdio: ['ignore', 'pipe', 'pipe', 'ignore', ...start.stdio],
    detached: true,
  });
  running.add(child);
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = once(child, 'close').then(([code, signal]: unknown[]) => {
    running.delete(child);
    return { code: code as number | null, signal: signal as string | null, stdout, stderr };
  });
  return { child, gate: createGate(child, wall, environment, block), ended };
}

/** Lets it run to its end. */
async function run(host: Host, wall: BubblewrapWall, script: string, environment?: Record<string, string>) {
  const { gate, ended } = await startIn(host, wall, script, environment);
  gate.open();
  return ended;
}

const environmentOf = (pid: number): string[] =>
  readFileSync(`/proc/${pid}/environ`, 'utf8')
    .split('\0')
    .filter((entry) => entry !== '');

describe('what is started instead of a command', () => {
  const command = { argv: ['/bin/sh', '-c', 'echo "$1"', '--', '--bind'], directory: '/proj' };

  test('is bwrap with nothing but the command in its own words', () => {
    const wall = {
      kind: 'bubblewrap',
      program: BWRAP,
      options: ['--secret'],
      pinned: [],
      watched: [],
    } as const;
    expect(startBehind({ ...wall, seccomp: 'AA==' }, command, 9)).toEqual({
      argv: [BWRAP, '--args', '4', '--chdir', '/proj', '--', ...command.argv],
      stdio: ['pipe', 'pipe', 'pipe', 9],
    });
    expect(startBehind({ ...wall, seccomp: undefined }, command).stdio).toEqual([
      'pipe',
      'ignore',
      'pipe',
      'ignore',
    ]);
  });

  test('has a descriptor more where bwrap says when all is mounted', () => {
    const wall = {
      kind: 'bubblewrap',
      program: BWRAP,
      options: ['--file', '8', WALL_FILE],
      seccomp: 'AA==',
      pinned: [],
      watched: [],
    } as const;
    expect(startBehind(wall, command, 9).stdio).toEqual(['pipe', 'pipe', 'pipe', 9, 'pipe']);
  });

  test('is sandbox-exec with its profile on macOS', () => {
    const wall = { kind: 'seatbelt', program: '/usr/bin/sandbox-exec', profile: '(version 1)' } as const;
    expect(startBehind(wall, command)).toEqual({
      argv: ['/usr/bin/sandbox-exec', '-p', '(version 1)', ...command.argv],
      stdio: [],
    });
  });
});

describe.skipIf(needs('bwrap'))('behind the gate', () => {
  test('nothing of the command has run before it is opened', async () => {
    const host = createHost();
    const wall = wallOf(host);
    const { gate, ended } = await startIn(host, wall, 'echo ran > here; echo said');
    const init = await gate.entered;
    expect(init?.pid).toBeGreaterThan(1);
    await checkMounts(init ?? NOBODY, gate, wall);
    expect(existsSync(join(host.workspace, 'here'))).toBe(false);
    gate.open();
    expect(await ended).toEqual({ code: 0, signal: null, stdout: 'said\n', stderr: '' });
    expect(readFileSync(join(host.workspace, 'here'), 'utf8')).toBe('ran\n');
    expect(await gate.hasRun).toBe(true);
  });

  test('whoever goes away without opening it does not open it', async () => {
    const host = createHost();
    const { child, gate, ended } = await startIn(host, wallOf(host), 'echo ran > here');
    const init = await gate.entered;
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await gate.hasRun).toBe(false);
    // Whoever is left behind waits for ever, and is found and ended by its marker.
    if (init !== undefined) sendSignal(init, 'SIGKILL');
    await ended;
    expect(existsSync(join(host.workspace, 'here'))).toBe(false);
  });

  test('the command’s variables reach the command, and no program outside', async () => {
    const host = createHost();
    const environment = {
      PATH: '/usr/bin:/bin',
      LD_LIBRARY_PATH: host.workspace,
      LD_PRELOAD_NOT: 'x',
      NODE_OPTIONS: '--require=./evil.js',
      API_TOKEN: 'hunter22',
    };
    const { child, gate, ended } = await startIn(
      host,
      wallOf(host),
      'export -p; read -r line < go',
      environment,
    );
    host.write('home/project/go', 'on\n');
    const init = await gate.entered;
    for (const pid of [child.pid ?? 0, init?.pid ?? 0]) {
      expect(environmentOf(pid)).toEqual(['PATH=/usr/bin:/bin']);
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      expect(words).not.toContain('hunter22');
      expect(words).not.toContain('--ro-bind');
    }
    gate.open();
    const { stdout } = await ended;
    for (const [name, value] of Object.entries(environment)) expect(stdout).toContain(`${name}="${value}"`);
  });

  test('variables arrive as they are, whatever is in them, and no others', async () => {
    const host = createHost();
    const environment = {
      EMPTY: '',
      LINES: 'a\nb\n',
      OPTION: '--bind',
      EQUALS: 'a=b=c',
      QUOTES: `'"$(id)\``,
      LETTERS: 'äöü…',
      LONG: 'x'.repeat(100_000),
    };
    const { stdout } = await run(host, wallOf(host), 'cat /proc/self/environ', environment);
    const found = Object.fromEntries(
      stdout
        .split('\0')
        .filter((entry) => entry !== '')
        .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
    );
    // PWD is bwrap's, the rest bash's own.
    const { PWD, SHLVL: _level, _: _last, ...rest } = found;
    expect(PWD).toBe(host.workspace);
    expect(rest).toEqual(environment);
  });

  test('the command has no descriptor of the wall', async () => {
    const host = createHost();
    const { stdout } = await run(
      host,
      wallOf(host, {}, filter()),
      'echo /proc/self/fd/*; exec ls -l /proc/self/fd',
    );
    expect(stdout).not.toMatch(/ (?:[4-9]|\d\d) -> (?!\/proc)/);
  });

  test.for([
    ['exit 0', 0],
    ['exit 3', 3],
    ['exit 255', 255],
    ['kill -TERM $$', 143],
    ['kill -KILL $$', 137],
    ['no-such-command', 127],
  ] as const)('%s ends in %s', async ([script, code]) => {
    const host = createHost();
    const { gate, ended } = await startIn(host, wallOf(host), script);
    gate.open();
    expect(await ended).toMatchObject({ code, signal: null });
    expect(await gate.hasRun).toBe(true);
  });

  test('the filter is in force', async () => {
    const host = createHost();
    const { stdout } = await run(
      host,
      wallOf(host, {}, filter()),
      'grep -E "^(Seccomp|NoNewPrivs):" /proc/self/status',
    );
    expect(stdout).toMatch(/NoNewPrivs:\t1\nSeccomp:\t2\n/);
  });
});

/** What is tested is that it gets there; what is in it has tests of its own. */
function filter(): Uint8Array {
  const built = buildSeccompFilter(process.arch, { allowsPtrace: false });
  if (built === undefined) throw new Error('there is no filter for this processor');
  return built;
}

describe.skipIf(needs('bwrap'))('a wall that cannot be set up', () => {
  const broken = (wall: BubblewrapWall): BubblewrapWall => ({
    ...wall,
    options: ['--ro-bind', '/no/such/source', '/x', ...wall.options],
  });

  test('is told by bwrap, and nothing has run', async () => {
    const host = createHost();
    const { gate, ended } = await startIn(host, broken(wallOf(host)), 'echo ran > here');
    gate.open();
    const { code, stderr } = await ended;
    expect(code).toBe(1);
    expect(stderr).toContain("bwrap: Can't find source path /no/such/source");
    expect(await gate.hasRun).toBe(false);
    expect(existsSync(join(host.workspace, 'here'))).toBe(false);
  });

  test('is a failure to whoever waits for its mounts', async () => {
    const host = createHost();
    const wall = broken(wallOf(host));
    const { gate, ended } = await startIn(host, wall, 'true');
    const init = await gate.entered;
    await ended;
    const failure = checkMounts(init ?? NOBODY, gate, wall);
    await expect(failure).rejects.toThrow(WallFailed);
    // By this a terminal is opened once more, whose host knows no classes of errors.
    await expect(failure).rejects.toMatchObject({ details: { sandbox: NOT_SET_UP } });
  });

  test('is one where bwrap never comes so far', async () => {
    const never = new Promise<void>(() => undefined);
    await expect(checkMounts(NOBODY, { mounted: never }, wallOf(createHost()), 20)).rejects.toMatchObject({
      code: 'EXECUTION_001',
      message: 'Nothing was run: the sandbox was not set up in time.',
    });
  });

  test('because of a word that is no option ends before there is a process', async () => {
    const host = createHost();
    const wall = wallOf(host);
    const { gate, ended } = await startIn(
      host,
      { ...wall, options: ['--no-such-option', ...wall.options] },
      'true',
    );
    expect(await gate.entered).toBeUndefined();
    expect(await gate.hasRun).toBe(false);
    expect((await ended).code).toBe(1);
    await untilEmpty(gate);
  });
});

describe.skipIf(needs('bwrap'))('mounts that are compared', () => {
  test('are as they should be where nobody meddled', async () => {
    const host = createHost();
    host.makeRepository('home/project');
    host.write('home/.ssh/id');
    const wall = wallOf(host, { ownPaths: [host.state] });
    expect(wall.pinned.length).toBeGreaterThan(3);
    const { gate, ended } = await startIn(host, wall, 'true');
    const init = await gate.entered;
    await expect(checkMounts(init ?? NOBODY, gate, wall)).resolves.toBeUndefined();
    gate.open();
    expect(await ended).toMatchObject({ code: 0 });
  });

  test.for(['.git/hooks', '.git'])('show that %s was exchanged for a link', async (name) => {
    const host = createHost();
    host.makeRepository('home/project');
    host.write('home/project/evil/config');
    host.makeDirectory('home/project/evil/hooks');
    const wall = wallOf(host, { ownPaths: [host.state] });
    const path = join(host.workspace, name);
    renameSync(path, join(host.workspace, 'away'));
    // Relative, since bwrap cannot follow others.
    symlinkSync(name === '.git' ? 'evil' : '../evil/hooks', path);
    const { gate, ended } = await startIn(host, wall, 'echo ran > here');
    const init = await gate.entered;
    await expect(checkMounts(init ?? NOBODY, gate, wall)).rejects.toMatchObject({
      code: 'SECURITY_003',
      details: { path },
      message: `Nothing was run: ${path} was changed by another command while the sandbox was set up.`,
    });
    if (init !== undefined) sendSignal(init, 'SIGKILL');
    await ended;
    expect(existsSync(join(host.workspace, 'here'))).toBe(false);
  });

  test('show that a directory on the way to the server’s own was exchanged', async () => {
    const host = createHost();
    const state = host.makeDirectory('home/project/a/state');
    host.makeDirectory('home/project/b/state');
    const wall = wallOf(host, { ownPaths: [state, host.state] });
    renameSync(join(host.workspace, 'a'), join(host.workspace, 'away'));
    symlinkSync('b', join(host.workspace, 'a'));
    const { gate, ended } = await startIn(host, wall, 'true');
    const init = await gate.entered;
    await expect(checkMounts(init ?? NOBODY, gate, wall)).rejects.toMatchObject({
      code: 'SECURITY_003',
    });
    if (init !== undefined) sendSignal(init, 'SIGKILL');
    await ended;
  });
});
