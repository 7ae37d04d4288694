/** What is typed arrives as it was meant: text, pastes, keys, control codes and bytes; and only at whom it was meant for. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { needs } from '../setup/needs.ts';
import type { Product } from './support/product.ts';
import { openProduct } from './support/product-here.ts';
import { LONG, LONG_MS, openTerminal, type TestTerminal, writePrompts } from './support/terminal.ts';

let product: Product;
beforeAll(async () => {
  product = await openProduct();
  writePrompts(product.directory);
});
afterAll(() => product.close());

const file = (name: string): string => readFileSync(join(product.work, name), 'latin1');
async function has(name: string, text: string): Promise<void> {
  await expect.poll(() => file(name), { timeout: LONG_MS }).toBe(text);
}

/** A program that takes exactly so many bytes as they come, and shows them in hexadecimal. */
async function takeBytes(terminal: TestTerminal, count: number, modes = ''): Promise<void> {
  const command = `stty raw -echo; printf '${modes}ready\\r\\n'; head -c ${count} | od -An -v -tx1 -w64; stty sane`;
  expect(await terminal.run(command, { wait_for: 'ready' })).toMatchObject({ matched: true });
}

/** What it got, of what was sent. */
async function got(terminal: TestTerminal, args: Record<string, unknown>): Promise<string> {
  // Refused as long as nobody reads.
  await expect.poll(() => terminal.send(args)).toMatchObject({ success: true });
  const { matched_line: line } = await terminal.read({ wait_for: '^ [0-9a-f][0-9a-f ]+$', ...LONG });
  return (line as string | undefined)?.replaceAll(' ', '') ?? '';
}

describe('a paste', () => {
  const lines = Array.from({ length: 1000 }, (_, index) => `${index} ${'x'.repeat(95)}`).join('\n');

  test('of 100 KB arrives whole, at a shell and at a program', async () => {
    const terminal = await openTerminal(product);
    const sent = await terminal.run(`cat > here.txt <<'END'\n${lines}\nEND`);
    expect(sent).toMatchObject({ wait_reason: 'command_done', exit_code: 0 });
    await has('here.txt', `${lines}\n`);
    await terminal.run(`head -c ${lines.length + 1} > head.txt`);
    expect(await terminal.run(lines)).toMatchObject({ wait_reason: 'command_done', exit_code: 0 });
    await has('head.txt', `${lines}\n`);
    await terminal.close();
  });

  test('into a program that does not read delays nobody, and it gets it when it reads', async () => {
    const terminal = await openTerminal(product);
    await terminal.run(
      `stty raw -echo; until [ -e go ]; do sleep 0.1; done; head -c ${lines.length} > late.txt; stty sane`,
      {
        timeout_seconds: 0.3,
      },
    );
    expect(await terminal.send({ input: lines })).toMatchObject({
      success: true,
      message: expect.stringContaining('not reading'),
    });
    const other = await openTerminal(product);
    expect(await other.run('touch go')).toMatchObject({ exit_code: 0 });
    await has('late.txt', lines.replaceAll('\n', '\r'));
    await other.close();
    await terminal.close();
  });

  test('is marked as one where the program can tell, and cannot end itself', async () => {
    const terminal = await openTerminal(product);
    const modes = String.raw`\033[?2004h`;
    const hex = (text: string): string => Buffer.from(text).toString('hex');
    const marked = '\u001B[200~a\rb\u001B[201~';
    await takeBytes(terminal, marked.length, modes);
    expect(await got(terminal, { input: 'a\nb' })).toBe(hex(marked));
    const hostile = '\u001B[200~a\rrm x\u001B[201~';
    await takeBytes(terminal, hostile.length, modes);
    expect(await got(terminal, { input: 'a\n\u001B[201~rm x' })).toBe(hex(hostile));
    // One line is typed.
    await takeBytes(terminal, 3, modes);
    expect(await got(terminal, { input: 'abc' })).toBe(hex('abc'));
    await terminal.close();
  });

  test('that is longer than an input may be is refused, and nothing of it is typed', async () => {
    const terminal = await openTerminal(product);
    expect((await terminal.run('x'.repeat(1024 * 1024 + 1))).error).toMatchObject({ code: 'PARAM_002' });
    await terminal.shows(['$']);
    await terminal.close();
  });
});

