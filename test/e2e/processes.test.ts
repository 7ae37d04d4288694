import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findProcess } from '../../src/executions/process-table.ts';
import { createPlace, type Product, startProduct } from './support/product.ts';
import { openProduct } from './support/product-here.ts';
import { startRaw } from './support/raw-process.ts';

let product: Product;
beforeAll(async () => {
  product = await openProduct();
});
afterAll(() => product.close());

/** Until a trap is set, a signal does what it does to anybody. */
async function untilPrinted(output_id: string, text: string): Promise<void> {
  await expect
    .poll(async () => (await product.call('read_execution_output', { output_id })).data.content)
    .toContain(text);
}

const isGone = (pid: number): boolean => findProcess(pid)?.isZombie ?? true;

describe('background', () => {
  test('answers at once with ids, can be looked at, waited for and ended', async () => {
    const started = await product.execute('echo up; sleep 100', {
      execution_mode: 'background',
      environment_variables: { API_TOKEN: 'hidden', PLAIN: 'shown' },
    });
    expect(started.data).toMatchObject({ status: 'running', process_id: expect.any(Number) });
    expect(started.data.transition_reason).toBeUndefined();
    const { execution_id, process_id } = started.data;
    await untilPrinted(started.data.output_id, 'up');
    const { data, text } = await product.call('process_get_execution', { execution_id });
    expect(data).toMatchObject({
      command: 'echo up; sleep 100',
      execution_mode: 'background',
      status: 'running',
      stdout: 'up\n',
      stdout_size: 3,
      stderr_size: 0,
      environment_variables: { API_TOKEN: '***', PLAIN: 'shown' },
      memory_usage_mb: expect.any(Number),
      cpu_usage_percent: expect.any(Number),
    });
    expect(text).toContain('Command: echo up; sleep 100');
    const ended = await product.call('process_terminate', { process_id });
    expect(ended.data).toMatchObject({ success: true, process_id, signal_sent: 'TERM', status: 'failed' });
    expect(isGone(process_id)).toBe(true);
    const after = await product.call('process_get_execution', { execution_id });
    expect(after.data).toMatchObject({
      status: 'failed',
      termination_reason: 'terminated',
      signal: 'SIGTERM',
    });
    const again = await product.call('process_terminate', { execution_id });
    expect(again).toMatchObject({
      isError: false,
      data: { success: false, message: expect.stringContaining('had ended already') },
    });
  });

  test('a time limit holds, where it is given', async () => {
    const { data } = await product.execute('sleep 100', { execution_mode: 'async', timeout_seconds: 1 });
    const after = await product.call('process_get_execution', {
      execution_id: data.execution_id,
      wait_seconds: 10,
    });
    expect(after.data).toMatchObject({ status: 'timeout', error_code: 'EXECUTION_002' });
  });
});

describe('process_terminate', () => {
  test('only force goes on to KILL', async () => {
    const { data } = await product.execute(`trap '' TERM INT; echo up; while :; do sleep 0.2; done`, {
      execution_mode: 'background',
    });
    const { execution_id, process_id } = data;
    await untilPrinted(data.output_id, 'up');
    const polite = await product.call('process_terminate', { execution_id });
    expect(polite.data).toMatchObject({
      success: false,
      status: 'running',
      message: expect.stringContaining('force'),
    });
    const forced = await product.call('process_terminate', { execution_id, force: true });
    expect(forced.data).toMatchObject({ success: true, status: 'failed' });
    expect(isGone(process_id)).toBe(true);
  });

  test('USR1 goes to the command’s own process, which goes on', async () => {
    const { data } = await product.execute(
      `trap 'echo got it' USR1; echo up; for i in $(seq 40); do sleep 0.1; done; echo end`,
      {
        execution_mode: 'background',
      },
    );
    await untilPrinted(data.output_id, 'up');
    const { execution_id } = data;
    const sent = await product.call('process_terminate', { execution_id, signal: 'USR1' });
    expect(sent.data).toMatchObject({ success: true, signal_sent: 'USR1' });
    const after = await product.call('process_get_execution', { execution_id, wait_seconds: 10 });
    expect(after.data.stdout).toContain('got it');
  });

  test.for([1, process.pid, 4_194_304])(
    'a pid that the server did not start is not found: %i',
    async (process_id) => {
      const { data } = await product.call('process_terminate', { process_id });
      expect(data.error.code).toBe('RESOURCE_001');
    },
  );

  test.for([0, -1, 1.5, -process.pid])('a number that is no pid is refused: %d', async (process_id) => {
    const { data } = await product.call('process_terminate', { process_id });
    expect(data.error.code).toMatch(/^PARAM_00[23]$/);
  });

  test('wants one of its two parameters', async () => {
    expect((await product.call('process_terminate', {})).data.error.code).toBe('PARAM_001');
    const both = await product.call('process_terminate', { process_id: 5, execution_id: 'exec_x' });
    expect(both.data.error.code).toBe('PARAM_002');
  });
});

