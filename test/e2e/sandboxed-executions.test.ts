/** The promises about executions hold in the sandbox as they do without one. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findProcess, listChildren } from '../../src/executions/process-table.ts';
import { lacks, needs } from '../setup/needs.ts';
import {
  createDeveloper,
  type Developer,
  isRoot,
  NOBODY,
  SANDBOX_WORDS,
  untilPrinted,
  works,
} from './support/developer.ts';
import type { Called, Product } from './support/product.ts';
import { openProduct } from './support/product-here.ts';
import { startRaw } from './support/raw-process.ts';

const cannot = lacks(process.platform !== 'linux', 'bubblewrap is for Linux') || needs('bwrap');
const MODES = ['foreground', 'background', 'detached'];

/** Starts it in any mode and waits for its end. */
async function ended(
  product: Product,
  command: string,
  args: Record<string, unknown> = {},
): Promise<Called['data']> {
  const { data } = await product.execute(command, args);
  if (data.status !== 'running') return data;
  const { execution_id } = data;
  return (await product.call('process_get_execution', { execution_id, wait_seconds: 40 })).data;
}

let developer: Developer;
let product: Product;
beforeAll(async () => {
  if (cannot) return;
  developer = createDeveloper();
  product = await developer.open();
});
afterAll(() => developer?.remove());

