/** What the person who is responsible sees of what runs, and does about it, from another process. */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { verifyAudit } from '../../src/security/security.ts';
import { needs } from '../setup/needs.ts';
import { storedExecution, storedExecutions } from '../support/stored.ts';
import { type Ran, runProgram } from './support/principals.ts';
import { CLI, createPlace, type Place, type Product, startProduct } from './support/product.ts';
import { startRaw } from './support/raw-process.ts';

const ENV = { MCP_SHELL_SECURITY_SANDBOX: 'off' };

let place: Place;
let product: Product;
beforeEach(async () => {
  place = createPlace();
  product = await startProduct({ place, env: ENV });
});
afterEach(async () => {
  await product.close();
  place.remove();
});

const run = (...args: string[]): Promise<Ran> => runProgram(place, args);

interface Rows {
  readonly servers: number;
  readonly rows: readonly { readonly id: string; readonly state: string; readonly memoryBytes?: number }[];
}
const look = async (): Promise<Rows> => JSON.parse((await run('top', '--json')).stdout) as Rows;

const auditedIn = (event: string): unknown[] =>
  readdirSync(join(place.stateDir, 'audit'))
    .flatMap((name) =>
      readFileSync(join(place.stateDir, 'audit', name), 'utf8')
        .trimEnd()
        .split('\n'),
    )
    .map((line) => JSON.parse(line) as { event: string })
    .filter((line) => line.event === event);

const recordOf = (id: string): Promise<unknown> => storedExecution(place.stateDir, id);
const storedIds = async (): Promise<string[]> => (await storedExecutions(place.stateDir)).map(({ id }) => id);

const start = async (command: string, execution_mode = 'background'): Promise<string> =>
  (await product.execute(command, { execution_mode })).data.execution_id;

/** One that nobody has waited for yet is dead all the same. */
function isGone(pid: number): boolean {
  return !existsSync(`/proc/${pid}`) || /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
}

