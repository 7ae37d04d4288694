import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildSync } from 'esbuild';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { storedExecution } from '../../test/support/stored.ts';
import { createWorld, outcomeOf, textOf, type World } from '../../test/support/world.ts';
import { ticks } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { findProcess, isAlive } from './process-table.ts';
import { durationOf, spanOf } from './record.ts';

/** Lets a command wait until a test says so. */
const UNTIL_GO = 'while [ ! -e go ]; do sleep 0.05; done';

let directory = '';
let victims: Victim[] = [];
let program = '';

beforeAll(() => {
  const source = new URL('../../test/fixtures/victim.ts', import.meta.url).pathname;
  // Beside its source, so that packages are found from there.
  program = join(dirname(source), `.run-ts-${process.pid}.mjs`);
  buildSync({
    entryPoints: [source],
    outfile: program,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    define: { __VERSION__: JSON.stringify(__VERSION__) },
  });
});
afterAll(() => rmSync(program, { force: true }));

beforeEach(() => {
  directory = mkdtempSync(join(realpathSync(tmpdir()), 'survival-'));
  victims = [];
});
afterEach(async () => {
  for (const victim of victims) await victim.kill();
  rmSync(directory, { recursive: true, force: true });
});

interface Victim {
  readonly ids: string[];
  kill(): Promise<void>;
}

