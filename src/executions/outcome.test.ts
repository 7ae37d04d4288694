import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { lacks } from '../../test/setup/needs.ts';
import { createWorld, outcomeOf, untilPrinted } from '../../test/support/world.ts';
import { waitForEnd } from './executions.ts';

const never = new AbortController().signal;

describe('an outcome is true', () => {
  const cases: { command: string; expected: object }[] = [
    { command: 'true', expected: { status: 'completed', reason: 'exit', exitCode: 0 } },
    { command: 'exit 3', expected: { status: 'failed', reason: 'exit', exitCode: 3 } },
    {
      command: 'kill -9 $$',
      expected: { status: 'failed', reason: 'signal', exitCode: 137, signal: 'SIGKILL' },
    },
    {
      command: 'kill -TERM $$; sleep 5',
      expected: { status: 'failed', reason: 'signal', exitCode: 143, signal: 'SIGTERM' },
    },
    {
      command: 'no-such-command-here',
      expected: {
        status: 'failed',
        reason: 'exit',
        exitCode: 127,
        securityEvent: 'command_not_found',
        explanation: expect.stringMatching(/^no-such-command-here is not installed, or not on PATH\./),
      },
    },
    {
      command: 'bash -c "kill -9 \\$\\$"; exit $?',
      expected: { status: 'failed', reason: 'exit', exitCode: 137 },
    },
    { command: 'if then', expected: { status: 'failed', reason: 'exit', exitCode: 2 } },
  ];
  test.for(cases)('$command', async ({ command, expected }) => {
    await using world = createWorld();
    const { outcome } = await world.run(command);
    const { peakMemoryBytes: _, cpuSeconds: __, processes: ___, ...how } = outcome;
    expect(how).toEqual({
      ...expected,
      endedAtMs: expect.any(Number),
      durationMs: expect.any(Number),
      survivors: [],
      endedLeftovers: [],
    });
  });

  test
    .skipIf(lacks(process.platform !== 'linux', 'file sizes are limited on Linux'))
    .for([
      'head -c 3M /dev/zero > large',
      'exec head -c 3M /dev/zero > large',
      'bash -c "head -c 3M /dev/zero > large; exit 7"',
    ])('a file that is too large is explained without a sandbox too: %s', async (command) => {
    await using world = createWorld({ settings: { security: { maxFileBytes: 2 << 20 } } });
    const { outcome } = await world.run(command);
    expect(outcome).toMatchObject({
      status: 'failed',
      errorCode: 'EXECUTION_004',
      explanation: 'Files are limited to 2 MiB; the operator can change that with security.max_file_mb.',
    });
    // No sandbox stopped it.
    expect(outcome).not.toHaveProperty('securityEvent');
  });

  test('what only a sandbox could have stopped is not explained where there was none', async () => {
    await using world = createWorld({ settings: { security: { maxFileBytes: 2 << 20, network: false } } });
    for (const text of ['Read-only file system', 'No space left on device', 'Could not resolve host: x'])
      expect((await world.run(`echo '/x: ${text}' >&2; exit 1`)).outcome).not.toHaveProperty('explanation');
  });

  test('the first cause wins: a timeout that is followed by a request to end stays a timeout', async () => {
    await using world = createWorld();
    const execution = await world.start(`trap '' TERM; echo up; while :; do sleep 0.1; done`, {
      timeoutMs: 2000,
    });
    await untilPrinted(execution, 'up');
    await sleep(2300);
    await execution.live?.end('terminated', 'SIGKILL');
    expect(await outcomeOf(execution)).toMatchObject({
      status: 'timeout',
      reason: 'timeout',
      signal: 'SIGKILL',
    });
  });

  const signals = [
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGKILL', 137],
  ] as const;
  test.for(
    (['off', 'auto'] as const).flatMap((sandbox) =>
      (['background', 'detached'] as const).flatMap((mode) =>
        signals.map(([signal, exitCode]) => ({ sandbox, mode, signal, exitCode })),
      ),
    ),
  )('$signal on request is exit code $exitCode: $mode, sandbox $sandbox', async ({ exitCode, ...about }) => {
    await using world = createWorld({ settings: { security: { sandbox: about.sandbox } } });
    const { live } = await world.start('sleep 300', { mode: about.mode });
    if (live === undefined) throw new Error('it does not run');
    if (about.signal === 'SIGKILL') await live.end('terminated', 'SIGKILL');
    // One that comes while a shell starts may be lost.
    else for (let tries = 0; tries < 5 && !(await live.request(about.signal, 'tree', 2000)); tries++);
    expect(await live.finished).toMatchObject({
      status: 'failed',
      reason: 'terminated',
      signal: about.signal,
      exitCode,
      survivors: [],
    });
  });

  test('a signal that was survived is not the cause of a later end', async () => {
    await using world = createWorld();
    const execution = await world.start(
      `trap 'echo got it' TERM; echo up; for i in 1 2 3 4 5 6; do sleep 0.1; done; exit 4`,
    );
    await untilPrinted(execution, 'up');
    expect(await execution.live?.request('SIGTERM', 'leader', 100)).toBe(false);
    expect(await outcomeOf(execution)).toMatchObject({ status: 'failed', reason: 'exit', exitCode: 4 });
  });

  test('a stopped process gets the signal that ends it', async () => {
    await using world = createWorld();
    const execution = await world.start('kill -STOP $$; sleep 100');
    await sleep(300);
    expect(await execution.live?.request('SIGTERM', 'tree', 3000)).toBe(true);
    expect(await outcomeOf(execution)).toMatchObject({ reason: 'terminated', signal: 'SIGTERM' });
  });
});

