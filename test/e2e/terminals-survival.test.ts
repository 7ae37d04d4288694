/** Terminals live in a process of their own: they outlive a server that is killed, and end with one that leaves. */
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listProcesses } from '../../src/executions/process-table.ts';
import { createPlace, type Place, type Product, startProduct } from './support/product.ts';
import { type RawProcess, startRaw } from './support/raw-process.ts';
import { LONG_MS, openTerminal, terminalOf, writePrompts } from './support/terminal.ts';

let place: Place;
const products: Product[] = [];
beforeEach(() => {
  place = createPlace();
  writePrompts(place.directory);
});
afterEach(async () => {
  for (const product of products.splice(0)) await product.close();
  place.remove();
});

async function start(env: Record<string, string> = {}): Promise<Product> {
  const product = await startProduct({ place, env });
  products.push(product);
  return product;
}

/** A server that can be killed, with one call at a time. */
function startKillable(env: Record<string, string> = {}) {
  const server: RawProcess = startRaw(place.command([], env));
  let lastId = 0;
  return {
    pid: server.child.pid,
    async call(name: string, args: object) {
      server.say({
        jsonrpc: '2.0',
        id: ++lastId,
        method: 'tools/call',
        params: { name, arguments: args },
      });
      const { result } = (await server.next(LONG_MS)) as {
        result: { structuredContent: { terminal_id: string; execution_id: string; process_id: number } };
      };
      return result.structuredContent;
    },
    async kill() {
      server.kill();
      await server.rest();
    },
  };
}

const isAlive = (pid: number): boolean => listProcesses().some((each) => each.pid === pid && !each.isZombie);

function isHost(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('pty-host.js');
  } catch {
    return false;
  }
}

/** The processes that hold terminals of this state directory. */
const hosts = (): number[] =>
  listProcesses().flatMap(({ pid }) => {
    try {
      return isHost(pid) && readlinkSync(`/proc/${pid}/cwd`).startsWith(place.stateDir) ? [pid] : [];
    } catch {
      return [];
    }
  });

/** Those that a server has started, with work or without. */
const hostsOf = (server: number | undefined): number[] =>
  listProcesses().flatMap(({ pid, parentPid }) => (parentPid === server && isHost(pid) ? [pid] : []));

const executionOf = async (product: Product, execution_id: string) =>
  (await product.call('process_get_execution', { execution_id })).data;

const transcripts = async (product: Product): Promise<string[]> => {
  const { outputs } = (await product.call('list_execution_outputs', { output_type: 'log' })).data;
  const texts: string[] = [];
  for (const { output_id } of outputs)
    texts.push((await product.call('read_execution_output', { output_id })).data.content);
  return texts;
};

test('the first call for a terminal has its host started at once, and a later one uses it', async () => {
  const server = startKillable();
  expect(await server.call('terminal_create', { shell_type: 'none' })).toMatchObject({ error: {} });
  const started = hostsOf(server.pid);
  expect(started).toHaveLength(1);
  expect(hosts()).toEqual([]);
  const opened = await server.call('terminal_create', {});
  expect(hosts()).toEqual(started);
  expect(hostsOf(server.pid)).toEqual(started);
  await server.call('terminal_close', { terminal_id: opened.terminal_id });
  await server.kill();
  await expect.poll(hosts, { timeout: LONG_MS }).toEqual([]);
});

test.for([
  ['terminal_create', { shell_type: 'none' }],
  ['shell_execute', { command: '' }],
] as const)('a server that is killed after a refused %s leaves no host', async ([name, args]) => {
  const server = startKillable();
  await server.call(name, args);
  const started = hostsOf(server.pid);
  expect(started).toHaveLength(name === 'terminal_create' ? 1 : 0);
  await server.kill();
  await expect.poll(() => started.filter(isAlive), { timeout: LONG_MS }).toEqual([]);
});