describe('process_list', () => {
  test('filters, pages and counts, newest first', async () => {
    for (const word of ['alpha-1', 'alpha-2', 'beta-1'])
      await product.execute(`echo ${word}`, { session_id: 'listing' });
    await product.execute('false', { session_id: 'listing' });
    const all = await product.call('process_list', { session_id: 'listing' });
    expect(all.data).toMatchObject({ filtered_count: 4 });
    expect(all.data.processes.map((entry: { command: string }) => entry.command)).toEqual([
      'false',
      'echo beta-1',
      'echo alpha-2',
      'echo alpha-1',
    ]);
    const failed = await product.call('process_list', { session_id: 'listing', status_filter: 'failed' });
    expect(failed.data.processes).toMatchObject([{ command: 'false', exit_code: 1, status: 'failed' }]);
    const matching = await product.call('process_list', {
      command_pattern: 'alpha-[12]$',
      limit: 1,
      offset: 1,
    });
    expect(matching.data).toMatchObject({ filtered_count: 2, processes: [{ command: 'echo alpha-1' }] });
  });

  test('a pattern that would run for ever elsewhere is answered, and a wrong one is explained', async () => {
    await product.execute(`echo ${'a'.repeat(250)}!`);
    const { data } = await product.call('process_list', { command_pattern: '(a+)+$' });
    expect(data.filtered_count).toBeGreaterThanOrEqual(0);
    const wrong = await product.call('process_list', { command_pattern: '(' });
    expect(wrong.data.error).toMatchObject({
      code: 'PARAM_002',
      message: expect.stringContaining('command_pattern'),
    });
  });
});

describe('an execution that is not there', () => {
  test.for(['exec_nothing', '../../../etc/passwd', `exec_${'a'.repeat(26)}`, ''])(
    '%s',
    async (execution_id) => {
      const { data } = await product.call('process_get_execution', { execution_id });
      expect(data.error.code).toBe('RESOURCE_001');
    },
  );
});

test('secrets in a command are masked in answers, and the command has them', async () => {
  const command = [
    'echo "Authorization: Bearer ghp_abcdefghijklmnopqrstuvwxyz0123456789"',
    'PASSWORD=hunter2222 sh -c \'echo "$PASSWORD"\'',
    'echo --password=hunter3333',
  ].join('; ');
  const { data } = await product.execute(command);
  expect(data.stdout).toContain('hunter2222\n--password=hunter3333');
  const { execution_id } = data;
  for (const [name, input] of [
    ['process_get_execution', { execution_id }],
    ['process_list', { limit: 1 }],
    ['list_execution_outputs', { execution_id }],
  ] as const) {
    const answer = await product.call(name, input);
    const { stdout: _, combined: __, ...shown } = answer.data;
    expect(JSON.stringify(shown), name).not.toMatch(/hunter|ghp_/);
    expect(JSON.stringify(shown), name).toContain('--password=***');
    // What it printed is what it printed.
    expect(answer.text.replace(data.stdout, ''), name).not.toMatch(/hunter|ghp_/);
  }
});

test('detached survives kill -9 of its server, and the next one tells how it goes and how it ended', async () => {
  const place = createPlace();
  const victim = startRaw(place.command());
  const command = 'echo one; while [ ! -e go ]; do sleep 0.05; done; echo two; exit 4';
  const args = { name: 'shell_execute', arguments: { command, execution_mode: 'detached' } };
  victim.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: args });
  const { result } = (await victim.next()) as {
    result: { structuredContent: { execution_id: string; message: string } };
  };
  const { execution_id, message } = result.structuredContent;
  expect(message).toContain('survives');
  victim.kill();
  await victim.rest();
  const next = await startProduct({ place });
  try {
    const seen = await next.call('process_get_execution', { execution_id });
    expect(seen.data).toMatchObject({ status: 'running', stdout: 'one\n' });
    writeFileSync(join(place.work, 'go'), '');
    const after = await next.call('process_get_execution', { execution_id, wait_seconds: 20 });
    expect(after.data).toMatchObject({ status: 'failed', exit_code: 4, stdout: 'one\ntwo\n' });
  } finally {
    await next.close();
    place.remove();
  }
});