describe('top', () => {
  test('shows what runs and what ended, with what it uses, and leaves no trace', async () => {
    const id = await start('sleep 300 & sleep 300');
    const { data: failed } = await product.execute('exit 3');
    await expect
      .poll(async () => (await look()).rows.find((row) => row.id === id)?.memoryBytes, { timeout: 30_000 })
      .toBeGreaterThan(100_000);
    const before = snapshot(place.stateDir);
    const { servers, rows } = await look();
    expect(servers).toBe(1);
    expect(rows.map((row) => [row.id, row.state])).toEqual([
      [failed.execution_id, 'failed'],
      [id, 'running'],
    ]);
    const { stdout } = await run('top', '--once');
    expect(stdout).toMatch(/running +\d+:\d\d +[\d.]+ +[\d.]+ [KM]iB +\d+ +\d+ local +sleep 300 & sleep 300/);
    expect(snapshot(place.stateDir)).toEqual(before);
  });

  test('ends one through its server, with everything it started, once', async () => {
    const id = await start('trap "echo bye" TERM; setsid sleep 300 & echo $!; sleep 300; sleep 300');
    const other = await start('sleep 300');
    const pid = async () => (await product.call('process_get_execution', { execution_id: id })).data.stdout;
    await expect.poll(pid, { timeout: 30_000 }).toMatch(/^\d+\n/);
    const escaped = Number.parseInt(await pid(), 10);
    const results = await Promise.all([run('top', '--end', id), run('top', '--end', id)]);
    expect(results.map(({ stdout }) => stdout).join('')).toContain('was ended with everything');
    expect(await recordOf(id)).toMatchObject({ outcome: { status: 'failed', reason: 'terminated' } });
    expect(isGone(escaped)).toBe(true);
    // The server writes this line right after the record.
    await expect
      .poll(() => auditedIn('execution_ended'), { timeout: 30_000 })
      .toMatchObject([{ executionId: id, reason: 'terminated' }]);
    // Asked for twice, if the second came before the end.
    expect(auditedIn('end_requested')[0]).toMatchObject({ executionId: id, principal: 'operator' });
    expect(await look()).toMatchObject({
      rows: [
        { id: other, state: 'running' },
        { id, state: 'failed' },
      ],
    });
    // What has ended stays as it is.
    expect(await run('top', '--end', id)).toMatchObject({ code: 1 });
    expect(await recordOf(id)).toMatchObject({ outcome: { reason: 'terminated' } });
  });

  test('ends a detached one whose server is gone, and the next server says so', async () => {
    const id = await start('sleep 300', 'detached');
    await product.close();
    expect(await look()).toMatchObject({ servers: 0, rows: [{ id, state: 'running' }] });
    expect(await run('top', '--end', id)).toMatchObject({ code: 0 });
    expect(await look()).toMatchObject({ rows: [{ id, state: 'failed' }] });
    product = await startProduct({ place, env: ENV });
    expect((await product.call('process_get_execution', { execution_id: id })).data).toMatchObject({
      status: 'failed',
      termination_reason: 'terminated',
    });
    expect(auditedIn('end_requested')).toMatchObject([{ executionId: id }]);
    expect(verifyAudit({ directory: join(place.stateDir, 'audit') }).problems).toEqual([]);
  });

  test('shows a terminal with what it uses, and ends it by either of its ids', async () => {
    for (const name of ['execution_id', 'terminal_id'] as const) {
      const { data } = await product.call('terminal_create', { shell_type: 'bash', session_name: name });
      expect((await look()).rows[0]).toMatchObject({
        id: data.execution_id,
        state: 'running',
        command: `[terminal ${name}] bash`,
        memoryBytes: expect.any(Number),
      });
      expect(await run('top', '--end', data[name])).toMatchObject({ code: 0 });
      expect((await product.call('terminal_get_info', { terminal_id: data.terminal_id })).data).toMatchObject(
        {
          status: 'exited',
          termination_reason: 'terminated',
        },
      );
    }
  });

  test('shows what a killed server left as lost, and ends it', async () => {
    const server = startRaw(place.command([], ENV));
    const call = { name: 'shell_execute', arguments: { command: 'sleep 301', execution_mode: 'background' } };
    server.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call });
    const { result } = (await server.next()) as {
      result: { structuredContent: { execution_id: string; process_id: number } };
    };
    const { execution_id: id, process_id: pid } = result.structuredContent;
    await expect.poll(() => recordOf(id), { timeout: 30_000 }).toMatchObject({ process: { pid } });
    server.kill();
    await server.rest();
    await expect.poll(async () => (await look()).rows[0]?.state, { timeout: 30_000 }).toBe('lost');
    expect(await run('top', '--end', id)).toMatchObject({ code: 0 });
    expect(isGone(pid)).toBe(true);
    // How it ended, the next server writes down.
    expect(await look()).toMatchObject({ rows: [{ id, state: 'lost', canEnd: false }] });
    expect((await product.call('process_get_execution', { execution_id: id })).data).toMatchObject({
      termination_reason: 'server_lost',
    });
  });

  test.each(['exec_x', '../../etc', `exec_${'a'.repeat(26)}`])('%s is not there', async (id) => {
    expect(await run('top', '--end', id)).toMatchObject({ code: 1 });
  });

  test.skipIf(needs('python3'))(
    'on a terminal: chooses, asks, ends, and puts the terminal in order',
    async () => {
      const first = await start('sleep 301');
      const second = await start('sleep 302');
      const screen = startOnTerminal(['top']);
      await expect.poll(screen.text, { timeout: 30_000 }).toMatch(/2 running[\s\S]*> running.*sleep 302/);
      screen.press('\u001b[B');
      await expect.poll(screen.text, { timeout: 30_000 }).toMatch(/> running.*sleep 301/);
      screen.press('x');
      await expect.poll(screen.text, { timeout: 30_000 }).toContain('y/n');
      screen.press('n');
      await expect.poll(() => screen.text().slice(-900), { timeout: 30_000 }).toContain('q quit');
      expect(await recordOf(first)).not.toHaveProperty('outcome');
      screen.press('xy');
      await expect
        .poll(() => recordOf(first), { timeout: 30_000 })
        .toMatchObject({
          outcome: { reason: 'terminated' },
        });
      await expect.poll(screen.text, { timeout: 30_000 }).toContain('was ended with everything');
      screen.press('q');
      expect(await screen.ended).toBe(0);
      expect(screen.raw().endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
      expect(await recordOf(second)).not.toHaveProperty('outcome');
    },
  );

  test.skipIf(needs('python3'))('a signal puts the terminal in order too', async () => {
    const screen = startOnTerminal(['top']);
    await expect.poll(screen.text, { timeout: 30_000 }).toContain('Nothing runs');
    screen.press('\u0003');
    expect(await screen.ended).toBe(0);
    expect(screen.raw().endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
  });
});

