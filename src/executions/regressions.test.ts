/** Each of these was a way to lose a process, a record or the server; named after what went wrong. */
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createWorld, outcomeOf, untilPrinted } from '../../test/support/world.ts';
import { maskText } from '../security/security.ts';
import { findProcess } from './process-table.ts';
import { createTree } from './tree.ts';

const isGone = (pid: number): boolean => findProcess(pid)?.isZombie ?? true;

test('an escaped child of a shell that ended at once is ended, however early it was forked', async () => {
  await using world = createWorld();
  const commands = [
    '(setsid sleep 888 > /dev/null 2>&1 & echo $! > pid-N); sleep 0.1; exit 0',
    'setsid sleep 888 > /dev/null 2>&1 & echo $! > pid-N; exit 0',
  ];
  for (let n = 0; n < 20; n++) {
    const { outcome } = await world.run((commands[n % 2] ?? '').replaceAll('pid-N', `pid-${n}`));
    const pid = Number(readFileSync(join(world.settings.defaultWorkdir, `pid-${n}`), 'utf8'));
    expect(outcome.endedLeftovers.length, `round ${n}`).toBeGreaterThan(0);
    expect(isGone(pid), `round ${n}`).toBe(true);
  }
});

test('a group that has the number of a leader long dead is nobody’s', async () => {
  // A daemon whose own leader is gone keeps the leader's number as its group.
  const shell = spawn('sh', ['-c', 'sleep 300 & echo $!'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const pid = Number(
    await new Promise((resolve) => shell.stdout.once('data', (chunk) => resolve(String(chunk)))),
  );
  await new Promise((resolve) => shell.once('exit', resolve));
  try {
    const leader = { pid: shell.pid ?? 0, startTime: 1 };
    const tree = createTree({ leader, marker: 'MCP_SHELL_EXECUTION=none', group: undefined });
    expect(tree.members()).toEqual([]);
    expect(isGone(pid)).toBe(false);
  } finally {
    process.kill(pid, 'SIGKILL');
  }
});

test('an exit is an exit though a time limit passes while its left-overs are ended', async () => {
  await using world = createWorld();
  const stubborn = `(trap '' TERM; sleep 5) & sleep 0.8; exit 0`;
  const { outcome } = await world.run(stubborn, { timeoutMs: 1000 });
  expect(outcome).toMatchObject({ status: 'completed', reason: 'exit', exitCode: 0 });
});

test('USR1 does not make an end of its own an end on request', async () => {
  await using world = createWorld();
  const execution = await world.start(`trap : USR1; echo up; for i in 1 2 3 4; do sleep 0.1; done; exit 0`);
  await untilPrinted(execution, 'up');
  await execution.live?.request('SIGUSR1', 'leader', 3000);
  expect(await outcomeOf(execution)).toMatchObject({ status: 'completed', reason: 'exit' });
});

test('a directory that vanishes while a session moves into it does not end the server', async () => {
  await using world = createWorld();
  const work = world.settings.defaultWorkdir;
  mkdirSync(join(work, 'p/q'), { recursive: true });
  let isAway = false;
  const flipping = setInterval(() => {
    renameSync(join(work, isAway ? 'away' : 'p'), join(work, isAway ? 'p' : 'away'));
    isAway = !isAway;
  }, 1);
  try {
    for (let n = 0; n < 40; n++) {
      const { outcome } = await world.run('cd p/q', { sessionId: `s${n % 4}`, workingDirectory: work });
      expect(outcome.reason).toBe('exit');
    }
  } finally {
    clearInterval(flipping);
  }
});

test('thousands of exported variables are carried as far as a caller could send them', async () => {
  await using world = createWorld();
  const { execution } = await world.run('for i in $(seq 3000); do export V$i=$i; done', { sessionId: 's' });
  const change = execution.sessionChange;
  if (change === undefined || change === 'nothing') throw new Error('nothing was carried');
  expect(change.set).toHaveLength(1000);
  expect(change.notCarried).toHaveLength(2000);
});

test('masking takes four times as long for four times the text', () => {
  const cpuMs = (text: string): number => {
    const before = process.cpuUsage();
    maskText(text);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  // The least of several: what else the process and the machine do only adds.
  const least = (text: string): number => Math.min(...Array.from({ length: 4 }, () => cpuMs(text)));
  for (const text of [
    'token'.repeat(6_000),
    'eyJaaaaaaaa-'.repeat(2_500),
    '://a:'.repeat(6_000),
    'curl -u '.repeat(4_000),
    `curl ${"-uuuuuuu'a:".repeat(3_000)}`,
    `mysql ${'"-p'.repeat(10_000)}`,
    'sshpass -P "'.repeat(3_000),
    '"token\\":"'.repeat(3_000),
    "password':'".repeat(3_000),
  ]) {
    // Sixteen times as long where each place is compared with all others; below a few milliseconds all is noise.
    expect(least(text.repeat(4))).toBeLessThan(Math.max(8 * least(text), 100));
  }
});

test('a start that is cancelled leaves nothing behind', async () => {
  await using world = createWorld();
  for (const mode of ['background', 'detached'] as const) {
    const cancel = new AbortController();
    const starting = world.start(`echo $$ > pid-${mode}; sleep 300`, { mode }, cancel.signal);
    cancel.abort(new Error('cancelled'));
    await expect(starting).rejects.toThrow('cancelled');
    const path = join(world.settings.defaultWorkdir, `pid-${mode}`);
    expect(!existsSync(path) || isGone(Number(readFileSync(path, 'utf8')))).toBe(true);
  }
  expect((await world.executions.list('local')).filter(({ status }) => status === 'running')).toEqual([]);
});

test('a shutdown waits for what is being started, and starts nothing more', async () => {
  const world = createWorld();
  await world.run('true');
  const starting = world.start('echo $$ > pid; sleep 300', { mode: 'background' });
  await world.executions.dispose();
  const execution = await starting;
  expect(execution.record.outcome).toMatchObject({ reason: 'server_shutdown' });
  await expect(world.start('true')).rejects.toMatchObject({ code: 'SYSTEM_002' });
  await world[Symbol.asyncDispose]();
});

test('run/ does not grow with every restart while something detached goes on', async () => {
  const first = createWorld();
  const { directory } = first;
  const execution = await first.start('sleep 300', { mode: 'detached' });
  const { id } = execution.record;
  await first.executions.dispose();
  for (let restart = 0; restart < 3; restart++) {
    const next = createWorld({ directory });
    expect((await next.executions.get('local', id)).record.outcome).toBeUndefined();
    await next.executions.dispose();
  }
  const last = createWorld({ directory });
  await last.executions.ready();
  const run = join(last.settings.stateDir, 'run');
  expect(readdirSync(run)).toHaveLength(1);
  expect(
    readdirSync(join(run, readdirSync(run)[0] ?? '')).filter((name) => name.startsWith('inst_')),
  ).toEqual([]);
  const again = await last.executions.get('local', id);
  await again.live?.end('terminated', 'SIGKILL');
  await outcomeOf(again);
  await last[Symbol.asyncDispose]();
  await first[Symbol.asyncDispose]();
});

test('a variable that is too large to be reported leaves the session as it was', async () => {
  await using world = createWorld();
  await world.run('export KEPT=yes', { sessionId: 's' });
  const { execution } = await world.run('export BIG=$(head -c 300000 /dev/zero | tr "\\0" x)', {
    sessionId: 's',
  });
  expect(execution.sessionChange).toBe('nothing');
  expect((await world.run('echo "$KEPT $HOME" | wc -w', { sessionId: 's' })).stdout.trim()).toBe('2');
});

test('what begins with a dash is a command, not an option of the shell', async () => {
  for (const shell of ['/bin/bash', '/bin/sh']) {
    await using world = createWorld({ settings: { shell } });
    const { outcome, stderr } = await world.run('-x foo');
    expect({ exitCode: outcome.exitCode, isNotFound: stderr.includes('not found') }).toEqual({
      exitCode: 127,
      isNotFound: true,
    });
  }
});

test('an empty PATH of the server keeps no command from running', async () => {
  await using world = createWorld({ settings: { environment: { PATH: '' } } });
  expect((await world.run('echo hi')).stdout).toBe('hi\n');
});

test('an execution that ended holds on to nothing of its process', async () => {
  await using world = createWorld();
  const references: WeakRef<object>[] = [];
  for (let n = 0; n < 5; n++) {
    const execution = await world.start('echo hi');
    if (execution.live !== undefined) references.push(new WeakRef(execution.live));
    await outcomeOf(execution);
  }
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  await expect
    .poll(() => {
      collect();
      return references.filter((reference) => reference.deref() !== undefined).length;
    })
    .toBeLessThanOrEqual(1);
});

test('an environment entry that execve would refuse is refused with a reason', async () => {
  await using world = createWorld();
  const environment = { [`N${'a'.repeat(12 * 1024)}`]: 'x'.repeat(119 * 1024) };
  await expect(world.start('true', { environment })).rejects.toMatchObject({ code: 'PARAM_002' });
});

test('one output that cannot be looked at does not keep the others from being collected', async () => {
  await using world = createWorld({
    settings: { retention: { maxAgeHours: 1000, maxTotalBytes: 1e9, maxCount: 1 } },
  });
  for (let n = 0; n < 3; n++) await world.run('head -c 20000 /dev/zero');
  const executions = join(world.settings.stateDir, 'executions');
  const spoilt = readdirSync(executions).find((name) => name.startsWith('exec_')) ?? '';
  execFileSync('rm', ['-r', join(executions, spoilt, 'stdout')]);
  mkdirSync(join(executions, spoilt, 'stdout'));
  writeFileSync(join(executions, spoilt, 'stdout', 'x'), '');
  chmodSync(join(executions, spoilt), 0o700);
  await expect(world.outputs.collect()).resolves.toBeInstanceOf(Array);
});
