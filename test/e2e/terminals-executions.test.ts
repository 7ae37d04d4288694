/** A terminal is an execution: the tools for processes and outputs know it, and it ends as every other does. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listProcesses } from '../../src/executions/process-table.ts';
import { needs } from '../setup/needs.ts';
import { createPlace, type Place, type Product } from './support/product.ts';
import { openProduct } from './support/product-here.ts';
import { LONG, LONG_MS, openTerminal, type TestTerminal, writePrompts } from './support/terminal.ts';

let place: Place;
let product: Product;
beforeEach(async () => {
  place = createPlace();
  writePrompts(place.directory);
  product = await openProduct({ place });
});
afterEach(async () => {
  await product.close();
  place.remove();
});

const call = async (tool: string, args: object = {}) => (await product.call(tool, { ...args })).data;
const look = (execution_id: string, wait_seconds = 0) =>
  call('process_get_execution', { execution_id, wait_seconds });
const listed = async (args: object = {}) => (await call('process_list', args)).processes;

describe('what is said of one that has ended', () => {
  const saysEverywhere = async (terminal: TestTerminal, words: RegExp): Promise<void> => {
    const { id: terminal_id } = terminal;
    for (const tool of ['terminal_get_output', 'terminal_get_info'])
      expect((await product.call(tool, { terminal_id })).text).toMatch(words);
    const ended = { termination_reason: expect.any(String), output_id: expect.stringMatching(/^out_/) };
    expect((await call('terminal_list')).terminals).toMatchObject([
      { terminal_id, status: 'exited', ...ended },
    ]);
    expect((await product.call('terminal_close', { terminal_id })).text).toMatch(words);
  };
  const send = (terminal: TestTerminal, input: string) =>
    product.call('terminal_send_input', { terminal_id: terminal.id, input, execute: true, ...LONG });

  test.skipIf(needs('bwrap'))('which files of it programs outside obey', async () => {
    const terminal = await openTerminal(product);
    const words = /New since it began, and executed or obeyed by programs outside the sandbox: .*\.envrc/;
    expect((await send(terminal, 'echo x > .envrc; exit')).text).toMatch(words);
    await saysEverywhere(terminal, words);
  });

  test.skipIf(needs('bwrap'))('the same in the news of a command in the background', async () => {
    const command = 'sleep 0.5; echo x > .envrc';
    const { execution_id } = await call('shell_execute', { command, execution_mode: 'background' });
    const words = 'New since it began, and executed or obeyed by programs outside the sandbox: ';
    let told: Awaited<ReturnType<Product['call']>> | undefined;
    await expect
      .poll(
        async () => {
          told = await product.call('process_list', { status_filter: 'running' });
          return told.data.events;
        },
        { timeout: LONG_MS },
      )
      .toMatchObject([{ execution_id, message: expect.stringContaining(words) }]);
    expect(told?.text).toMatch(new RegExp(`${execution_id} finished: exit 0, .*\\. ${words}.*/\\.envrc`));
  });

  test.skipIf(needs('python3'))('which limit it passed, and with how much', async () => {
    await product.close();
    product = await openProduct({ place, env: { MCP_SHELL_SECURITY_MAX_MEMORY_MB: '100' } });
    const terminal = await openTerminal(product);
    const words = /It passed the memory limit with [\d.]+ MiB .*security\.max_memory_mb/;
    const { data, text } = await send(
      terminal,
      `exec python3 -c 'import time; x = bytearray(400_000_000); x[::4096] = b"x" * len(x[::4096]); time.sleep(60)'`,
    );
    expect(text).toMatch(words);
    expect(data).toMatchObject({ wait_reason: 'exited', termination_reason: 'memory_limit' });
    await saysEverywhere(terminal, words);
  });

  test('that it was ended, by process_terminate as well', async () => {
    const terminal = await openTerminal(product);
    await terminal.run('true');
    const { execution_id } = terminal.opened;
    const ended = { termination_reason: 'terminated', exit_code: 143, status: 'failed' };
    expect(await call('process_terminate', { execution_id })).toMatchObject(ended);
    await saysEverywhere(terminal, /It was ended on request/);
  });
});

describe('the tools for processes', () => {
  test('list, show, monitor and end it', async () => {
    const terminal = await openTerminal(product, { session_name: 'work' });
    const { execution_id, process_id } = terminal.opened;
    await terminal.run('sleep 300', { timeout_seconds: 0.2 });
    expect(await listed()).toMatchObject([
      {
        execution_id,
        process_id,
        terminal_id: terminal.id,
        command: 'bash',
        status: 'running',
        execution_mode: 'terminal',
        working_directory: place.work,
      },
    ]);
    expect(await look(execution_id)).toMatchObject({
      execution_id,
      process_id,
      terminal_id: terminal.id,
      status: 'running',
      execution_mode: 'terminal',
      working_directory: place.work,
      default_working_directory: place.work,
      working_directory_changed: false,
      memory_usage_mb: expect.any(Number),
      message: expect.stringContaining(terminal.id),
    });
    const { monitor_id } = await call('process_monitor', { process_id, monitor_interval_ms: 100 });
    await expect
      .poll(async () => (await call('process_monitor', { monitor_id })).summary.process_count?.max, {
        timeout: LONG_MS,
      })
      .toBeGreaterThanOrEqual(2);
    expect(await call('process_terminate', { execution_id })).toMatchObject({
      success: true,
      execution_id,
      process_id,
      signal_sent: 'TERM',
      exit_code: 143,
      status: 'failed',
      message: `TERM was sent to the whole tree of ${execution_id}, with HUP because interactive shells ignore TERM. It ended by SIGTERM.`,
    });
    expect(await look(execution_id)).toMatchObject({
      status: 'failed',
      termination_reason: 'terminated',
      stdout: expect.stringContaining('sleep 300'),
      output_id: expect.stringMatching(/^out_/),
    });
    expect(await call('process_monitor', { monitor_id })).toMatchObject({ status: 'ended' });
    expect(await terminal.info()).toMatchObject({ status: 'exited', termination_reason: 'terminated' });
    expect(listProcesses().some(({ pid }) => pid === process_id)).toBe(false);
    expect(await listed({ status_filter: 'running' })).toEqual([]);
  });

  test('know it by its process, and KILL is exit code 137', async () => {
    const { opened } = await openTerminal(product);
    const { process_id, execution_id } = opened;
    expect(await call('process_terminate', { process_id, signal: 'KILL' })).toMatchObject({
      execution_id,
      success: true,
      exit_code: 137,
    });
  });

  test('count it as a terminal, not as a process', async () => {
    await openTerminal(product);
    expect(await call('monitoring_get_stats', { include_metrics: ['processes', 'terminals'] })).toMatchObject(
      {
        active_processes: 0,
        active_terminals: 1,
      },
    );
  });
});

describe('create_terminal', () => {
  test('answers with the execution, its directories and its terminal, and takes what a session carries', async () => {
    mkdirSync(join(place.work, 'deep'));
    await product.execute('cd deep; export COLOUR=blue', { session_id: 's' });
    const { data } = await product.execute('echo $COLOUR:$PWD', { create_terminal: true, session_id: 's' });
    expect(data).toMatchObject({
      execution_id: expect.stringMatching(/^exec_/),
      terminal_id: expect.stringMatching(/^term_/),
      process_id: expect.any(Number),
      status: 'running',
      working_directory: join(place.work, 'deep'),
      default_working_directory: place.work,
      working_directory_changed: true,
    });
    const wait = { terminal_id: data.terminal_id, wait_for: `^blue:${place.work}/deep`, timeout_seconds: 40 };
    expect(await call('terminal_get_output', wait)).toMatchObject({ matched: true });
    expect(await listed({ session_id: 's', status_filter: 'running' })).toMatchObject([
      { execution_id: data.execution_id },
    ]);
  });

  test('keeps to timeout_seconds, with everything in it', async () => {
    const { data } = await product.execute('sleep 300 & sleep 301', {
      create_terminal: true,
      timeout_seconds: 1,
    });
    expect(await look(data.execution_id, 40)).toMatchObject({
      status: 'timeout',
      success: false,
      termination_reason: 'timeout',
      error_code: 'EXECUTION_002',
      stdout: expect.stringContaining('sleep 301'),
    });
    expect(await call('terminal_get_info', { terminal_id: data.terminal_id })).toMatchObject({
      status: 'exited',
      termination_reason: 'timeout',
    });
  });

  test.for([
    ['input_data', 'x'],
    ['execution_mode', 'foreground'],
    ['execution_mode', 'sync'],
    ['execution_mode', 'detached'],
    ['foreground_timeout_seconds', 5],
    ['return_partial_on_timeout', false],
    ['max_output_size', 4096],
    ['fold', false],
    ['capture_stderr', false],
    ['merge_stderr', true],
    ['wait_for', [{ output: 'x' }]],
    ['wait_mode', 'all'],
  ] as const)('refuses %s %j, which would do nothing', async ([parameter, value]) => {
    const refused = await product.execute('true', { create_terminal: true, [parameter]: value });
    expect(refused.data.error).toMatchObject({ code: 'PARAM_002', details: { parameter } });
    expect(await listed()).toEqual([]);
  });

  test.for([
    ['terminal_shell', 'bash'],
    ['terminal_dimensions', { width: 80, height: 24 }],
  ] as const)('is what %s needs', async ([parameter, value]) => {
    const refused = await product.execute('true', { [parameter]: value });
    expect(refused.data.error).toMatchObject({ code: 'PARAM_002', details: { parameter } });
  });

  test.for(['adaptive', 'background', 'async'])('takes the mode %s, which is how it works', async (mode) => {
    const { data } = await product.execute('true', { create_terminal: true, execution_mode: mode });
    expect(data).toMatchObject({ status: 'running', terminal_id: expect.any(String) });
  });
});

describe('one that ends by itself', () => {
  test('tells how in every answer, and its transcript is there at once', async () => {
    const terminal = await openTerminal(product);
    await terminal.run('true');
    const { execution_id } = terminal.opened;
    const ended = {
      exit_code: 3,
      termination_reason: 'exit',
      output_id: expect.stringMatching(/^out_/),
    };
    const said = await terminal.run('(exit 5); echo last words; exit 3');
    expect(said).toMatchObject({ wait_reason: 'exited', ...ended });
    const { content } = await call('read_execution_output', { output_id: said.output_id });
    expect(content).toContain('last words');
    expect(await look(execution_id)).toMatchObject({ status: 'failed', ...ended, stdout: content });
    expect(await terminal.info()).toMatchObject({ status: 'exited', ...ended });
    expect(await terminal.read()).toMatchObject(ended);
    expect(await terminal.send({ input: 'x' })).toMatchObject({ success: false, ...ended });
    expect(await call('terminal_list')).toMatchObject({
      terminals: [{ status: 'exited', exit_code: 3, termination_reason: 'exit' }],
    });
    expect(await terminal.close()).toMatchObject({ history_saved: true, ...ended });
    expect(await terminal.info()).toMatchObject({
      error: { code: 'RESOURCE_002', details: { hint: expect.stringContaining(execution_id) } },
    });
    expect(await look(execution_id)).toMatchObject({ status: 'failed', ...ended });
  });

  test('after its shell’s own signal tells it', async () => {
    const terminal = await openTerminal(product);
    expect(await terminal.run('kill -KILL $$')).toMatchObject({
      exit_code: 137,
      termination_reason: 'signal',
    });
  });
});

describe('what is kept', () => {
  test.for([
    { auto: undefined, save: undefined, isKept: true },
    { auto: true, save: false, isKept: false },
    { auto: false, save: undefined, isKept: false },
    { auto: false, save: true, isKept: true },
  ])('auto_save_history $auto, save_history $save: $isKept', async ({ auto, save, isKept }) => {
    for (const last of ['true', 'exit']) {
      const terminal = await openTerminal(product, auto === undefined ? {} : { auto_save_history: auto });
      await terminal.run(`echo words; ${last}`);
      const closed = await terminal.close(save === undefined ? {} : { save_history: save });
      expect(closed).toMatchObject({ success: true, history_saved: isKept });
      expect('output_id' in closed).toBe(isKept);
      const outputs = await call('list_execution_outputs', { execution_id: terminal.opened.execution_id });
      expect(outputs.total_count).toBe(isKept ? 2 : 0);
      const bundles = (): boolean =>
        readdirSync(join(place.stateDir, 'executions')).includes(terminal.opened.execution_id);
      await expect.poll(bundles).toBe(isKept);
      expect(await look(terminal.opened.execution_id)).toMatchObject({ status: expect.any(String) });
    }
  });
});

test('terminals of an earlier version are taken into the register once, with their transcripts', async () => {
  await product.close();
  const old = join(place.stateDir, 'terminals', 'term_aaaaaaaaaaaaaaaaaaaaaaaaaa');
  mkdirSync(old, { recursive: true, mode: 0o700 });
  const record = {
    format: 1,
    id: 'term_aaaaaaaaaaaaaaaaaaaaaaaaaa',
    owner: 'local',
    instance: 'inst_aaaaaaaaaaaaaaaaaaaaaaaaaa',
    sessionName: 'earlier',
    shell: 'bash',
    createdAtMs: Date.now() - 60_000,
    marker: 'MCP_SHELL_EXECUTION=none',
    autoSaves: true,
  };
  const outcome = {
    status: 'failed',
    reason: 'exit',
    exitCode: 4,
    endedAtMs: Date.now() - 50_000,
    survivors: [],
    endedLeftovers: [],
  };
  writeFileSync(join(old, 'record.json'), JSON.stringify(record));
  writeFileSync(join(old, 'outcome.json'), JSON.stringify(outcome));
  writeFileSync(join(old, 'log'), 'old words\n');
  writeFileSync(join(old, 'cast'), '{}\n');
  for (let starts = 0; starts < 2; starts++) {
    product = await openProduct({ place });
    expect(await look('exec_aaaaaaaaaaaaaaaaaaaaaaaaaa')).toMatchObject({
      status: 'failed',
      exit_code: 4,
      terminal_id: record.id,
      stdout: 'old words\n',
    });
    expect(
      await call('list_execution_outputs', { output_type: 'log', name_pattern: 'earlier' }),
    ).toMatchObject({
      total_count: 2,
    });
    expect(readdirSync(join(place.stateDir, 'terminals'))).toEqual([]);
    if (starts === 0) await product.close();
  }
});