describe.skipIf(cannot)('in the sandbox', () => {
  test.each(MODES)(
    'exit codes, both streams, stdin and a merged output are complete: %s',
    async (execution_mode) => {
      const own = await ended(product, 'cat; echo err >&2; exit 7', {
        execution_mode,
        input_data: 'typed\n',
      });
      expect(own).toMatchObject({ status: 'failed', exit_code: 7, stdout: 'typed\n', stderr: 'err\n' });
      expect(own.message ?? '').not.toMatch(SANDBOX_WORDS);
      const merged = await ended(product, 'for i in 1 2 3; do echo o$i; echo e$i >&2; done', {
        execution_mode,
        merge_stderr: true,
      });
      expect(merged).toMatchObject({ status: 'completed', stdout: 'o1\ne1\no2\ne2\no3\ne3\n' });
      const large = await ended(product, 'seq 200000', { execution_mode });
      const { data } = await product.call('read_execution_output', {
        output_id: large.output_id,
        offset: -7,
      });
      expect(data).toMatchObject({ content: '200000\n', total_size: 1_288_895 });
      const killed = await ended(product, 'kill -9 $$', { execution_mode });
      expect(killed).toMatchObject({ status: 'failed', signal: 'SIGKILL', termination_reason: 'signal' });
      expect(killed.message ?? '').not.toMatch(SANDBOX_WORDS);
    },
  );

  test('a session goes on in a directory that only its own /tmp has', async () => {
    const session_id = 'in tmp';
    const first = await product.execute('mkdir -p /tmp/x/y && cd /tmp/x/y && export COLOUR=blue', {
      session_id,
    });
    expect(first.data.session_changes).toMatchObject({ working_directory: '/tmp/x/y', set: ['COLOUR'] });
    const second = await product.execute('pwd; echo $COLOUR; touch made', { session_id });
    expect(second.data).toMatchObject({ stdout: '/tmp/x/y\nblue\n', working_directory: '/tmp/x/y' });
    const named = await product.execute('ls', { working_directory: '/tmp/x/y' });
    expect(named.data).toMatchObject({ stdout: 'made\n', working_directory: '/tmp/x/y' });
    const missing = await product.execute('ls', { working_directory: '/tmp/x/nothing' });
    expect(missing.data.error).toMatchObject({ code: 'PARAM_002', details: { nearest_existing: '/tmp/x' } });
    // Detached and background see the same one.
    for (const execution_mode of MODES) {
      expect(
        await ended(product, 'ls /tmp/x/y; pwd', { execution_mode, working_directory: '/tmp/x' }),
      ).toMatchObject({
        stdout: 'made\n/tmp/x\n',
      });
    }
  });

  test('two servers in one workspace and home', async () => {
    const other = await developer.open();
    await works(product, 'echo first > shared && echo tmp > /tmp/shared-tmp');
    expect((await works(other, 'cat shared /tmp/shared-tmp && echo second >> shared')).stdout).toBe(
      'first\ntmp\n',
    );
    const both = await Promise.all(
      [product, other, product, other].map((server, index) =>
        works(server, `echo ${index} >> shared; sleep 0.1; echo ${index}`),
      ),
    );
    expect(both.map(({ stdout }) => stdout)).toEqual(['0\n', '1\n', '2\n', '3\n']);
    expect(readFileSync(join(product.work, 'shared'), 'utf8').split('\n').sort().join('')).toBe(
      '0123firstsecond',
    );
  });

  test('50 at once', async () => {
    const each = Array.from({ length: 50 }, (_, index) => index);
    const running = each.map((index) =>
      product.execute(`touch started-${index}; while [ ! -e go-50 ]; do sleep 0.1; done; echo ${index}`, {
        execution_mode: 'foreground',
      }),
    );
    await expect
      .poll(() => each.filter((index) => !existsSync(join(product.work, `started-${index}`))))
      .toEqual([]);
    writeFileSync(join(product.work, 'go-50'), '');
    const answers = await Promise.all(running);
    expect(answers.map(({ data }) => data.stdout)).toEqual(each.map((index) => `${index}\n`));
  });

  test('adaptive hands the same process over, and it can be waited for', async () => {
    const first = await product.execute(
      'echo $$; while [ ! -e go-on ]; do sleep 0.05; done; echo $$; exit 3',
      {
        foreground_timeout_seconds: 1,
      },
    );
    expect(first.data).toMatchObject({ status: 'running', transition_reason: 'foreground_timeout' });
    writeFileSync(join(product.work, 'go-on'), '');
    const { data } = await product.call('process_get_execution', {
      execution_id: first.data.execution_id,
      wait_seconds: 20,
    });
    const [before, after] = data.stdout.split('\n');
    expect({ ...data, same: before === after }).toMatchObject({ status: 'failed', exit_code: 3, same: true });
  });

  test.each(['foreground', 'detached'])(
    'a time limit ends the whole tree, politely first: %s',
    async (execution_mode) => {
      const seconds = `36${Math.random().toString().slice(2, 10)}`;
      const data = await ended(
        product,
        `trap 'sleep 0.2; echo cleaned up; touch cleaned-${execution_mode}; exit 0' TERM
setsid sleep ${seconds} & (sleep ${seconds} &) & nohup sleep ${seconds} >/dev/null 2>&1 &
echo up; while :; do sleep 0.05; done`,
        { execution_mode, timeout_seconds: 1 },
      );
      expect(data).toMatchObject({
        status: 'timeout',
        error_code: 'EXECUTION_002',
        stdout: 'up\ncleaned up\n',
      });
      expect(existsSync(join(product.work, `cleaned-${execution_mode}`))).toBe(true);
      expect(data.survivors).toBeUndefined();
      expect(processesWith(seconds)).toEqual([]);
    },
  );

  test('signals reach the command: USR1, INT, TERM and force', async () => {
    const script = `trap 'echo usr1' USR1; trap 'echo int; exit 5' INT; echo up; while :; do sleep 0.05; done`;
    const stubborn = `trap '' TERM INT; echo up; while :; do sleep 0.05; done`;
    const start = async (command: string) => {
      const { data } = await product.execute(command, { execution_mode: 'background' });
      await untilPrinted(product, data.output_id, 'up');
      return data.execution_id as string;
    };
    const [polite, plain, deaf] = await Promise.all([
      start(script),
      start('echo up; sleep 1000'),
      start(stubborn),
    ]);
    const end = async (execution_id: string, args = {}) =>
      (await product.call('process_terminate', { execution_id, ...args })).data;
    const [usr1, term, forced] = await Promise.all([
      end(polite, { signal: 'USR1' }),
      end(plain),
      end(deaf, { force: true }),
    ]);
    expect(usr1).toMatchObject({ success: true, signal_sent: 'USR1', status: 'running' });
    expect(term).toMatchObject({ success: true, signal_sent: 'TERM', status: 'failed' });
    expect(forced).toMatchObject({ success: true, status: 'failed' });
    expect(await end(polite, { signal: 'INT' })).toMatchObject({ success: true, exit_code: 5 });
    const { data } = await product.call('process_get_execution', { execution_id: polite });
    expect(data).toMatchObject({ stdout: 'up\nusr1\nint\n', termination_reason: 'terminated', exit_code: 5 });
  });

  test.skipIf(needs('python3')).each(['background', 'detached'])(
    'memory and processor use of the whole tree are told: %s',
    async (execution_mode) => {
      const { data } = await product.execute(
        `python3 -c "
import sys
held = b'x' * (150 << 20)
print('holding'); sys.stdout.flush()
while True: pass" & wait`,
        { execution_mode },
      );
      await untilPrinted(product, data.output_id, 'holding');
      const { execution_id } = data;
      await expect
        .poll(async () => {
          const { data: now } = await product.call('process_get_execution', { execution_id });
          return now.memory_usage_mb > 140 && now.memory_usage_mb < 400 && now.cpu_usage_percent > 20;
        })
        .toBe(true);
      await product.call('process_terminate', { execution_id, force: true });
    },
  );

  test('what is left running by a command ends with it, and the answer says so', async () => {
    const seconds = `36${Math.random().toString().slice(2, 10)}`;
    const { data } = await product.execute(`sleep ${seconds} & sleep 0.2; echo hi`);
    expect(data).toMatchObject({
      status: 'completed',
      stdout: 'hi\n',
      message: expect.stringContaining('"background"'),
    });
    expect(processesWith(seconds)).toEqual([]);
  });

  test('detached survives kill -9 of its server, inside the sandbox, and the next one knows all of it', async () => {
    const victim = startRaw(developer.command());
    const command =
      'echo one > /tmp/survivor; echo one; while [ ! -e detached-go ]; do sleep 0.05; done; cat /tmp/survivor; touch /usr/x; exit 4';
    const params = { name: 'shell_execute', arguments: { command, execution_mode: 'detached' } };
    victim.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const { result } = (await victim.next()) as { result: { structuredContent: { execution_id: string } } };
    const { execution_id } = result.structuredContent;
    victim.kill();
    await victim.rest();
    const next = await openProduct({ place: { ...developer, remove: () => undefined } });
    try {
      expect((await next.call('process_get_execution', { execution_id })).data).toMatchObject({
        status: 'running',
        stdout: 'one\n',
      });
      writeFileSync(join(developer.work, 'detached-go'), '');
      const { data } = await next.call('process_get_execution', { execution_id, wait_seconds: 20 });
      expect(data).toMatchObject({
        status: 'failed',
        exit_code: 4,
        stdout: 'one\none\n',
        message: expect.stringContaining('/usr/x'),
      });
    } finally {
      await next.close();
    }
  });

  test.each(['kill -9', 'the end of stdin'])(
    'sandboxes that were built ahead go with their server: %s',
    async (how) => {
      const server = startRaw(developer.command());
      const params = { name: 'shell_execute', arguments: { command: 'true' } };
      for (const id of [1, 2, 3]) {
        server.say({ jsonrpc: '2.0', id, method: 'tools/call', params });
        await server.next();
      }
      // As the kernel cuts its name.
      const isSandbox = (pid: number): boolean => findProcess(pid)?.name === 'mcp-shell-serve';
      const waiting = (): number[] =>
        (listChildren(server.child.pid ?? 0) ?? [])
          .flatMap((reaper) => listChildren(reaper) ?? [])
          .flatMap((forker) => listChildren(forker) ?? [])
          .filter(isSandbox);
      await expect.poll(waiting).not.toEqual([]);
      const standing = waiting();
      if (how === 'kill -9') server.kill();
      else server.end();
      await server.rest();
      await expect.poll(() => standing.filter(isSandbox)).toEqual([]);
    },
  );

  test('sockets that come and go on the host do not leave a server without a sandbox', async () => {
    const directory = join(developer.home, 'sockets');
    mkdirSync(directory);
    const churn = spawn(
      process.execPath,
      [
        '-e',
        `const net = require('net'); let count = 0;
function next() {
  const server = net.createServer();
  server.on('error', () => setTimeout(next, 5));
  server.listen('${directory}/' + count++ % 50, () => setTimeout(() => server.close(next), Math.random() * 8));
}
for (let each = 0; each < 8; each++) next();`,
      ],
      { stdio: 'ignore' },
    );
    const gone = once(churn, 'exit');
    try {
      await expect.poll(() => readdirSync(directory).length).toBeGreaterThan(0);
      const servers = await Promise.all([developer.open(), developer.open()]);
      for (const server of servers) await server.execute('true');
      churn.kill();
      await gone;
      for (const server of servers) await works(server, 'true');
    } finally {
      churn.kill();
      await gone;
    }
  });

  test.skipIf(lacks(!isRoot, 'only root sees directories that are shut'))(
    'what another user keeps where only they get to does not leave a server of root without a sandbox',
    async () => {
      const other = createDeveloper();
      try {
        const shut = join(other.home, 'private');
        const inWork = join(other.work, 'private');
        for (const directory of [shut, inWork]) {
          execFileSync('git', ['init', '-q', join(directory, 'repository')]);
          execFileSync('mkfifo', [join(directory, 'fifo')]);
          execFileSync('chown', ['-R', `${NOBODY}:${NOBODY}`, directory]);
          chmodSync(directory, 0o700);
        }
        const server = await other.start(`readable_paths = ["${shut}/repository"]`);
        await works(server, 'echo written > file && cat file');
        const { data } = await server.execute(`cat ${shut}/fifo; cat ${inWork}/repository/.git/config`);
        expect(data).toMatchObject({ status: 'failed', stdout: '' });
        expect(data.stderr).toMatch(/fifo: Permission denied[^]*config: Permission denied/);
        // Its own directories it could open, so that what is in those stays covered.
        execFileSync('git', ['init', '-q', join(other.work, 'own')]);
        chmodSync(join(other.work, 'own'), 0o000);
        const second = await other.start();
        const opened = await second.execute('chmod 755 own && git -C own config x.y z');
        expect(opened.data.exit_code).not.toBe(0);
        expect(readFileSync(join(other.work, 'own/.git/config'), 'utf8')).not.toContain('[x]');
      } finally {
        await other.remove();
      }
    },
  );

  test('background work ends with its server', async () => {
    const seconds = `36${Math.random().toString().slice(2, 10)}`;
    const other = await openProduct({ place: { ...developer, remove: () => undefined } });
    const { data } = await other.execute(`echo up; setsid sleep ${seconds}`, {
      execution_mode: 'background',
    });
    await untilPrinted(other, data.output_id, 'up');
    await other.close();
    await expect.poll(() => processesWith(seconds)).toEqual([]);
  });
});