describe('bytes', () => {
  test('raw_bytes are exactly those, with spaces between them or not', async () => {
    const terminal = await openTerminal(product);
    await takeBytes(terminal, 8);
    expect(await got(terminal, { input: '1bff80 00c3a90a0D', raw_bytes: true })).toBe('1bff8000c3a90a0d');
    for (const input of ['1', '1b5', 'xx', '0x41', '', '41 4'])
      expect((await terminal.send({ input, raw_bytes: true })).error).toMatchObject({ code: 'PARAM_002' });
    await terminal.close();
  });

  test('control_codes are read once, from left to right', async () => {
    const terminal = await openTerminal(product);
    await takeBytes(terminal, 13);
    expect(await got(terminal, { input: String.raw`^C\x03\e[A\t\u00e9\\n\^a^[`, control_codes: true })).toBe(
      '03031b5b4109c3a95c6e5e611b',
    );
    await terminal.close();
  });

  test('without control_codes the same text is text', async () => {
    const terminal = await openTerminal(product);
    await takeBytes(terminal, 8);
    expect(await got(terminal, { input: String.raw`^C\x03\t` })).toBe(
      Buffer.from(String.raw`^C\x03\t`).toString('hex'),
    );
    await terminal.close();
  });

  test('keys are what a terminal sends for them, in the form that the program asked for', async () => {
    const terminal = await openTerminal(product);
    const keys = ['up', 'home', 'f5', 'shift+tab', 'ctrl+c', 'alt+x', 'enter', 'é'];
    await takeBytes(terminal, 20);
    expect(await got(terminal, { keys })).toBe('1b5b411b5b481b5b31357e1b5b5a031b780dc3a9');
    await takeBytes(terminal, 20, String.raw`\033[?1h`);
    expect(await got(terminal, { keys })).toBe('1b4f411b4f481b5b31357e1b5b5a031b780dc3a9');
    await terminal.close();
  });

  test('execute adds Enter, also alone', async () => {
    const terminal = await openTerminal(product);
    await takeBytes(terminal, 4);
    await terminal.send({ input: 'ab', execute: true });
    await terminal.send({ execute: true });
    await expect.poll(terminal.screen, { timeout: LONG_MS }).toContain(' 61 62 0d 0d');
    await terminal.close();
  });

  test.skipIf(needs('python3', 'zsh')).for([
    ['bash', { input: 'echo a-$((1+1))\n' }],
    ['bash', { input: 'echo a-$((1+1))\r' }],
    ['bash', { input: 'echo a-$((1+1))\r\n' }],
    ['bash', { input: 'echo a-$((1+1))\n', execute: true }],
    ['bash', { input: 'x=$((1+1))\necho a-$x\n' }],
    ['bash', { input: String.raw`echo a-$((1+1))\n`, control_codes: true }],
    ['zsh', { input: 'echo a-$((1+1))\n' }],
    ['sh', { input: 'echo a-$((1+1))\n' }],
    ['python3 -q', { input: 'print("a-" + str(1+1))\n' }],
    ['cat', { input: 'a-2\n' }],
  ] as const)('a line end at the end presses Enter once: %s, %j', async ([program, args]) => {
    const shell = program === 'zsh' || program === 'sh' ? program : 'bash';
    const terminal = await openTerminal(product, { shell_type: shell });
    if (program !== shell) await terminal.run(program);
    expect(await terminal.send({ ...args, ...LONG })).toMatchObject({
      input_sent: expect.stringMatching(/[\r\n]$|\\n$/),
    });
    const lines = (await terminal.screen()).map((line) => line.trimEnd());
    expect(lines).toContain('a-2');
    // One prompt after it: nothing was entered besides.
    expect(lines.slice(lines.lastIndexOf('a-2') + 1).length).toBeLessThanOrEqual(1);
    await terminal.close();
  });

  test.each([
    [{ keys: ['no-such-key'] }, 'PARAM_002'],
    [{ keys: ['up'], input: 'x' }, 'PARAM_002'],
    [{ input: '41', raw_bytes: true, control_codes: true }, 'PARAM_002'],
    [{}, 'PARAM_001'],
    [{ input: 'x', send_to: 'what:ever' }, 'PARAM_002'],
    [{ input: 'x', sent_to: 'bash' }, 'PARAM_002'],
  ])('%j is refused', async (args, code) => {
    const terminal = await openTerminal(product);
    expect((await terminal.send(args)).error).toMatchObject({ code });
    await terminal.shows(['$']);
    await terminal.close();
  });
});