describe('state', () => {
  test('show says what there is, prune removes what ended, is recorded, and keeps what runs', async () => {
    const running = await start('sleep 300');
    for (let n = 0; n < 5; n++) await product.execute(`echo ${n}`);
    const shown = JSON.parse((await run('state', 'show', '--json')).stdout) as unknown;
    expect(shown).toMatchObject({
      directory: place.stateDir,
      servers: 1,
      executions: { count: 6, byStatus: { running: 1, completed: 5 }, unreadable: 0 },
      audit: { files: 1 },
    });
    expect((await run('state', 'show')).stdout).toMatch(/executions .*5 completed/);
    const before = snapshot(place.stateDir);
    expect((await run('state', 'prune', '--keep', '2', '--dry-run')).stdout).toMatch(
      /^4 executions .* would be/,
    );
    expect((await run('state', 'prune')).stdout).toMatch(/^0 executions/);
    expect(snapshot(place.stateDir)).toEqual(before);
    expect((await run('state', 'prune', '--keep', '2')).stdout).toMatch(/^4 executions .* were removed/);
    expect(await storedIds()).toHaveLength(2);
    expect((await run('state', 'prune', '--older-than', '0s')).stdout).toMatch(/^1 execution with/);
    expect(await storedIds()).toEqual([running]);
    expect(auditedIn('outputs_collected')).toMatchObject([
      { principal: 'operator' },
      { principal: 'operator' },
    ]);
    expect(verifyAudit({ directory: join(place.stateDir, 'audit') }).problems).toEqual([]);
    // A server looks once a second at what others did.
    await expect
      .poll(async () => (await product.call('process_list', {})).data.processes)
      .toMatchObject([{ execution_id: running }]);
    expect(await run('state', 'prune', '--older-than', 'long')).toMatchObject({ code: 1 });
  });

  test('show and prune make nothing where there is nothing', async () => {
    await product.close();
    place.remove();
    place = createPlace();
    expect(await run('state', 'show')).toMatchObject({ code: 0 });
    expect(await run('state', 'prune')).toMatchObject({ code: 0 });
    expect(await run('top', '--once')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Nothing runs'),
    });
    expect(readdirSync(place.directory)).toEqual(['work']);
    product = await startProduct({ place, env: ENV });
  });

  test('nothing is read from a directory that others can write, and nothing changed in it', async () => {
    const id = await start('sleep 300');
    chmodSync(place.stateDir, 0o777);
    const answers: Record<string, Ran> = {};
    for (const command of [
      'top --json',
      `top --end ${id}`,
      'executions',
      `output ${id}`,
      'terminals',
      'state show',
      'state prune --keep 0',
      'audit verify',
      'audit search',
      'audit stats',
      'questions',
      'questions allow question_abcd',
      'token list',
      'token revoke any',
    ])
      answers[command] = await run(...command.split(' '));
    const explain = [CLI, '--state-dir', place.stateDir, 'policy', 'explain', 'true'];
    const { status, stdout, stderr } = spawnSync(process.execPath, explain, { encoding: 'utf8' });
    answers['policy explain'] = { code: status ?? -1, stdout, stderr };
    chmodSync(place.stateDir, 0o700);
    const refused = {
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(
        `The state directory ${place.stateDir} can be written by others.`,
      ) as string,
    };
    for (const [command, answer] of Object.entries(answers))
      expect({ command, ...answer }).toMatchObject({ command, ...refused });
    expect((await look()).rows).toMatchObject([{ id, state: 'running' }]);
  });
});

/** The program on a terminal of 100 by 24, by way of Python's. */
function startOnTerminal(args: readonly string[]) {
  const script = [
    'import fcntl, pty, select, struct, sys, termios, os',
    'pid, master = pty.fork()',
    'if pid == 0: os.execv(sys.argv[1], sys.argv[1:])',
    'fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))',
    'while True:',
    '  ready, _, _ = select.select([master, 0], [], [])',
    '  if 0 in ready:',
    '    os.write(master, os.read(0, 1024))',
    '  if master in ready:',
    '    try: data = os.read(master, 65536)',
    '    except OSError: break',
    '    if not data: break',
    '    os.write(1, data)',
    'sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))',
  ].join('\n');
  const { env, cwd } = place.command([], { TERM: 'xterm' });
  const child = spawn('python3', ['-c', script, process.execPath, CLI, ...args], { env: { ...env }, cwd });
  let raw = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    raw += chunk;
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    ended,
    raw: () => raw,
    // Without colours and movements; each picture follows the one before it.
    // oxlint-disable-next-line no-control-regex
    text: () => raw.replaceAll(/\u001b\[[?0-9;]*[A-Za-z]/g, '').slice(-4000),
    press: (keys: string) => void child.stdin.write(keys),
  };
}

/** Everything that a look could change; a server touches its own file, and nothing else changes by itself. */
function snapshot(directory: string): unknown[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .filter((path) => !path.startsWith('run'))
    .map((path) => {
      const { size, mtimeMs, ino } = statSync(join(directory, path));
      return [path, size, mtimeMs, ino];
    });
}
