/** Terminals from their first prompt to their end: what is known of them, how many there may be, and what stays. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { randomText } from '../../src/base/ids.ts';
import { hasEnvironmentEntry, listProcesses } from '../../src/executions/process-table.ts';
import { needs } from '../setup/needs.ts';
import { type Called, createPlace, type Place, type Product } from './support/product.ts';
import { openProduct } from './support/product-here.ts';
import { LONG_MS, openTerminal, type TestTerminal, writePrompts } from './support/terminal.ts';

let place: Place;
let product: Product;
beforeEach(() => {
  place = createPlace();
  writePrompts(place.directory);
});
afterEach(async () => {
  await product.close();
  place.remove();
});

async function start(env: Record<string, string> = {}): Promise<void> {
  product = await openProduct({ place, env });
}

const create = async (args: object = {}) => (await product.call('terminal_create', { ...args })).data;
const list = async (args: object = {}) => (await product.call('terminal_list', { ...args })).data;
const names = async (args: object = {}): Promise<string[]> =>
  (await list(args)).terminals.map((each: { session_name: string }) => each.session_name);

async function untilExited(terminal: TestTerminal): Promise<void> {
  await expect.poll(async () => (await terminal.info()).status, { timeout: LONG_MS }).toBe('exited');
}

describe('what is known of one', () => {
  test('its state, directory, program, exit code and size, as they are now', async () => {
    await start();
    const terminal = await openTerminal(product, { session_name: 'work' });
    await terminal.run('mkdir -p deep/er; cd deep; (exit 5)');
    expect(await terminal.info()).toEqual({
      ...terminal.opened,
      status: 'idle',
      working_directory: join(place.work, 'deep'),
      foreground_process: [{ process_id: terminal.opened.process_id, name: 'bash', path: '/usr/bin/bash' }],
      last_activity: expect.stringMatching(/Z$/),
      last_exit_code: 5,
      full_screen: false,
    });
    await terminal.run('cd er; sleep 300', { timeout_seconds: 0.3 });
    expect(await terminal.info()).toMatchObject({
      status: 'active',
      working_directory: join(place.work, 'deep/er'),
      foreground_process: [{ name: 'sleep' }],
      last_exit_code: 5,
    });
    await terminal.press('ctrl+c');
    expect(await terminal.info()).toMatchObject({ status: 'idle', last_exit_code: 130 });
  });

  test('a new size reaches the program', async () => {
    await start();
    const terminal = await openTerminal(product);
    const watch = `sh -c 'trap "stty size" WINCH; echo ready; while :; do sleep 0.1; done'`;
    await terminal.run(watch, { wait_for: '^ready' });
    const dimensions = { width: 91, height: 17 };
    expect((await product.call('terminal_resize', { terminal_id: terminal.id, dimensions })).data).toEqual({
      success: true,
      terminal_id: terminal.id,
      dimensions,
      updated_at: expect.stringMatching(/Z$/),
    });
    expect(await terminal.read({ wait_for: '^17 91$', timeout_seconds: 40 })).toMatchObject({
      matched: true,
    });
    await terminal.press('ctrl+c');
    expect(await terminal.run('stty size; tput cols')).toMatchObject({ output: '17 91\n91\n' });
    expect(await terminal.info()).toMatchObject({ dimensions });
  });

  test('the list has all of them, newest first, by name and by state', async () => {
    await start();
    const busy = await openTerminal(product, { session_name: 'build one' });
    await openTerminal(product, { session_name: 'build two' });
    await openTerminal(product);
    await busy.run('cat');
    expect(await names()).toEqual([expect.stringMatching(/^terminal-\d+$/), 'build two', 'build one']);
    expect(await names({ session_name_pattern: '^build' })).toEqual(['build two', 'build one']);
    expect(await names({ status_filter: 'active' })).toEqual(['build one']);
    expect(await names({ status_filter: 'idle', session_name_pattern: 'build' })).toEqual(['build two']);
    expect(await list({ limit: 1 })).toMatchObject({ terminals: [{}], total_count: 3 });
  });
});

describe.for([
  ['bash', needs('bash')],
  ['zsh', needs('zsh')],
  ['fish', needs('fish')],
  ['sh', false],
] as const)('the exit code of %s', ([shell, skips]) => {
  const ofEnded = async (id: string): Promise<Called['data']> => {
    const look = async () =>
      (
        await product.call('process_get_execution', {
          execution_id: `exec_${id.slice('term_'.length)}`,
          wait_seconds: 5,
        })
      ).data;
    await expect.poll(async () => (await look()).status, { timeout: LONG_MS }).not.toBe('running');
    return look();
  };

  test.skipIf(skips).for([
    ['in a sandbox', {}],
    ['without one', { MCP_SHELL_SECURITY_SANDBOX: 'off' }],
  ] as const)('is the one that it exits with, %s', async ([, env]) => {
    await start(env);
    for (const [line, exit_code] of [
      ['exit 6', 6],
      ['exit 0', 0],
      ['false; exit', 1],
    ] as const) {
      const terminal = await openTerminal(product, { shell_type: shell });
      await terminal.run(line);
      expect([line, await ofEnded(terminal.id)]).toMatchObject([
        line,
        { exit_code, termination_reason: 'exit' },
      ]);
      expect((await terminal.screen()).join('\n')).not.toMatch(/process group/);
    }
  });

  test.skipIf(skips).for([
    ['TERM', 143],
    ['KILL', 137],
  ] as const)('is that of the signal that process_terminate sent, %s', async ([signal, exit_code]) => {
    await start();
    for (const command of [undefined, 'sleep 300']) {
      const terminal = await openTerminal(product, { shell_type: shell });
      if (command !== undefined) await terminal.run(command, { timeout_seconds: 0.3 });
      const { data } = await product.call('process_terminate', {
        process_id: terminal.opened.process_id,
        signal,
      });
      const ended = { exit_code, termination_reason: 'terminated' };
      expect(data).toMatchObject({ ...ended, success: true });
      expect(await ofEnded(terminal.id)).toMatchObject(ended);
    }
  });
});

describe('how many there may be', () => {
  test('no more than the setting; one that is closed or has ended makes room', async () => {
    await start({ MCP_SHELL_LIMITS_MAX_TERMINALS: '2' });
    // One that is being opened counts once.
    const [first, second] = await Promise.all([openTerminal(product), openTerminal(product)]);
    expect(await create()).toMatchObject({ error: { code: 'RESOURCE_005', details: { limit: 2 } } });
    await first.close();
    const third = await openTerminal(product);
    expect(await create()).toMatchObject({ error: { code: 'RESOURCE_005' } });
    await second.run('exit');
    await openTerminal(product);
    await third.close();
  });

  test('of many that are asked for at once, only so many are opened', async () => {
    await start({ MCP_SHELL_LIMITS_MAX_TERMINALS: '2' });
    const answers = await Promise.all(Array.from({ length: 5 }, () => create()));
    const codes = answers.flatMap((answer) => answer.error?.code ?? []);
    expect(codes).toEqual(['RESOURCE_005', 'RESOURCE_005', 'RESOURCE_005']);
    expect((await list()).total_count).toBe(2);
  });

  test('a session name is taken until its terminal is closed or has ended', async () => {
    await start();
    const both = await Promise.all([create({ session_name: 'x' }), create({ session_name: 'x' })]);
    expect(both.flatMap((each) => each.error?.code ?? [])).toEqual(['RESOURCE_004']);
    const id = both.find((each) => each.error === undefined)?.terminal_id;
    expect(await create({ session_name: 'x' })).toMatchObject({
      error: { code: 'RESOURCE_004', details: { terminal_id: id } },
    });
    await product.call('terminal_close', { terminal_id: id });
    const again = await openTerminal(product, { session_name: 'x' });
    await again.run('exit');
    await openTerminal(product, { session_name: 'x' });
  });

  test.for(['term_aaaaaaaaaaaaaaaaaaaaaaaaaa', '../../x', ''])('%j is no terminal', async (terminal_id) => {
    await start();
    const calls: [string, object][] = [
      ['terminal_get_info', {}],
      ['terminal_send_input', { input: 'x' }],
      ['terminal_get_output', {}],
      ['terminal_resize', { dimensions: { width: 80, height: 24 } }],
      ['terminal_close', {}],
    ];
    for (const [tool, args] of calls)
      expect((await product.call(tool, { terminal_id, ...args })).data.error).toMatchObject({
        code: 'RESOURCE_002',
      });
  });
});

/** What there is of terminals on disk besides the journal. */
const bundles = (): string[] =>
  readdirSync(join(place.stateDir, 'executions')).filter((name) => name.startsWith('exec_'));