/** Another server on the same state directory, in a process of its own, which can be killed like one. */
async function startVictim(commands: { command: string; mode: string }[]): Promise<Victim> {
  const child = spawn(process.execPath, [program, directory, JSON.stringify(commands)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  await expect.poll(() => text.includes('\n')).toBe(true);
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const victim: Victim = {
    ids: JSON.parse(text) as string[],
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
  victims.push(victim);
  return victim;
}

const inWorkdir = (world: World, name: string): string => join(world.settings.defaultWorkdir, name);

describe('a detached execution', () => {
  test('survives kill -9 of its server, and the next one tells its state, exit code and complete output', async () => {
    const victim = await startVictim([
      { command: `echo early; ${UNTIL_GO}; seq 1 20000; echo oops >&2; exit 5`, mode: 'detached' },
      { command: 'echo quick; exit 3', mode: 'detached' },
    ]);
    await sleep(300);
    await victim.kill();
    await using world = createWorld({ directory });
    const [slow = '', quick = ''] = victim.ids;
    const running = await world.executions.get('local', slow);
    expect(running.record.outcome).toBeUndefined();
    await expect.poll(() => textOf(running, 'stdout')).toBe('early\n');
    expect(running.usage()?.processes).toBeGreaterThanOrEqual(1);
    writeFileSync(inWorkdir(world, 'go'), '');
    expect(await outcomeOf(running)).toMatchObject({
      status: 'failed',
      reason: 'exit',
      exitCode: 5,
      survivors: [],
    });
    expect(textOf(running, 'stdout')).toHaveLength('early\n'.length + 108_894);
    expect(textOf(running, 'stderr')).toBe('oops\n');
    const ended = await world.executions.waitFor('local', quick, 10_000, new AbortController().signal);
    expect(ended.record.outcome).toMatchObject({ status: 'failed', exitCode: 3 });
    expect(textOf(ended, 'stdout')).toBe('quick\n');
  });

  test('that failed without a server is explained by the next', async () => {
    const victim = await startVictim([{ command: `${UNTIL_GO}; no-such-program`, mode: 'detached' }]);
    const id = victim.ids[0] ?? '';
    await victim.kill();
    writeFileSync(join(directory, 'work', 'go'), '');
    const left = join(directory, 'state', 'executions', id, 'outcome.json');
    await expect.poll(() => existsSync(left), { timeout: 20_000 }).toBe(true);
    await using world = createWorld({ directory });
    const { record } = await world.executions.get('local', id);
    expect(record.outcome).toMatchObject({
      exitCode: 127,
      securityEvent: 'command_not_found',
      explanation: expect.stringMatching(/^no-such-program is not installed, or not on PATH\./),
    });
  });

  test('goes on after a clean end of its server, and can be ended by the next', async () => {
    const first = createWorld({ directory });
    const execution = await first.start(`trap 'exit 6' TERM; echo up; while :; do sleep 0.1; done`, {
      mode: 'detached',
    });
    const { id } = execution.record;
    await expect.poll(() => textOf(execution, 'stdout')).toBe('up\n');
    await first[Symbol.asyncDispose]();
    await using second = createWorld({ directory });
    const again = await second.executions.get('local', id);
    expect(await again.live?.request('SIGTERM', 'tree', 5000)).toBe(true);
    expect(again.record.outcome).toMatchObject({ status: 'failed', reason: 'terminated', exitCode: 6 });
  });

  test('keeps its time limit without a server', async () => {
    const victim = await startVictim([{ command: 'sleep 100', mode: 'detached:1500' }]);
    await victim.kill();
    await sleep(1500);
    await using world = createWorld({ directory });
    const id = victim.ids[0] ?? '';
    const { record } = await world.executions.waitFor('local', id, 10_000, new AbortController().signal);
    expect(record.outcome).toMatchObject({ status: 'timeout', reason: 'timeout' });
  });

  test('whose wrapper was killed as well is lost, and says so', async () => {
    const victim = await startVictim([{ command: 'sleep 100', mode: 'detached' }]);
    await victim.kill();
    const { process: known } = await storedExecution(join(directory, 'state'), victim.ids[0] ?? '');
    const wrapper = known?.wrapper?.pid ?? 0;
    process.kill(wrapper, 'SIGKILL');
    await expect.poll(() => findProcess(wrapper)?.isZombie ?? true).toBe(true);
    await using world = createWorld({ directory });
    const found = await world.executions.get('local', victim.ids[0] ?? '');
    expect(found.record.outcome).toMatchObject({ status: 'failed', reason: 'server_lost' });
    expect(findProcess(known?.pid ?? 0)?.isZombie ?? true).toBe(true);
  });

  test('whose wrapper was killed while its server lives is ended, not left to itself', async () => {
    await using world = createWorld({ directory });
    const execution = await world.start('echo hi; sleep 300', { mode: 'detached' });
    const { process: about } = execution.record;
    process.kill(about?.wrapper?.pid ?? 0, 'SIGKILL');
    expect(await outcomeOf(execution)).toMatchObject({
      status: 'failed',
      reason: 'server_lost',
      survivors: [],
    });
    expect(about !== undefined && isAlive(about)).toBe(false);
  });

  test('gets its stdin and its directory', async () => {
    await using world = createWorld({ directory });
    const { stdout, outcome } = await world.run('cat /dev/stdin; pwd', {
      mode: 'detached',
      inputData: 'in\n',
    });
    expect({ stdout, status: outcome.status }).toEqual({
      stdout: `in\n${world.settings.defaultWorkdir}\n`,
      status: 'completed',
    });
  });
});

describe('background work of a killed server', () => {
  test('is found and ended by the next one, and its output is kept', async () => {
    const command =
      'echo before; echo $$ > pid; setsid sh -c "echo \\$\\$ > pid2; exec sleep 300" & sleep 300';
    const victim = await startVictim([{ command, mode: 'background' }]);
    const world0 = { settings: { defaultWorkdir: join(directory, 'work') } } as World;
    await expect.poll(() => existsSync(inWorkdir(world0, 'pid2'))).toBe(true);
    await sleep(200);
    await victim.kill();
    await using world = createWorld({ directory });
    const found = await world.executions.get('local', victim.ids[0] ?? '');
    expect(found.record.outcome).toMatchObject({ status: 'failed', reason: 'server_lost', survivors: [] });
    expect(textOf(found, 'stdout')).toBe('before\n');
    for (const name of ['pid', 'pid2']) {
      const pid = Number(readFileSync(inWorkdir(world, name), 'utf8'));
      expect(findProcess(pid)?.isZombie ?? true).toBe(true);
    }
  });

  test.each([
    ['forward', 7_200_000],
    ['back', -7_200_000],
  ])('took no longer and did not end before it began, though the clock was set %s', async (_, stepMs) => {
    const began = ticks();
    const victim = await startVictim([{ command: 'sleep 300', mode: 'background' }]);
    await sleep(200);
    await victim.kill();
    await using world = createWorld({ directory, clock: { now: () => Date.now() + stepMs } });
    const { record } = await world.executions.get('local', victim.ids[0] ?? '');
    const durationMs = durationOf(spanOf(record), 0);
    expect(record.outcome).toMatchObject({ reason: 'server_lost', durationMs });
    expect(durationMs).toBeGreaterThanOrEqual(200);
    expect(durationMs).toBeLessThanOrEqual(ticks() - began);
    expect(record.outcome?.endedAtMs).toBeGreaterThanOrEqual(record.createdAtMs);
  });

  test('of a server that is alive is left alone, and can be looked at', async () => {
    const victim = await startVictim([{ command: 'echo hi; sleep 300', mode: 'background' }]);
    await using world = createWorld({ directory });
    await expect
      .poll(async () => {
        const { record } = await world.executions.get('local', victim.ids[0] ?? '');
        return record.outcome === undefined && record.process !== undefined && isAlive(record.process);
      })
      .toBe(true);
    await victim.kill();
    await using third = createWorld({ directory });
    expect((await third.executions.get('local', victim.ids[0] ?? '')).record.outcome).toMatchObject({
      reason: 'server_lost',
    });
  });
});

test('a server sees what another on the same directory starts and ends, and can wait for it', async () => {
  await using a = createWorld({ directory });
  await using b = createWorld({ directory });
  await b.executions.ready();
  await sleep(1100);
  const execution = await a.start(`${UNTIL_GO}; echo done`, { mode: 'background' });
  const { id } = execution.record;
  expect(await b.executions.list('local')).toMatchObject([{ id, status: 'running' }]);
  const never = new AbortController().signal;
  expect((await b.executions.waitFor('local', id, 100, never)).record.outcome).toBeUndefined();
  writeFileSync(inWorkdir(a, 'go'), '');
  const ended = await b.executions.waitFor('local', id, 10_000, never);
  expect(ended.record.outcome).toMatchObject({ status: 'completed' });
  const { source } = b.outputs.open('local', ended.bundle.outputId('stdout') ?? '');
  expect(source.read(0, 100).toString()).toBe('done\n');
  source.close();
  await sleep(1100);
  expect(await b.executions.list('local')).toMatchObject([{ id, status: 'completed' }]);
});

test('of two servers that start at once, one takes over', async () => {
  const victim = await startVictim([{ command: 'sleep 300', mode: 'background' }]);
  await sleep(100);
  await victim.kill();
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  await using a = createWorld({ directory, log });
  await using b = createWorld({ directory, log });
  await Promise.all([a.executions.ready(), b.executions.ready()]);
  const id = victim.ids[0] ?? '';
  await expect
    .poll(async () => (await b.executions.get('local', id)).record.outcome?.reason)
    .toBe('server_lost');
  expect((await a.executions.get('local', id)).record.outcome).toMatchObject({ reason: 'server_lost' });
  expect(warnings).toEqual(['killed an execution that a dead server had left running']);
  const ends = readdirSync(join(directory, 'state/audit'))
    .flatMap((name) =>
      readFileSync(join(directory, 'state/audit', name), 'utf8')
        .trim()
        .split('\n'),
    )
    .filter((line) => line.includes('execution_ended'));
  expect(ends).toHaveLength(1);
});

test('what was finished is there after a restart, and nobody else’s', async () => {
  let id = '';
  {
    await using world = createWorld({ directory });
    id = (await world.run('echo kept')).execution.record.id;
  }
  await using world = createWorld({ directory });
  const found = await world.executions.get('local', id);
  expect(found.record.outcome).toMatchObject({ status: 'completed' });
  expect(textOf(found, 'stdout')).toBe('kept\n');
  await expect(world.executions.get('another', id)).rejects.toMatchObject({ code: 'RESOURCE_001' });
  await expect(world.executions.get('local', '../../etc')).rejects.toMatchObject({ code: 'RESOURCE_001' });
});

test('what an earlier version left is taken over once, with its output', async () => {
  const id = `exec_${'b'.repeat(26)}`;
  const bundle = join(directory, 'state/executions', id);
  mkdirSync(bundle, { recursive: true });
  writeFileSync(join(bundle, 'stdout'), 'old\n');
  const outcome = { status: 'failed', reason: 'exit', exitCode: 3, endedAtMs: Date.now() };
  const record = {
    format: 1,
    id,
    owner: 'local',
    instance: 'inst_gone',
    command: 'echo old; exit 3',
    mode: 'foreground',
    directory: '/',
    defaultDirectory: '/',
    environment: {},
    streams: ['stdout'],
    createdAtMs: Date.now() - 5,
    marker: 'MARK=old',
    outcome: { ...outcome, survivors: [], endedLeftovers: [] },
  };
  writeFileSync(join(bundle, 'record.json'), JSON.stringify(record));
  expect(await storedExecution(join(directory, 'state'), id)).toEqual(record);
  for (let servers = 0; servers < 2; servers++) {
    await using world = createWorld({ directory });
    const found = await world.executions.get('local', id);
    expect(found.record).toEqual(record);
    expect(textOf(found, 'stdout')).toBe('old\n');
    expect(readdirSync(bundle)).toEqual(['stdout']);
  }
});

test('a damaged record does not keep the others from being found', async () => {
  const executions = join(directory, 'state/executions');
  mkdirSync(join(executions, `exec_${'a'.repeat(26)}`), { recursive: true });
  writeFileSync(join(executions, `exec_${'a'.repeat(26)}`, 'record.json'), '{"format":1,');
  await using world = createWorld({ directory });
  await world.run('true');
  expect(await world.executions.list('local')).toHaveLength(1);
});

test('looking at what a server is leaves no trace; ending it leaves only what it ran', async () => {
  const world = createWorld({ directory });
  expect(existsSync(world.settings.stateDir)).toBe(false);
  await world.run('true');
  await world[Symbol.asyncDispose]();
  expect(readdirSync(join(world.settings.stateDir, 'run'))).toEqual([]);
});
