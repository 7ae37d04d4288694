/** Terminals widen nothing: the policy is asked before a line is entered, secrets are not kept, and none is inherited. */
import { readdirSync, readFileSync, readlinkSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listProcesses } from '../../src/executions/process-table.ts';
import { needs } from '../setup/needs.ts';
import { auditLines } from '../support/stored.ts';
import { createPlace, type Place, type Product } from './support/product.ts';
import { openProduct } from './support/product-here.ts';
import { LONG, openTerminal, writePrompts } from './support/terminal.ts';

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

const audited = (event: string): Record<string, unknown>[] => auditLines(place.stateDir, event);

/** Files of the state directory in which a text occurs. */
const filesWith = (text: string): string[] =>
  readdirSync(place.stateDir, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const path = join(place.stateDir, name);
    return statSync(path).isFile() && readFileSync(path).includes(text);
  });

describe('who may have one', () => {
  test.for([
    [{ MCP_SHELL_SECURITY_PRESET: 'minimal' }],
    [{ MCP_SHELL_SECURITY_ALLOWED_COMMANDS: 'ls,echo,bash' }],
    [{ MCP_SHELL_SECURITY_MODE: 'restrictive' }],
  ] as const)('nobody under %j', async ([env]) => {
    await start(env);
    const refused = { error: { code: 'SECURITY_003', details: { rule: 'terminal' } } };
    expect(await create()).toMatchObject(refused);
    const executed = await product.execute('ls', { create_terminal: true });
    expect(executed.data).toMatchObject(refused);
    expect((await product.call('terminal_list', {})).data.total_count).toBe(0);
  });

  test('under an allow-list with a root of programs, those programs alone are there', async () => {
    await start({
      MCP_SHELL_SECURITY_PRESET: 'production',
      MCP_SHELL_SECURITY_ALLOWED_COMMANDS: 'ls,cat,echo',
    });
    const terminal = await openTerminal(product);
    expect(await terminal.run('ls /bin/sh && echo there')).toMatchObject({ exit_code: expect.any(Number) });
    expect(await terminal.run('echo hi')).toMatchObject({ output: 'hi\n', exit_code: 0 });
    // What the terminal shows is judged; with a key that changes the line, Enter has to come alone.
    await terminal.send({ keys: ['t', 'o', 'u', 'c', 'x', 'left', 'h', 'right', 'backspace', 'space', 'n'] });
    expect(await terminal.press('enter')).toMatchObject({ error: { code: 'SECURITY_003' } });
    await terminal.send({ keys: ['ctrl+c'] });
    expect(await terminal.press('t', 'o', 'u', 'c', 'h', 'space', 'n', 'left', 'enter')).toMatchObject({
      error: {
        code: 'SECURITY_003',
        details: { rule: 'uncertain_line', hint: expect.stringContaining('send Enter alone') },
      },
    });
    expect(readdirSync(place.work)).not.toContain('n');
  });
});