describe.skipIf(cannot)('limits', () => {
  let limited: Product;
  beforeAll(async () => {
    limited = await developer.open('max_memory_mb = 200\nmax_pids = 64\nmax_cpu_percent = 50');
  });

  describe.each(['foreground', 'detached'])('%s', (execution_mode) => {
    test.skipIf(needs('python3'))('memory: EXECUTION_003 with the peak and the setting', async () => {
      const peakMib = async (): Promise<number> => {
        const script = 'echo before; python3 -c "x = bytearray(2 << 30)"; echo after';
        const data = await ended(limited, script, { execution_mode });
        expect(data).toMatchObject({
          success: false,
          error_code: 'EXECUTION_003',
          termination_reason: 'memory_limit',
        });
        expect(data.stdout).toMatch(/^before\n/);
        expect(data.message).toContain('security.max_memory_mb');
        const peak = Number(/memory limit with (\d+(?:\.\d)?) MiB/.exec(data.message ?? '')?.[1]);
        expect(peak).toBeGreaterThan(150);
        return peak;
      };
      // Without a cgroup it is measured, by a server that may have to wait for its turn while other tests run.
      await expect.poll(peakMib).toBeLessThan(300);
    });

    test('processes: others go on, and the answer names the setting', async () => {
      const other = limited.execute('for i in 1 2 3; do sleep 0.3; /bin/echo $i; done', {
        execution_mode: 'foreground',
      });
      const data = await ended(limited, 'for i in $(seq 100); do sleep 1.2 & done; sleep 1.2', {
        execution_mode,
        timeout_seconds: 20,
      });
      expect(data.message).toContain('security.max_pids');
      expect((await other).data).toMatchObject({ status: 'completed', stdout: '1\n2\n3\n' });
    });

    test('processor share', async () => {
      const data = await ended(
        limited,
        `timeout 2 bash -c 'while :; do :; done & while :; do :; done'; times`,
        { execution_mode },
      );
      const seconds = [...data.stdout.matchAll(/(\d+)m([\d.]+)s/g)].map(
        ([, minutes, rest]) => Number(minutes) * 60 + Number(rest),
      );
      const total = seconds.reduce((sum, value) => sum + value, 0);
      expect(total).toBeGreaterThan(0.1);
      expect(total).toBeLessThan(1.6);
    });
  });

  test.each(['foreground', 'detached'])('processor time: %s', async (execution_mode) => {
    const short = await developer.open('max_cpu_seconds = 1');
    const data = await ended(short, 'echo before; while :; do :; done', {
      execution_mode,
      timeout_seconds: 30,
    });
    expect(data).toMatchObject({
      status: 'timeout',
      termination_reason: 'cpu_limit',
      stdout: 'before\n',
      message: expect.stringContaining('security.max_cpu_seconds'),
    });
    expect(data.execution_time_ms).toBeLessThan(15_000);
  });

  test.skipIf(lacks(!isRoot, 'only root becomes another user') || needs('setpriv', 'python3'))(
    'of an ordinary user, who may have no cgroup',
    async () => {
      const ordinary = createDeveloper({ uid: NOBODY });
      try {
        const server = await ordinary.start('max_memory_mb = 200\nmax_cpu_seconds = 2');
        const memory = await ended(
          server,
          `python3 -c "
held = []
import time
while True: held.append(b'x' * (20 << 20)); time.sleep(0.05)"`,
        );
        expect(memory).toMatchObject({ error_code: 'EXECUTION_003', termination_reason: 'memory_limit' });
        const processor = await ended(server, 'while :; do :; done');
        expect(processor).toMatchObject({ termination_reason: 'cpu_limit' });
        // What forked processes share is one memory, not one for each.
        const shared = await ended(server, forking('time.sleep(2)'));
        expect(shared).toMatchObject({ status: 'completed', stdout: 'done\n' });
        const apart = await ended(server, forking(`held = bytearray(b'x') * (120 << 20); time.sleep(30)`));
        expect(apart).toMatchObject({ error_code: 'EXECUTION_003', termination_reason: 'memory_limit' });
      } finally {
        await ordinary.remove();
      }
    },
  );
});

/** 120 MiB in a process and three children that have it from there. */
function forking(eachChild: string): string {
  return `python3 -c "
import os, time
held = bytearray(b'x') * (120 << 20)
for _ in range(3):
    if os.fork() == 0:
        ${eachChild}
        os._exit(0)
for _ in range(3): os.wait()
print('done')"`;
}

function processesWith(argument: string): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return (
        /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').includes(argument)
      );
    } catch {
      return false;
    }
  });
}