describe('the end of one', () => {
  const alive = (mark: string): string[] =>
    listProcesses()
      .filter(({ pid, isZombie }) => !isZombie && hasEnvironmentEntry(pid, `MARK=${mark}`))
      .map(({ name }) => name);

  test.for(['auto', 'off'])('leaves no process behind, with sandbox = %s', async (sandbox) => {
    await start({ MCP_SHELL_SECURITY_SANDBOX: sandbox });
    const mark = randomText();
    const terminal = await openTerminal(product, { environment_variables: { MARK: mark } });
    await terminal.run('sleep 301 &');
    await terminal.run('nohup sleep 302 > /dev/null 2>&1 &');
    await terminal.run('setsid sleep 303 &');
    await terminal.run(`(trap '' HUP TERM INT; while :; do sleep 304; done) &`);
    await terminal.run('(setsid sh -c "(sleep 305 &)" &)');
    await terminal.run('sleep 306', { timeout_seconds: 0.2 });
    await expect
      .poll(() => alive(mark).filter((name) => name === 'sleep').length, { timeout: LONG_MS })
      .toBe(6);
    expect(await terminal.close()).toMatchObject({ success: true, history_saved: true });
    await expect.poll(() => alive(mark), { timeout: LONG_MS }).toEqual([]);
    expect(await terminal.info()).toMatchObject({ error: { code: 'RESOURCE_002' } });
  });

  test('keeps a transcript and a recording as outputs', async () => {
    await start();
    const terminal = await openTerminal(product, {
      session_name: 'kept',
      dimensions: { width: 50, height: 8 },
    });
    await terminal.run('seq 1 30');
    await product.call('terminal_resize', {
      terminal_id: terminal.id,
      dimensions: { width: 60, height: 9 },
    });
    await terminal.run(String.raw`printf '\033[32mgreen é\033[0m\n'`);
    const closed = await terminal.close();
    expect(closed).toMatchObject({
      success: true,
      terminal_id: terminal.id,
      history_saved: true,
      closed_at: expect.stringMatching(/Z$/),
      output_id: expect.stringMatching(/^out_/),
      recording_output_id: expect.stringMatching(/^out_/),
    });
    const { outputs } = (await product.call('list_execution_outputs', { output_type: 'log' })).data;
    expect(new Set(outputs.map(({ output_id }: { output_id: string }) => output_id))).toEqual(
      new Set([closed.output_id, closed.recording_output_id]),
    );
    const read = async (output_id: string): Promise<string> =>
      (await product.call('read_execution_output', { output_id, size: 100_000 })).data.content;
    const numbers = Array.from({ length: 30 }, (_, index) => `${index + 1}`);
    expect((await read(closed.output_id)).trimEnd().split('\n')).toEqual([
      '$ seq 1 30',
      ...numbers,
      String.raw`$ printf '\033[32mgreen é\033[0m\n'`,
      'green é',
      '$',
    ]);
    const [header, ...events] = (await read(closed.recording_output_id))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(header).toEqual({
      version: 2,
      width: 50,
      height: 8,
      timestamp: expect.any(Number),
      title: 'kept',
      env: { TERM: 'xterm-256color' },
    });
    const rows = events as [number, string, string][];
    expect(new Set(rows.map(([, kind]) => kind))).toEqual(new Set(['o', 'r']));
    expect(rows.find(([, kind]) => kind === 'r')).toEqual([expect.any(Number), 'r', '60x9']);
    expect(rows.map(([at]) => at)).toEqual(rows.map(([at]) => at).toSorted((a, b) => a - b));
    expect(rows.map(([, , data]) => data).join('')).toContain('\u001B[32mgreen é\u001B[0m');
  });

  test('keeps nothing where that was wanted', async () => {
    await start();
    const terminal = await openTerminal(product);
    await terminal.run('echo forgotten');
    expect(await terminal.close({ save_history: false })).toMatchObject({ history_saved: false });
    expect((await product.call('list_execution_outputs', { output_type: 'log' })).data.total_count).toBe(0);
    await expect.poll(bundles).toEqual([]);
  });

  test('by itself keeps what was said when it was opened', async () => {
    await start();
    const kept = await openTerminal(product, { session_name: 'kept' });
    const dropped = await openTerminal(product, { session_name: 'dropped', auto_save_history: false });
    for (const terminal of [kept, dropped]) {
      await terminal.run('echo last words; exit 3', { wait_for: 'never' });
      await untilExited(terminal);
      // Until it is closed, or some time has passed, it can be read.
      expect((await terminal.read()).output).toContain('last words');
    }
    await product.close();
    await start();
    const { outputs } = (await product.call('list_execution_outputs', { output_type: 'log' })).data;
    expect(outputs.map(({ execution_id }: { execution_id: string }) => execution_id)).toEqual([
      kept.opened.execution_id,
      kept.opened.execution_id,
    ]);
    expect(bundles()).toEqual([kept.opened.execution_id]);
  });
});