describe('output', () => {
  test('is complete, also that of a command that ends at once', async () => {
    await using world = createWorld();
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) => world.run(`seq 1 3000; echo err-${index} >&2`)),
    );
    for (const [index, { stdout, stderr }] of results.entries()) {
      expect(stdout).toHaveLength(13_893);
      expect(stderr).toBe(`err-${index}\n`);
    }
  });

  test('written to /dev/stdout and /dev/stderr by name is neither lost nor truncated', async () => {
    await using world = createWorld();
    const command = `for i in 1 2 3; do echo out-$i > /dev/stdout; echo err-$i > /dev/stderr; echo more-$i; done`;
    const { stdout, stderr } = await world.run(command);
    expect(stdout).toBe('out-1\nmore-1\nout-2\nmore-2\nout-3\nmore-3\n');
    expect(stderr).toBe('err-1\nerr-2\nerr-3\n');
    const merged = await world.run(command, { mergeStderr: true });
    expect(merged.stdout).toBe('out-1\nerr-1\nmore-1\nout-2\nerr-2\nmore-2\nout-3\nerr-3\nmore-3\n');
  });

  test('merged is in the exact order of its writing', async () => {
    await using world = createWorld();
    const { stdout } = await world.run('for i in $(seq 1 2000); do echo o$i; echo e$i >&2; done', {
      mergeStderr: true,
    });
    const expected = Array.from({ length: 2000 }, (_, i) => `o${i + 1}\ne${i + 1}\n`).join('');
    expect(stdout).toBe(expected);
  });

  test('discarded stderr goes nowhere', async () => {
    await using world = createWorld();
    const { stdout, stderr, execution } = await world.run('echo a; echo b >&2', { captureStderr: false });
    expect({ stdout, stderr, streams: execution.record.streams }).toEqual({
      stdout: 'a\n',
      stderr: '',
      streams: ['stdout'],
    });
  });

  test('past the limit is counted and its end is kept, and the command goes on', async () => {
    const limit = 1024 * 1024;
    await using world = createWorld();
    await using small = createWorld({
      settings: { limits: { ...world.settings.limits, maxOutputBytes: limit } },
    });
    const { outcome, execution } = await small.run('seq 1 500000; echo done > finished; cat finished');
    expect(outcome.status).toBe('completed');
    const source = execution.bundle.source('stdout');
    const total = 3_388_895 + 5;
    expect(source?.size()).toBe(total);
    expect(source?.read(total - 12, 12).toString()).toBe('500000\ndone\n');
    expect(source?.gaps()).toEqual([{ from: limit, to: total - 256 * 1024 }]);
    source?.close();
  });

  test('of a running command can be read while it grows', async () => {
    await using world = createWorld();
    const execution = await world.start('echo one; sleep 0.6; echo two; sleep 30', { mode: 'background' });
    const source = execution.bundle.source('stdout');
    await expect.poll(() => source?.read(0, source.size()).toString()).toBe('one\n');
    await expect.poll(() => source?.read(0, source.size()).toString()).toBe('one\ntwo\n');
    source?.close();
  });
});

describe('stdin', () => {
  test('is empty unless data is given, and never the server’s own', async () => {
    await using world = createWorld();
    expect((await world.run('cat; echo end')).stdout).toBe('end\n');
  });

  test('gets the data, then its end; it can be opened by name', async () => {
    await using world = createWorld();
    const data = 'line\n'.repeat(100_000);
    expect((await world.run('wc -c', { inputData: data })).stdout.trim()).toBe('500000');
    expect((await world.run('cat /dev/stdin', { inputData: 'by name ✓' })).stdout).toBe('by name ✓');
    expect((await world.run('cat', { inputData: '' })).stdout).toBe('');
  });

  test('that a command does not read is no error', async () => {
    await using world = createWorld();
    expect((await world.run('true', { inputData: 'x'.repeat(1_000_000) })).outcome.status).toBe('completed');
  });
});