describe('what is typed at a prompt', () => {
  test.for([
    ['rm -rf /', 'SECURITY_001'],
    ['echo fine; curl example.invalid', 'SECURITY_003'],
    ['echo "$(curl x)"', 'SECURITY_003'],
    ['echo one\ncurl x\necho two', 'SECURITY_003'],
    [':(){ :|:& };:', 'SECURITY_001'],
  ] as const)('%j is refused, and nothing of it is typed', async ([input, code]) => {
    await start({ MCP_SHELL_SECURITY_BLOCKED_COMMANDS: 'curl' });
    const terminal = await openTerminal(product);
    expect((await terminal.run(input)).error).toMatchObject({ code });
    expect((await terminal.send({ input: `${input}\n`, ...LONG })).error).toMatchObject({ code });
    const bytes = Buffer.from(`${input}\r`).toString('hex');
    expect((await terminal.send({ input: bytes, raw_bytes: true })).error).toMatchObject({ code });
    expect((await create({ command: input })).error).toMatchObject({ code });
    expect(await terminal.screen()).toEqual(['$']);
    expect(audited('terminal_input_denied')).toHaveLength(3);
    expect(audited('terminal_input')).toEqual([]);
    expect(await terminal.run('echo "curl"')).toMatchObject({ output: 'curl\n' });
  });

  test('is put together from what was typed before', async () => {
    await start({ MCP_SHELL_SECURITY_BLOCKED_COMMANDS: 'curl' });
    const terminal = await openTerminal(product);
    const blocked = { code: 'SECURITY_003' };
    await terminal.send({ input: 'cu' });
    await terminal.send({ keys: ['x', 'backspace', 'r'] });
    expect((await terminal.send({ input: 'l x', execute: true })).error).toMatchObject(blocked);
    await terminal.send({ input: 'l x' });
    expect((await terminal.send({ keys: ['enter'] })).error).toMatchObject(blocked);
    await expect.poll(() => terminal.screen()).toEqual(['$ curl x']);
    await terminal.press('ctrl+c');
    expect(await terminal.run('echo free')).toMatchObject({ output: 'free\n' });
    // What another program gets need be no command, but the shell may get what it leaves.
    await terminal.run('cat');
    expect(await terminal.run('xcurl x')).toMatchObject({ error: { details: { rule: 'blocked: curl' } } });
    expect(await terminal.run('see x')).toMatchObject({ wait_reason: 'awaiting_input', output: 'see x\n' });
  });

  test('needs another terminal once other restrictions hold', async () => {
    await start();
    const old = await openTerminal(product);
    await old.run('echo before');
    await product.call('security_set_restrictions', { blocked_commands: ['curl'] });
    const refused = { error: { code: 'SECURITY_003', details: { rule: 'terminal' } } };
    expect(await old.run('echo after')).toMatchObject(refused);
    expect(await old.send({ keys: ['ctrl+c'] })).toMatchObject(refused);
    expect(await old.screen()).toEqual(['$ echo before', 'before', '$']);
    const fresh = await openTerminal(product);
    expect(await fresh.run('echo after')).toMatchObject({ output: 'after\n' });
    expect(await fresh.run('curl x')).toMatchObject({ error: { code: 'SECURITY_003' } });
    expect(await old.close()).toMatchObject({ success: true });
  });

  test('is recorded before it is typed', async () => {
    await start();
    const terminal = await openTerminal(product);
    await terminal.run('echo hello');
    await terminal.send({ keys: ['up', 'ctrl+c'] });
    expect(audited('terminal_input')).toMatchObject([
      {
        terminalId: terminal.id,
        principal: 'local',
        decision: 'allow',
        input: { text: 'echo hello<enter>' },
      },
      { input: { text: '<up><ctrl+c>' } },
    ]);
    await terminal.close();
    expect(audited('execution_ended')).toMatchObject([
      { executionId: terminal.opened.execution_id, terminalId: terminal.id, reason: 'terminated' },
    ]);
  });
});

describe('secrets', () => {
  test.skipIf(needs('python3')).for([
    ['read -s', 'read -s -p "Password: " p'],
    ['getpass', `python3 -c 'import getpass; getpass.getpass()'`],
    ['stty -echo', `stty -echo; printf 'Password: '; read p; stty echo`],
  ] as const)('what is typed at %s is kept nowhere', async ([, command]) => {
    await start();
    const terminal = await openTerminal(product);
    expect(await terminal.run(command)).toMatchObject({ wait_reason: 'awaiting_input', secret_prompt: true });
    await terminal.send({ input: 'first-half-' });
    await terminal.run('xyzzy-hunter2');
    await terminal.run('echo public');
    expect((await terminal.read({ start_line: 0 })).output).not.toContain('hunter2');
    expect(filesWith('xyzzy-hunter2')).toEqual([]);
    await terminal.close();
    expect(filesWith('first-half-')).toEqual([]);
    expect(filesWith('xyzzy-hunter2')).toEqual([]);
    // The rest of it is where it is looked for.
    expect(filesWith('echo public')).toHaveLength(3);
    expect(audited('terminal_input').map(({ input }) => input)).toMatchObject([
      { text: expect.any(String) },
      { isSecret: true },
      { isSecret: true },
      { text: 'echo public<enter>' },
    ]);
  });
});

