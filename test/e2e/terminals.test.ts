/** Commands in terminals: one call types, waits and answers with what came of it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { needs } from '../setup/needs.ts';
import type { Product } from './support/product.ts';
import { openProduct } from './support/product-here.ts';
import { LONG, LONG_MS, openTerminal, terminalOf, writePrompts } from './support/terminal.ts';

let product: Product;
beforeAll(async () => {
  product = await openProduct();
  writePrompts(product.directory);
});
afterAll(() => product.close());

describe.for([
  ['bash', needs('bash')],
  ['zsh', needs('zsh')],
  ['fish', needs('fish')],
  ['sh', false],
] as const)('in %s', ([shell, skips]) => {
  test.skipIf(skips)('one call gives the exit code and the output of a command', async () => {
    const terminal = await openTerminal(product, {
      shell_type: shell,
      dimensions: { width: 40, height: 10 },
    });
    const done = { wait_reason: 'command_done', output_truncated: false, full_screen: false };
    for (const [command, exit_code, output] of [
      [`printf 'a\\n\\nb\\n'`, 0, 'a\n\nb\n'],
      ['false', 1, ''],
      ['printf abc', 0, 'abc'],
      ['echo after', 0, 'after\n'],
      [`sh -c 'echo to stderr >&2; exit 42'`, 42, 'to stderr\n'],
      [`sh -c 'kill -9 $$'`, 137, expect.any(String)],
      // Longer than a row, what is typed and what comes of it.
      [`echo ${'0123456789'.repeat(10)}`, 0, `${'0123456789'.repeat(10)}\n`],
    ] as const)
      expect([command, await terminal.run(command)]).toMatchObject([command, { ...done, exit_code, output }]);
    // An empty line is no command. What is typed ahead of a prompt, a shell that marks nothing else cannot tell apart.
    const wait = shell === 'sh' ? LONG : {};
    await terminal.send({ execute: true, ...wait });
    await terminal.send({ execute: true, ...wait });
    expect(await terminal.run('echo last')).toMatchObject({ ...done, exit_code: 0, output: 'last\n' });
    expect(await terminal.run('no-such-program-here')).toMatchObject({ ...done, exit_code: 127 });
    expect(await terminal.info()).toMatchObject({ last_exit_code: 127, status: 'idle', shell_type: shell });
    await terminal.close();
  });

  test.skipIf(skips)('several lines are one input, and what all of them wrote is answered', async () => {
    const terminal = await openTerminal(product, { shell_type: shell });
    const loop = shell === 'fish' ? 'for n in 1 2\n  echo n$n\nend' : 'for n in 1 2; do\n  echo n$n\ndone';
    expect(await terminal.run(loop)).toMatchObject({ wait_reason: 'command_done', exit_code: 0 });
    await terminal.showsText(/n1\nn2$/m);
    const lines = `echo one\nsh -c 'exit 3'\nsh -c 'echo two; exit 4'`;
    // A shell that knows no pastes takes them one by one.
    const whole = { wait_reason: 'command_done', exit_code: 4, output: 'one\ntwo\n' };
    const last = { wait_reason: 'matched', output: expect.stringMatching(/\btwo\n?/) };
    expect(await terminal.run(lines, shell === 'sh' ? { wait_for: 'two$' } : {})).toMatchObject(
      shell === 'sh' ? last : whole,
    );
    await expect.poll(async () => (await terminal.info()).last_exit_code, { timeout: 60_000 }).toBe(4);
    await terminal.close();
  });

  test.skipIf(skips)('it can be interrupted', async () => {
    const terminal = await openTerminal(product, { shell_type: shell });
    expect(await terminal.run('sleep 300', { timeout_seconds: 0.5 })).toMatchObject({
      wait_reason: 'timeout_still_running',
      foreground_process: [{ name: 'sleep' }],
    });
    expect(await terminal.press('ctrl+c')).toMatchObject({ wait_reason: 'command_done', exit_code: 130 });
    await terminal.close();
  });
});

describe('what a call waits for', () => {
  test('the end of the command, a line, input, silence, the time, the end of the shell', async () => {
    const terminal = await openTerminal(product);
    expect(await terminal.run('echo x')).toMatchObject({ wait_reason: 'command_done', matched: false });
    const matched = await terminal.run('echo getting; echo ready; sleep 300', { wait_for: '^r(ea)dy$' });
    expect(matched).toMatchObject({ wait_reason: 'matched', matched: true, matched_line: 'ready' });
    expect(matched).not.toHaveProperty('exit_code');
    // Between two commands a shell may take no notice of it.
    await expect
      .poll(async () => (await terminal.read({ include_foreground_process: true })).foreground_process)
      .toMatchObject([{ name: 'sleep' }]);
    await terminal.press('ctrl+c');
    expect(await terminal.run('cat')).toMatchObject({
      wait_reason: 'awaiting_input',
      foreground_process: [{ name: 'cat' }],
    });
    await terminal.press('ctrl+d');
    expect(await terminal.run('echo begins; sleep 300', { wait_idle_ms: 200 })).toMatchObject({
      wait_reason: 'quiet',
      output: 'begins\n',
    });
    expect(await terminal.read({ timeout_seconds: 0.3 })).toMatchObject({
      wait_reason: 'timeout_still_running',
    });
    await terminal.press('ctrl+c');
    expect(await terminal.run('exit 7')).toMatchObject({ wait_reason: 'exited' });
    expect(await terminal.info()).toMatchObject({ status: 'exited' });
    expect(await terminal.send({ input: 'x' })).toMatchObject({ success: false, input_sent: '' });
    expect(await terminal.close()).toMatchObject({ success: true, exit_code: 7 });
  });

  test('a pattern does not match the command that is typed', async () => {
    const terminal = await openTerminal(product, { dimensions: { width: 30, height: 10 } });
    for (const command of [
      'true needle; sleep 0.3; echo done',
      `true ${'x'.repeat(80)} needle\nsleep 0.3; echo done`,
    ])
      expect(await terminal.run(command, { wait_for: 'needle|^done' })).toMatchObject({
        wait_reason: 'matched',
        matched_line: 'done',
      });
    // Typed ahead, it is shown twice: by the kernel, and by the shell when it gets to it.
    for (const command of ['true needle; sleep 0.3; echo done', 'true needle\nsleep 0.3; echo done']) {
      await terminal.send({ input: 'sleep 0.5; echo busy', execute: true });
      expect(await terminal.run(command, { wait_for: 'needle|^done' })).toMatchObject({
        wait_reason: 'matched',
        matched_line: 'done',
      });
    }
    await terminal.close();
  });

  test('what came before the call that waits for it, but after the input, is not missed', async () => {
    const terminal = await openTerminal(product, { command: 'echo first; false' });
    await terminal.showsText(/^first\n\$$/m);
    expect(await terminal.read(LONG)).toMatchObject({ wait_reason: 'command_done', exit_code: 1 });
    await terminal.send({ input: 'echo second; sleep 300', execute: true });
    await expect.poll(async () => (await terminal.read()).output, { timeout: LONG_MS }).toMatch(/^second$/m);
    // It has been read by now.
    expect(await terminal.read({ wait_for: '^second', timeout_seconds: 0.2 })).toMatchObject({
      matched: false,
    });
    await terminal.press('ctrl+c');
    expect(await terminal.run('sleep 0.5; exit 9', { timeout_seconds: 0.1 })).toMatchObject({
      wait_reason: 'timeout_still_running',
    });
    await expect.poll(async () => (await terminal.info()).status, { timeout: LONG_MS }).toBe('exited');
    expect(await terminal.read(LONG)).toMatchObject({ wait_reason: 'exited' });
    await terminal.close();
  });

  test('a pattern is found in what a program draws', async () => {
    const terminal = await openTerminal(product);
    const drawing = `printf '\\033[?1049h\\033[2J\\033[5;5Hmenu\\033[7;5Hquit'; sleep 300`;
    expect(await terminal.run(drawing, { wait_for: 'quit' })).toMatchObject({
      wait_reason: 'matched',
      full_screen: true,
      output: '\n\n\n\n    menu\n\n    quit',
    });
    await terminal.close();
  });

  test('a pattern that never comes ends with the command, one that is none is refused', async () => {
    const terminal = await openTerminal(product);
    expect(await terminal.run('echo other', { wait_for: 'never' })).toMatchObject({
      wait_reason: 'command_done',
      matched: false,
      exit_code: 0,
    });
    const { error } = await terminal.run('touch typed', { wait_for: '(' });
    expect(error).toMatchObject({ code: 'PARAM_002' });
    expect(await terminal.run('ls typed')).toMatchObject({ exit_code: 2 });
    await terminal.close();
  });

  test('what a program prints in the name of the shell is not believed', async () => {
    const terminal = await openTerminal(product);
    const lie = String.raw`printf '\033]133;D;0\007\033]133;D;0;aid=\007'; env | grep -c NONCE; sleep 300`;
    expect(await terminal.run(lie, { timeout_seconds: 1 })).toMatchObject({
      wait_reason: 'timeout_still_running',
      output: '0\n',
    });
    await terminal.close();
  });

  test('while one call waits, others type', async () => {
    const terminal = await openTerminal(product);
    const waiting = terminal.run('sleep 300', { wait_for: 'never' });
    await expect
      .poll(async () => (await terminal.info()).foreground_process, { timeout: 60_000 })
      .toMatchObject([{ name: 'sleep' }]);
    expect(await terminal.press('ctrl+c')).toMatchObject({ exit_code: 130 });
    expect(await waiting).toMatchObject({ wait_reason: 'command_done', exit_code: 130 });
    expect(await terminal.run('echo here')).toMatchObject({ output: 'here\n' });
    await terminal.close();
  });
});

describe('how one is opened', () => {
  test('with a command, a name, a directory, variables and a size', async () => {
    const terminal = await openTerminal(product, {
      session_name: 'build',
      working_directory: '/usr',
      environment_variables: { COLOUR: 'blue green' },
      dimensions: { width: 77, height: 11 },
      command: 'pwd; echo $COLOUR; stty size; tty',
    });
    expect(terminal.opened).toEqual({
      terminal_id: expect.stringMatching(/^term_[a-z0-9]{20,}$/),
      execution_id: expect.stringMatching(/^exec_[a-z0-9]{20,}$/),
      session_name: 'build',
      shell_type: 'bash',
      dimensions: { width: 77, height: 11 },
      process_id: expect.any(Number),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    await terminal.shows([
      '$ pwd; echo $COLOUR; stty size; tty',
      '/usr',
      'blue green',
      '11 77',
      expect.stringMatching(/^\/dev\/(pts\/\d+|console)$/),
      '$',
    ]);
    await terminal.close();
  });

  test.each([
    ['echo a; false', { wait_reason: 'command_done', exit_code: 1 }, /\na\n/],
    ['read -rp "Accept? " answer', { wait_reason: 'awaiting_input' }, /\nAccept\?$/],
    ['exit 3', { wait_reason: 'exited', exit_code: 3, termination_reason: 'exit' }, /exit 3/],
    [
      String.raw`printf '\033[?1049h\033[Hall of it'; read answer`,
      { wait_reason: 'awaiting_input', full_screen: true },
      /^all of it/,
    ],
  ])('with a command that is waited for: %s', async (command, expected, output) => {
    const { data, text } = await product.call('terminal_create', { shell_type: 'bash', command, ...LONG });
    expect(data).toMatchObject({
      ...expected,
      terminal_id: expect.stringMatching(/^term_/),
      output: expect.stringMatching(output),
    });
    const isOpen = expected.wait_reason !== 'exited';
    expect(text).toMatch(new RegExp(`\nTerminal ${data.terminal_id} .*${isOpen ? 'is open' : 'has ended'}`));
    if (isOpen) await terminalOf(product, data).close();
  });

  test('not at all where the call is cancelled while it waits', async () => {
    const before = (await product.call('terminal_list', {})).data.total_count;
    const cancel = new AbortController();
    const calling = product.client.callTool(
      'terminal_create',
      { shell_type: 'bash', command: 'sleep 600', ...LONG },
      { signal: cancel.signal },
    );
    calling.catch(() => undefined);
    const count = async (): Promise<number> => (await product.call('terminal_list', {})).data.total_count;
    await expect.poll(count, { timeout: LONG_MS }).toBe(before + 1);
    cancel.abort();
    await expect(calling).rejects.toThrow(/abort/i);
    await expect.poll(count, { timeout: LONG_MS }).toBe(before);
  });

  test('create_terminal of shell_execute does the same', async () => {
    const { data } = await product.execute('echo from $0; read answer', {
      create_terminal: true,
      terminal_shell: 'bash',
      terminal_dimensions: { width: 60, height: 8 },
    });
    expect(data).toMatchObject({
      terminal_id: expect.stringMatching(/^term_/),
      status: 'running',
      working_directory: data.default_working_directory,
      working_directory_changed: false,
    });
    const terminal = terminalOf(product, data);
    await terminal.shows(['$ echo from $0; read answer', expect.stringMatching(/^from .*bash$/)]);
    expect(await terminal.info()).toMatchObject({ dimensions: { width: 60, height: 8 } });
    expect(await terminal.run('yes')).toMatchObject({ wait_reason: 'command_done', exit_code: 0 });
    await terminal.close();
  });

  test('not with a shell or a directory that is not there, nor with a wrong size', async () => {
    const before = (await product.call('terminal_list', {})).data.total_count;
    const refused = async (args: object): Promise<string> =>
      (await product.call('terminal_create', { ...args })).data.error?.code;
    expect(await refused({ shell_type: 'powershell' })).toBe('EXECUTION_001');
    expect(await refused({ working_directory: '/no/such/place' })).toBe('PARAM_002');
    expect(await refused({ dimensions: { width: 1, height: 10 } })).toBe('PARAM_002');
    expect(await refused({ shell_type: 'tcsh' })).toBe('PARAM_002');
    expect(await refused({ timeout_seconds: 5 })).toBe('PARAM_002');
    expect((await product.call('terminal_list', {})).data.total_count).toBe(before);
  });

  test('a flood in one delays no other', async () => {
    const flood = await openTerminal(product, { command: String.raw`yes "$(printf '\033[31mred\033[0m')"` });
    const other = await openTerminal(product);
    await expect
      .poll(async () => (await flood.read()).total_lines, { timeout: 60_000 })
      .toBeGreaterThan(1000);
    for (let n = 0; n < 20; n++)
      expect(await other.run(`echo ${n}`, LONG)).toMatchObject({ output: `${n}\n`, exit_code: 0 });
    expect(await product.execute('echo plain')).toMatchObject({ data: { stdout: 'plain\n' } });
    expect(
      (await flood.read({ line_count: 1, include_foreground_process: true })).foreground_process,
    ).toMatchObject([{ name: 'yes' }]);
    expect(await flood.press('ctrl+c')).toMatchObject({ exit_code: 130 });
    await flood.close({ save_history: false });
    await other.close();
  });
});