test('a killed server leaves its terminals to the next one, which ends them when it leaves', async () => {
  const killed = startKillable();
  const opened = await killed.call('terminal_create', { session_name: 'lasting', shell_type: 'bash' });
  const { terminal_id } = opened;
  const input = 'kept=42; cd /usr; until [ -e $OLDPWD/go ]; do sleep 0.1; done; echo alone';
  await killed.call('terminal_send_input', { terminal_id, input, execute: true });
  await killed.kill();
  expect(isAlive(opened.process_id)).toBe(true);

  const next = await start();
  const terminal = terminalOf(next, opened);
  expect(await terminal.info()).toMatchObject({
    session_name: 'lasting',
    status: 'active',
    working_directory: '/usr',
  });
  expect(await executionOf(next, opened.execution_id)).toMatchObject({
    terminal_id,
    process_id: opened.process_id,
    status: 'running',
  });
  expect((await next.call('terminal_create', { session_name: 'lasting' })).data.error).toMatchObject({
    code: 'RESOURCE_004',
  });
  await next.execute('touch go');
  expect(await terminal.read({ wait_for: '^alone$', timeout_seconds: 40 })).toMatchObject({ matched: true });
  expect(await terminal.run('echo $kept; pwd')).toMatchObject({ output: '42\n/usr\n', exit_code: 0 });
  // It has terminals of its own beside those.
  const own = await openTerminal(next);
  expect(await own.run('echo own')).toMatchObject({ output: 'own\n' });
  expect(hosts()).toHaveLength(2);

  products.length = 0;
  await next.close();
  await expect.poll(() => isAlive(opened.process_id), { timeout: LONG_MS }).toBe(false);
  await expect.poll(hosts, { timeout: LONG_MS }).toEqual([]);
  const last = await start();
  expect((await last.call('terminal_list', {})).data.total_count).toBe(0);
  expect((await transcripts(last)).join('')).toContain('\nalone\n$ echo $kept; pwd\n42\n/usr\n');
  for (const { execution_id } of [opened, own.opened])
    expect(await executionOf(last, execution_id)).toMatchObject({
      status: 'failed',
      termination_reason: 'server_shutdown',
      exit_code: 129,
    });
});

test('a terminal that was adopted has its transcript when it is closed', async () => {
  const killed = startKillable();
  const { terminal_id } = await killed.call('terminal_create', { shell_type: 'bash' });
  await killed.call('terminal_send_input', { terminal_id, input: 'echo before', execute: true });
  await killed.kill();
  const next = await start();
  const { data: closed } = await next.call('terminal_close', { terminal_id });
  expect(closed).toMatchObject({ history_saved: true, output_id: expect.stringMatching(/^out_/) });
  expect((await transcripts(next)).join('')).toContain('$ echo before\nbefore\n');
});

test('a terminal outlives several servers, each of which is killed', async () => {
  const first = startKillable();
  const opened = await first.call('terminal_create', { shell_type: 'bash' });
  const { terminal_id } = opened;
  await first.call('terminal_send_input', { terminal_id, input: 'n=1', execute: true });
  await first.kill();
  for (let round = 2; round <= 4; round++) {
    const server = startKillable();
    const sent = await server.call('terminal_send_input', {
      terminal_id,
      input: 'n=$((n+1)); echo "<$n>"',
      execute: true,
      timeout_seconds: 40,
    });
    expect(sent).toMatchObject({ output: `<${round}>\n`, exit_code: 0 });
    await server.kill();
  }
  const next = await start();
  const { execution_id } = opened;
  expect((await next.call('process_terminate', { execution_id, signal: 'KILL' })).data).toMatchObject({
    success: true,
    exit_code: 137,
  });
  expect(await terminalOf(next, opened).info()).toMatchObject({
    status: 'exited',
    termination_reason: 'terminated',
  });
  expect(await terminalOf(next, opened).close()).toMatchObject({ success: true, history_saved: true });
});

test('without a server they end after a while, and what they showed is kept', async () => {
  const killed = startKillable({ MCP_SHELL_LIMITS_TERMINAL_GRACE_SECONDS: '1' });
  const opened = await killed.call('terminal_create', { shell_type: 'bash' });
  const { terminal_id, process_id: pid } = opened;
  await killed.call('terminal_send_input', {
    terminal_id,
    input: 'trap "" HUP TERM; echo words',
    execute: true,
    timeout_seconds: 40,
  });
  expect(isAlive(pid)).toBe(true);
  await killed.kill();
  await expect.poll(() => isAlive(pid), { timeout: LONG_MS }).toBe(false);
  await expect.poll(hosts, { timeout: LONG_MS }).toEqual([]);
  const next = await start();
  expect((await next.call('terminal_list', {})).data.total_count).toBe(0);
  expect((await transcripts(next)).join('')).toContain('\nwords\n');
  expect(await executionOf(next, opened.execution_id)).toMatchObject({
    status: 'failed',
    termination_reason: 'server_shutdown',
    exit_code: 137,
  });
});