describe('waiting', () => {
  test('answers that it runs on when the patience, the caller’s time or the output limit is reached', async () => {
    await using world = createWorld();
    const execution = await world.start('yes | head -c 3000000; sleep 30', { mode: 'adaptive' });
    const { live } = execution;
    if (live === undefined) throw new Error('not running');
    expect(await waitForEnd(live, { patienceMs: 50 }, never)).toEqual({ kind: 'running', why: 'wait_limit' });
    expect(await waitForEnd(live, { patienceMs: 5000, foregroundMs: 50 }, never)).toEqual({
      kind: 'running',
      why: 'foreground_timeout',
    });
    expect(await waitForEnd(live, { patienceMs: 5000, outputBytes: 1_000_000 }, never)).toEqual({
      kind: 'running',
      why: 'output_size_limit',
    });
    expect(await waitForEnd(live, { patienceMs: 5000, foregroundMs: 300, outputBytes: 1000 }, never)).toEqual(
      { kind: 'running', why: 'foreground_timeout' },
    );
    expect(await waitForEnd(live, { patienceMs: 5000 }, AbortSignal.abort())).toEqual({ kind: 'aborted' });
  });
});

describe('limits', () => {
  test('the execution over the limit is refused, and one that ended makes room', async () => {
    await using world = createWorld();
    await using small = createWorld({ settings: { limits: { ...world.settings.limits, maxProcesses: 2 } } });
    const first = await small.start('sleep 100', { mode: 'background' });
    await small.start('sleep 100', { mode: 'background' });
    await expect(small.start('true')).rejects.toMatchObject({ code: 'RESOURCE_005', details: { limit: 2 } });
    await first.live?.end('terminated');
    await outcomeOf(first);
    expect((await small.run('true')).outcome.status).toBe('completed');
  });

  test('the policy’s time limit holds where the caller’s is longer, and in every mode', async () => {
    await using world = createWorld({
      settings: {
        security: { allowedDirectories: undefined, maxExecutionTimeSeconds: 1, maxMemoryBytes: undefined },
      },
    });
    const execution = await world.start('sleep 100', { mode: 'background', timeoutMs: 60_000 });
    expect(await outcomeOf(execution)).toMatchObject({ status: 'timeout' });
  });

  test.for(['background', 'detached'] as const)('the memory limit ends the whole tree, %s', async (mode) => {
    await using world = createWorld({
      settings: {
        security: {
          allowedDirectories: undefined,
          maxExecutionTimeSeconds: undefined,
          maxMemoryBytes: 80 * 1024 * 1024,
        },
      },
    });
    const half = `python3 -c 'x = bytearray(60_000_000); import time; time.sleep(30)'`;
    const execution = await world.start(`${half} & ${half} & wait`, { mode });
    const outcome = await outcomeOf(execution);
    expect(outcome).toMatchObject({
      status: 'failed',
      reason: 'memory_limit',
      errorCode: 'EXECUTION_003',
      survivors: [],
    });
    expect(outcome.peakMemoryBytes).toBeGreaterThan(70 * 1024 * 1024);
  });

  test('a shell that is not there is an error before anything is kept', async () => {
    await using world = createWorld({ settings: { shell: '/no/such/shell' } });
    await expect(world.start('true')).rejects.toMatchObject({ code: 'EXECUTION_001' });
    expect(await world.executions.list('local')).toEqual([]);
  });
});

test('variables that no shell could have as its own reach the command all the same', async () => {
  await using world = createWorld();
  const environment = {
    ...world.settings.environment,
    'a.b': 'dotted',
    'BASH_FUNC_greet%%': '() { echo hello; }',
  };
  await using odd = createWorld({ settings: { environment } });
  expect((await odd.run('greet; env | grep ^a.b')).stdout).toBe('hello\na.b=dotted\n');
});

test('usage is that of the whole tree', async () => {
  await using world = createWorld();
  const script = `python3 -c 'x = bytearray(60_000_000); import time; time.sleep(30)' & python3 -c 'x = bytearray(60_000_000); import time; time.sleep(30)' & wait`;
  const execution = await world.start(script, { mode: 'background' });
  await expect.poll(() => execution.usage()?.memoryBytes ?? 0).toBeGreaterThan(120_000_000);
  expect(execution.usage()?.processes).toBe(3);
});
