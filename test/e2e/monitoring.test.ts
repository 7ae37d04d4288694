import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPlace, type Product, startProduct } from './support/product.ts';
import { openProduct } from './support/product-here.ts';

let product: Product;
beforeAll(async () => {
  product = await openProduct({ env: { MCP_SHELL_SECURITY_SANDBOX: 'off' } });
});
afterAll(() => product.close());

describe('process_monitor', () => {
  test('starts, reads, stops, and ends with the process', async () => {
    const { data: run } = await product.execute('while :; do head -c 100000 /dev/zero > f; done', {
      execution_mode: 'background',
    });
    const started = await product.call('process_monitor', {
      process_id: run.process_id,
      monitor_interval_ms: 100,
    });
    expect(started.data).toMatchObject({
      monitor_id: expect.stringMatching(/^mon_[a-z0-9]{26}$/),
      execution_id: run.execution_id,
      process_id: run.process_id,
      status: 'active',
      started_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    // By itself it measures what can be measured, and the network of the host is everybody's.
    expect(started.data).not.toHaveProperty('unavailable');
    const asked = await product.call('process_monitor', {
      execution_id: run.execution_id,
      include_metrics: ['network', 'memory', 'cpu'],
    });
    expect(asked.data).toMatchObject({
      process_id: run.process_id,
      unavailable: { network: expect.any(String) },
    });
    expect(asked.text).toContain(' ms: cpu, memory.\nNo network: ');
    const refused = await product.call('process_monitor', {
      execution_id: run.execution_id,
      include_metrics: ['network'],
    });
    expect(refused.data).toEqual({
      error: expect.objectContaining({
        code: 'PARAM_002',
        message: expect.stringMatching(
          /^network cannot be measured for exec_\w+: it uses the network of the host/,
        ),
        details: expect.objectContaining({ parameter: 'include_metrics' }),
      }),
    });
    const { monitor_id } = started.data;
    const metrics = [
      'cpu_percent',
      'memory_mb',
      'process_count',
      'io_read_bytes_per_second',
      'io_write_bytes_per_second',
      'disk_read_bytes_per_second',
      'disk_write_bytes_per_second',
    ];
    await expect
      .poll(async () => (await product.call('process_monitor', { monitor_id })).data, { timeout: 60_000 })
      .toMatchObject({ summary: { io_write_bytes_per_second: { max: expect.toSatisfy((n) => n > 0) } } });
    await expect
      .poll(async () => (await product.call('process_monitor', { monitor_id })).data.samples.length, {
        timeout: 60_000,
      })
      .toBeGreaterThan(0);
    await product.call('process_terminate', { execution_id: run.execution_id, force: true });
    const ended = await product.call('process_monitor', { monitor_id, action: 'read' });
    expect(ended.data).toMatchObject({ status: 'ended', ended_at: expect.any(String) });
    expect(Object.keys(ended.data.summary).toSorted()).toEqual(metrics.toSorted());
    for (const { min, mean, max } of Object.values(ended.data.summary) as Record<string, number>[]) {
      expect(min).toBeLessThanOrEqual(mean ?? -1);
      expect(mean).toBeLessThanOrEqual(max ?? -1);
    }
    expect(ended.text).toContain('on average');
    expect((await product.call('process_monitor', { monitor_id, action: 'stop' })).data.status).toBe('ended');
    expect((await product.call('process_monitor', { monitor_id })).data.error.code).toBe('RESOURCE_001');
  });

  test('lists what can be measured of every execution', async () => {
    const tools = await product.client.listTools();
    expect(tools.find(({ name }) => name === 'process_monitor')?.inputSchema).toMatchObject({
      properties: { include_metrics: { items: { enum: ['cpu', 'memory', 'io'] } } },
    });
  });

  test.each([
    [{}, 'PARAM_001'],
    [{ process_id: 1 }, 'RESOURCE_001'],
    [{ process_id: process.pid }, 'RESOURCE_001'],
    [{ process_id: 5, monitor_id: 'mon_x' }, 'PARAM_002'],
    [{ process_id: 5, execution_id: 'exec_x' }, 'PARAM_002'],
    [{ execution_id: 'exec_x', monitor_id: 'mon_x' }, 'PARAM_002'],
    [{ execution_id: 'exec_x' }, 'RESOURCE_001'],
    [{ monitor_id: '../../etc' }, 'RESOURCE_001'],
    [{ monitor_id: 'mon_x', action: 'start' }, 'PARAM_002'],
    [{ process_id: 5, monitor_interval_ms: 99 }, 'PARAM_002'],
    [{ process_id: 5, monitor_interval_ms: 60_001 }, 'PARAM_002'],
    [{ process_id: 5, include_metrics: ['disk'] }, 'PARAM_002'],
    [{ process_id: 5, include_metrics: [] }, 'PARAM_002'],
    [{ process_id: '5' }, 'PARAM_003'],
  ])('%j is %s', async (args, code) => {
    expect((await product.call('process_monitor', args)).data.error.code).toBe(code);
  });

  test('an execution that has ended is not monitored', async () => {
    const { data: run } = await product.execute('true');
    const { data } = await product.call('process_monitor', { execution_id: run.execution_id });
    expect(data.error).toMatchObject({ code: 'RESOURCE_001', message: `${run.execution_id} does not run.` });
  });

  test('no more than so many at once', async () => {
    const { data: run } = await product.execute('sleep 300', { execution_mode: 'background' });
    const start = () => product.call('process_monitor', { process_id: run.process_id });
    const ids: string[] = [];
    for (let n = 0; n < 20; n++) ids.push((await start()).data.monitor_id);
    const refused = await start();
    expect(refused.data.error).toMatchObject({ code: 'RESOURCE_005', details: { limit: 20 } });
    for (const monitor_id of ids) await product.call('process_monitor', { monitor_id, action: 'stop' });
    expect((await start()).data.status).toBe('active');
    await product.call('process_terminate', { execution_id: run.execution_id, force: true });
  });
});

describe('monitoring_get_stats', () => {
  test('counts by status and decision over the range, and says what holds', async () => {
    const other = await startProduct({ env: { MCP_SHELL_SECURITY_SANDBOX: 'off' } });
    const { execute, call } = other;
    await execute('true');
    await execute('exit 1');
    await execute('rm -rf /');
    await execute('sleep 60', { execution_mode: 'foreground', timeout_seconds: 1 });
    await execute('sleep 300', { execution_mode: 'background' });
    const { data, text } = await call('monitoring_get_stats', {});
    expect(data).toMatchObject({
      active_processes: 1,
      executions_by_status: { running: 1, completed: 1, failed: 1, timeout: 1 },
      policy_decisions: { allow: 4, deny: 1, ask: 0 },
      decisions_since: expect.any(String),
      time_range_minutes: 60,
      active_terminals: 0,
      total_files: expect.any(Number),
      state_directory: {
        bytes: expect.toSatisfy((n) => n > 0),
        audit_bytes: expect.toSatisfy((n) => n > 0),
        free_bytes: expect.any(Number),
      },
      system_load: { load_1m: expect.any(Number) },
      memory_usage: { server_bytes: expect.any(Number), free_bytes: expect.any(Number) },
      sandbox: { kind: 'none' },
      // Without a sandbox there is no /tmp in memory.
      limits: { memory: expect.any(String), tmp_size: 'not enforced' },
      audit: {
        status: 'good',
        lines: expect.toSatisfy((n) => n > 5),
        lost: 0,
        last_written_at: expect.any(String),
      },
    });
    for (const word of ['1 running', '1 timed out', '1 denied', 'Audit log']) expect(text).toContain(word);
    await other.close();
  });

  test('what ended before the range is not counted in it', async () => {
    const place = createPlace();
    const before = await startProduct({ place, env: { MCP_SHELL_SECURITY_SANDBOX: 'off' } });
    const { data: old } = await before.execute('true');
    await before.execute('true');
    await before.close();
    const journal = join(place.stateDir, 'executions/journal');
    const file = join(journal, readdirSync(journal).find((name) => name.endsWith('.log')) ?? '');
    const earlier = readFileSync(file, 'utf8')
      .split('\n')
      .map((line) =>
        line.includes(old.execution_id)
          ? line.replace(/"(createdAtMs|endedAtMs)":(\d+)/g, (_, name, ms) => `"${name}":${ms - 7_200_000}`)
          : line,
      );
    writeFileSync(file, earlier.join('\n'));
    const after = await startProduct({ place, env: { MCP_SHELL_SECURITY_SANDBOX: 'off' } });
    const completed = async (time_range_minutes: number): Promise<unknown> =>
      (await after.call('monitoring_get_stats', { time_range_minutes })).data.executions_by_status.completed;
    expect([await completed(60), await completed(180)]).toEqual([1, 2]);
    await after.close();
    place.remove();
  });

  test.each([
    [
      'processes',
      [
        'active_processes',
        'decisions_since',
        'executions_by_status',
        'policy_decisions',
        'time_range_minutes',
      ],
    ],
    ['terminals', ['active_terminals', 'idle_terminals']],
    ['files', ['state_directory', 'total_file_bytes', 'total_files']],
    ['system', ['audit', 'limits', 'memory_usage', 'sandbox', 'system_load', 'uptime_seconds']],
  ])('%s alone', async (metric, fields) => {
    const { data } = await product.call('monitoring_get_stats', { include_metrics: [metric] });
    expect(Object.keys(data).toSorted()).toEqual([...fields, 'collected_at'].toSorted());
  });

  test('counts the terminals that are open', async () => {
    const { data: opened } = await product.call('terminal_create', {});
    const asked = { include_metrics: ['terminals'] };
    expect((await product.call('monitoring_get_stats', asked)).data).toMatchObject({
      active_terminals: 1,
      idle_terminals: 1,
    });
    await product.call('terminal_close', { terminal_id: opened.terminal_id });
    expect((await product.call('monitoring_get_stats', asked)).data).toMatchObject({ active_terminals: 0 });
  });
});