test.for(['auto', 'off'])(
  'a killed host takes its terminals with it, and the next one is not hurt, with sandbox = %s',
  async (sandbox) => {
    const product = await start({ MCP_SHELL_SECURITY_SANDBOX: sandbox });
    const terminal = await openTerminal(product);
    await terminal.run('echo before; setsid sleep 307 &');
    const { process_id: pid } = terminal.opened;
    const [host = 0] = hosts();
    process.kill(host, 'SIGKILL');
    await expect
      .poll(async () => (await terminal.info()).error?.code, { timeout: LONG_MS })
      .toBe('RESOURCE_002');
    await expect.poll(() => isAlive(pid), { timeout: LONG_MS }).toBe(false);
    const again = await openTerminal(product);
    expect(await again.run('echo after')).toMatchObject({ output: 'after\n' });
    await expect
      .poll(async () => (await transcripts(product)).join(''), { timeout: LONG_MS })
      .toContain('\nbefore\n');
    const lost = await executionOf(product, terminal.opened.execution_id);
    expect(lost).toMatchObject({ status: 'failed', termination_reason: 'server_lost' });
    expect(lost).not.toHaveProperty('exit_code');
  },
);

describe.for([
  ['its transcript', true, ['cast', 'log']],
  ['nothing', false, []],
] as const)(
  'of a terminal that had ended when its host was killed, %s stays',
  ([, auto_save_history, kept]) => {
    const filesOf = (execution_id: string): string[] => {
      const directory = join(place.stateDir, 'executions', execution_id);
      const isKept = (name: string): boolean => ['raw', 'raw.tail', 'timing', 'log', 'cast'].includes(name);
      return existsSync(directory) ? readdirSync(directory).filter(isKept).sort() : [];
    };
    const input = { input: 'echo SECRETLINE; exit 3', execute: true, timeout_seconds: 40 };

    test('by its server', async () => {
      const product = await start();
      const terminal = await openTerminal(product, { auto_save_history });
      await terminal.send(input);
      const { execution_id } = terminal.opened;
      expect(filesOf(execution_id)).toEqual([...kept, 'raw', 'timing'].sort());
      for (const host of hosts()) process.kill(host, 'SIGKILL');
      await expect.poll(() => filesOf(execution_id), { timeout: LONG_MS }).toEqual(kept);
      expect(await executionOf(product, execution_id)).toMatchObject({
        exit_code: 3,
        termination_reason: 'exit',
      });
    });

    test('by the next server', async () => {
      const killed = startKillable();
      const { execution_id, terminal_id } = await killed.call('terminal_create', {
        shell_type: 'bash',
        auto_save_history,
      });
      await killed.call('terminal_send_input', { terminal_id, ...input });
      // Another one that goes on: what its host holds is not touched.
      const other = startKillable();
      const opened = await other.call('terminal_create', { shell_type: 'bash' });
      const [host = 0] = hostsOf(killed.pid);
      await killed.kill();
      process.kill(host, 'SIGKILL');
      const next = await start();
      expect(await executionOf(next, execution_id)).toMatchObject({
        exit_code: 3,
        termination_reason: 'exit',
      });
      await expect.poll(() => filesOf(execution_id), { timeout: LONG_MS }).toEqual(kept);
      expect(filesOf(opened.execution_id)).toEqual(['raw', 'timing']);
      await other.kill();
    });
  },
);

test('the host starts with the first terminal, its socket is its owner’s alone, and it ends with its server', async () => {
  const product = await start();
  await product.execute('true');
  expect(hosts()).toEqual([]);
  await openTerminal(product);
  expect(hosts()).toHaveLength(1);
  const run = join(place.stateDir, 'run');
  const sockets = readdirSync(run, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.sock'),
  );
  expect(sockets).toHaveLength(1);
  const socket = join(run, sockets[0] ?? '');
  expect(statSync(socket).mode & 0o777).toBe(0o600);
  products.length = 0;
  await product.close();
  await expect.poll(hosts, { timeout: LONG_MS }).toEqual([]);
});