describe('the guard', () => {
  const passes = async (terminal: TestTerminal, send_to: string): Promise<boolean> => {
    // An empty input is sent or not, and changes nothing.
    const { success, program_guard: guard } = await terminal.send({ input: '', send_to });
    expect(guard).toMatchObject({ passed: success, target: send_to });
    return success;
  };
  const verdicts = async (terminal: TestTerminal, targets: readonly string[]): Promise<unknown> => {
    const found: Record<string, boolean> = {};
    for (const target of targets) found[target] = await passes(terminal, target);
    return found;
  };
  const inFront = async (terminal: TestTerminal, ...names: string[]): Promise<void> => {
    await expect
      .poll(
        async () =>
          (await terminal.info()).foreground_process.map(({ name }: { name: string }) => name).toSorted(),
        { timeout: LONG_MS },
      )
      .toEqual(names.toSorted());
  };

  test('at a prompt', async () => {
    const terminal = await openTerminal(product);
    const pid = terminal.opened.process_id;
    const atPrompt = {
      bash: true,
      '/bin/bash': true,
      'sessionleader:': true,
      [`pid:${pid}`]: true,
      '*': true,
      zsh: false,
      bas: false,
      '/bin/sleep': false,
      'pid:1': false,
    };
    expect(await verdicts(terminal, Object.keys(atPrompt))).toEqual(atPrompt);
    await terminal.close();
  });

  test('at a prompt with a job in the background', async () => {
    const terminal = await openTerminal(product);
    await terminal.run('sleep 300 &');
    const withJob = { bash: true, 'sessionleader:': true, sleep: false };
    expect(await verdicts(terminal, Object.keys(withJob))).toEqual(withJob);
    await terminal.close();
  });

  test('while a program runs', async () => {
    const terminal = await openTerminal(product);
    await terminal.run('cat');
    const running = {
      cat: true,
      '/bin/cat': true,
      '*': true,
      bash: false,
      'sessionleader:': false,
      [`pid:${terminal.opened.process_id}`]: false,
    };
    expect(await verdicts(terminal, Object.keys(running))).toEqual(running);
    const { foreground_process: front } = await terminal.info();
    expect(await passes(terminal, `pid:${front[0].process_id}`)).toBe(true);
    await terminal.close();
  });

  test.skipIf(needs('python3'))('while a program runs in a shell in the shell', async () => {
    const terminal = await openTerminal(product);
    await terminal.run('bash --norc', { wait_idle_ms: 200 });
    await inFront(terminal, 'bash');
    const nested = { bash: true, 'sessionleader:': false };
    expect(await verdicts(terminal, Object.keys(nested))).toEqual(nested);
    await terminal.send({ input: 'python3 -q', execute: true, ...LONG, wait_for: '>>>' });
    const nestedFurther = { python3: true, bash: false, 'sessionleader:': false };
    expect(await verdicts(terminal, Object.keys(nestedFurther))).toEqual(nestedFurther);
    await terminal.close();
  });

  test('while a pipeline runs', async () => {
    const terminal = await openTerminal(product);
    await terminal.send({ input: 'sleep 300 | cat | tee x', execute: true });
    await inFront(terminal, 'sleep', 'cat', 'tee');
    const pipeline = { sleep: true, cat: true, tee: true, bash: false };
    expect(await verdicts(terminal, Object.keys(pipeline))).toEqual(pipeline);
    await terminal.close();
  });

  test('tells who got the input, and not who came of it', async () => {
    const terminal = await openTerminal(product);
    const bash = { process_id: terminal.opened.process_id, name: 'bash' };
    expect(await terminal.run('sleep 300', { send_to: 'bash', wait_idle_ms: 300 })).toMatchObject({
      program_guard: { passed: true, foreground_process: [bash] },
      foreground_process: [{ name: 'sleep' }],
    });
    expect(await terminal.send({ keys: ['ctrl+c'] })).toMatchObject({
      message: expect.stringMatching(/to sleep \(/),
    });
    await terminal.shows(['$ sleep 300', '^C', '$']);
    const message = `bytes were sent to bash (${bash.process_id}).`;
    expect(await terminal.send({ input: 'sleep 300', execute: true })).toMatchObject({
      message: expect.stringContaining(message),
    });
    await terminal.close();
  });

  test('sends nothing where it does not match, and names the foreground process', async () => {
    const terminal = await openTerminal(product);
    await terminal.run('cat > typed.txt');
    const { foreground_process: front } = await terminal.info();
    expect(await terminal.run('stray', { send_to: 'bash' })).toMatchObject({
      success: false,
      input_sent: '',
      program_guard: { passed: false, target: 'bash', foreground_process: front },
      message: `Nothing was sent: the foreground process is cat (${front[0].process_id}), not bash.`,
    });
    expect(await terminal.run('meant', { send_to: 'cat' })).toMatchObject({ success: true });
    await terminal.press('ctrl+d');
    expect(file('typed.txt')).toBe('meant\n');
    await terminal.close();
  });
});