describe('descriptors', () => {
  const descriptors = (pid: number): string[] =>
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return [`${fd} ${readlinkSync(`/proc/${pid}/fd/${fd}`)}`];
      } catch {
        return [];
      }
    });

  test.for(['auto', 'off'])(
    'no command and no terminal has another terminal, with sandbox = %s',
    async (sandbox) => {
      await start({ MCP_SHELL_SECURITY_SANDBOX: sandbox });
      const second = await openTerminal(product);
      const terminals = [await openTerminal(product), second, await openTerminal(product)];
      await second.run('cat');
      const { data } = await product.execute('sleep 300', { execution_mode: 'background' });
      for (const terminal of terminals) {
        const open = descriptors(terminal.opened.process_id);
        expect(open.filter((each) => /ptmx/.test(each))).toEqual([]);
        // bash keeps the terminal open once more, for itself.
        expect(open.filter((each) => !/^(0|1|2|255) \/dev\/(pts\/\d+|console)$/.test(each))).toEqual([]);
        const own = new Set(open.map((each) => each.split(' ')[1]));
        expect(own.size).toBe(1);
      }
      const { foreground_process: front } = await second.info();
      expect(descriptors(front[0].process_id).filter((each) => !/^[012] /.test(each))).toEqual([]);
      expect(descriptors(data.process_id).filter((each) => /ptmx|pts/.test(each))).toEqual([]);
      const listed = await product.execute('ls -l /proc/self/fd');
      expect(listed.data.stdout).not.toMatch(/ptmx|pts/);
    },
  );

  test('neither the server nor anything it started has one, but their host alone', async () => {
    await start();
    await openTerminal(product);
    const holders = listProcesses().filter(({ pid }) => {
      try {
        const isOurs =
          readFileSync(`/proc/${pid}/environ`, 'utf8').includes(place.stateDir) ||
          readlinkSync(`/proc/${pid}/cwd`).startsWith(place.stateDir);
        return isOurs && descriptors(pid).some((each) => each.includes('ptmx'));
      } catch {
        return false;
      }
    });
    expect(holders.map(({ pid }) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[1])).toEqual([
      expect.stringMatching(/pty-host\.js$/),
    ]);
  });
});

test.skipIf(needs('bwrap'))(
  'whoever reads or types is told which protected file a terminal was ended for',
  async () => {
    await start({ MCP_SHELL_SECURITY_SANDBOX: 'required' });
    const config = join(place.work, '.mcp.json');
    writeFileSync(config, '{}');
    const { terminal_id } = await create({ working_directory: place.work });
    const typing = product.call('terminal_send_input', {
      terminal_id,
      input: 'echo be"gun"; sleep 300',
      execute: true,
      wait_for: 'never',
      ...LONG,
    });
    await expect
      .poll(async () => (await product.call('terminal_get_output', { terminal_id })).text)
      .toContain('begun');
    writeFileSync(`${config}~`, '{ "mcpServers": {} }');
    renameSync(`${config}~`, config);
    const typed = await typing;
    expect(typed.data).toMatchObject({ termination_reason: 'protection_lost' });
    const read = await product.call('terminal_get_output', { terminal_id });
    const asked = await product.call('terminal_get_info', { terminal_id });
    for (const { text } of [typed, read, asked]) expect(text).toContain(`protection: ${config}`);
  },
);

/** Each may or may not hit the moment. */
const TERMINALS = 8;

test.skipIf(needs('bwrap'))('a terminal that is ended does not go on with its line', async () => {
  await start({ MCP_SHELL_SECURITY_SANDBOX: 'required' });
  const config = join(place.work, '.mcp.json');
  writeFileSync(config, '{}');
  const ids = await Promise.all(
    Array.from({ length: TERMINALS }, async () => {
      const { terminal_id } = await create({ working_directory: place.work });
      const input = 'echo be"gun"; sleep 300; echo "$?" >> .mcp.json; sleep 300';
      await product.call('terminal_send_input', {
        terminal_id,
        input,
        execute: true,
        wait_for: 'begun',
        ...LONG,
      });
      return terminal_id;
    }),
  );
  writeFileSync(`${config}~`, 'new');
  renameSync(`${config}~`, config);
  for (const terminal_id of ids)
    await expect
      .poll(async () => (await product.call('terminal_get_output', { terminal_id })).data)
      .toMatchObject({ termination_reason: 'protection_lost' });
  expect(readFileSync(config, 'utf8')).toBe('new');
});
