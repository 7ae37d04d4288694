/**
 * Every example of specification 004 (the tool families), under its heading: its parameters are taken and its fields
 * come back. The tools of its own list are called by the names that it gives them.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withPrograms } from '../support/fixture-programs.ts';
import { type Called, createPlace, type Place, type Product, startProduct } from '../support/product.ts';
import { openProduct } from '../support/product-here.ts';

let place: Place;
let product: Product;
beforeAll(async () => {
  place = createPlace();
  const env = withPrograms(place, {
    python: 'echo "$1 runs"; sleep 600',
    vim: 'echo "editing $1"; sleep 600',
  });
  product = await openProduct({ place, env, args: ['--tools', 'legacy'] });
});
afterAll(async () => {
  await product.close();
  place.remove();
});

const call = (tool: string, parameters: Record<string, unknown>): Promise<Called> =>
  product.call(tool, parameters);
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe('004: Shell Operations', () => {
  test('shell_execute', async () => {
    const { data } = await call('shell_execute', {
      command: 'cat; echo "$GREETING"; echo hm >&2',
      execution_mode: 'sync',
      working_directory: place.work,
      environment_variables: { GREETING: 'hello' },
      input_data: 'in\n',
      timeout_seconds: 30,
      max_output_size: 1048576,
      capture_stderr: true,
      session_id: 'session-1',
    });
    expect(data).toMatchObject({
      execution_id: expect.stringMatching(/^exec_/),
      status: 'completed',
      exit_code: 0,
      stdout: 'in\nhello\n',
      stderr: 'hm\n',
      output_truncated: false,
      execution_time_ms: expect.any(Number),
      output_id: expect.stringMatching(/^out_/),
      created_at: TIME,
      completed_at: TIME,
    });
  });

  test('shell_get_execution', async () => {
    const ran = await call('shell_execute', { command: 'echo x', environment_variables: { A: 'b' } });
    const { data } = await call('shell_get_execution', { execution_id: ran.data.execution_id });
    expect(data).toMatchObject({
      execution_id: ran.data.execution_id,
      command: 'echo x',
      status: 'completed',
      exit_code: 0,
      process_id: expect.any(Number),
      working_directory: place.work,
      environment_variables: { A: 'b' },
      execution_time_ms: expect.any(Number),
      created_at: TIME,
      started_at: TIME,
      completed_at: TIME,
    });
    const running = await call('shell_execute', { command: 'sleep 600', execution_mode: 'async' });
    const seen = await call('shell_get_execution', { execution_id: running.data.execution_id });
    expect(seen.data).toMatchObject({
      status: 'running',
      memory_usage_mb: expect.any(Number),
      cpu_usage_percent: expect.any(Number),
    });
    await call('process_kill', { process_id: running.data.process_id, force: true });
  });
});

describe('004: Process Management', () => {
  test('process_list', async () => {
    await call('shell_execute', { command: 'echo listed', session_id: 'listing' });
    const { data } = await call('process_list', {
      status_filter: 'completed',
      command_pattern: '^echo listed$',
      session_id: 'listing',
      limit: 50,
      offset: 0,
    });
    expect(data).toMatchObject({
      processes: [{ command: 'echo listed', status: 'completed' }],
      total_count: expect.any(Number),
      filtered_count: 1,
    });
  });

  test('process_kill', async () => {
    const { data: ran } = await call('shell_execute', { command: 'sleep 600', execution_mode: 'background' });
    const { data } = await call('process_kill', { process_id: ran.process_id, signal: 'TERM', force: true });
    expect(data).toMatchObject({
      success: true,
      process_id: ran.process_id,
      signal_sent: expect.stringMatching(/^(?:TERM|KILL)$/),
      message: expect.any(String),
    });
  });

  test('process_monitor', async () => {
    const { data: ran } = await call('shell_execute', { command: 'sleep 600', execution_mode: 'background' });
    const { data } = await call('process_monitor', {
      process_id: ran.process_id,
      monitor_interval_ms: 1000,
      include_metrics: ['cpu', 'memory', 'io', 'network'],
    });
    expect(data).toMatchObject({
      monitor_id: expect.stringMatching(/^mon_/),
      process_id: ran.process_id,
      status: expect.any(String),
      started_at: TIME,
    });
    await call('process_kill', { process_id: ran.process_id, force: true });
  });
});

describe('004: Terminal Management', () => {
  test('terminal_create, terminal_list, terminal_get, terminal_input, terminal_output, terminal_resize, terminal_close', async () => {
    const { data: created } = await call('terminal_create', {
      session_name: 'dev',
      shell_type: 'bash',
      dimensions: { width: 120, height: 30 },
      working_directory: place.work,
      environment_variables: { A: 'b' },
      auto_save_history: true,
    });
    expect(created).toMatchObject({
      terminal_id: expect.stringMatching(/^term_/),
      session_name: 'dev',
      shell_type: 'bash',
      dimensions: { width: 120, height: 30 },
      process_id: expect.any(Number),
      created_at: TIME,
    });
    const { terminal_id } = created;
    expect(
      (await call('terminal_list', { session_name_pattern: '^dev$', status_filter: 'all', limit: 50 })).data,
    ).toMatchObject({ terminals: [{ terminal_id }], total_count: 1 });
    expect((await call('terminal_get', { terminal_id })).data).toMatchObject({
      terminal_id,
      session_name: 'dev',
      shell_type: 'bash',
      dimensions: { width: 120, height: 30 },
      process_id: created.process_id,
      status: expect.any(String),
      working_directory: place.work,
      created_at: TIME,
      last_activity: TIME,
    });
    expect(
      (
        await call('terminal_input', {
          terminal_id,
          input: 'echo "$A-$((20+22))"',
          execute: true,
          control_codes: false,
          raw_bytes: false,
          send_to: '*',
        })
      ).data,
    ).toMatchObject({
      success: true,
      input_sent: expect.any(String),
      control_codes_enabled: false,
      raw_bytes_mode: false,
      program_guard: expect.any(Object),
      timestamp: TIME,
    });
    const read = async (): Promise<string> =>
      (await call('terminal_output', { terminal_id, line_count: 100, include_ansi: false })).data.output;
    await expect.poll(read, { timeout: 60_000 }).toContain('b-42');
    expect((await call('terminal_output', { terminal_id, start_line: 0, line_count: 1 })).data).toMatchObject(
      {
        terminal_id,
        line_count: 1,
        total_lines: expect.any(Number),
        has_more: true,
      },
    );
    expect(
      (await call('terminal_resize', { terminal_id, dimensions: { width: 100, height: 40 } })).data,
    ).toMatchObject({ success: true, terminal_id, dimensions: { width: 100, height: 40 }, updated_at: TIME });
    expect((await call('terminal_close', { terminal_id, save_history: true })).data).toMatchObject({
      success: true,
      terminal_id,
      history_saved: true,
      closed_at: TIME,
    });
    const { data: logs } = await call('file_list', { file_type: 'log' });
    expect(logs.files).toContainEqual(expect.objectContaining({ file_type: 'log' }));
  });
});

describe('004: File Operations', () => {
  test('file_list, file_read, file_delete', async () => {
    const { data: ran } = await call('shell_execute', { command: 'echo kept' });
    const { data: listed } = await call('file_list', {
      file_type: 'output',
      execution_id: ran.execution_id,
      name_pattern: 'kept',
      limit: 100,
    });
    expect(listed).toMatchObject({ files: expect.any(Array), total_count: 3 });
    const [{ file_id }] = listed.files;
    expect((await call('file_read', { file_id, offset: 0, size: 8192, encoding: 'utf-8' })).data).toEqual({
      file_id,
      content: 'kept\n',
      size: 5,
      total_size: 5,
      is_truncated: false,
      encoding: 'utf-8',
    });
    expect((await call('file_delete', { file_ids: [file_id], confirm: true })).data).toEqual({
      deleted_files: [file_id],
      failed_files: [],
      total_deleted: 1,
    });
  });
});

describe('004: Security & Monitoring', () => {
  test('security_set_restrictions', async () => {
    const own = await startProduct();
    const { data } = await own.call('security_set_restrictions', {
      allowed_commands: ['ls', 'echo'],
      blocked_commands: ['rm'],
      allowed_directories: [own.work],
      max_execution_time: 60,
      max_memory_mb: 512,
      enable_network: true,
    });
    expect(data).toMatchObject({
      restriction_id: expect.stringMatching(/^rst_/),
      active: true,
      configured_at: TIME,
    });
    await own.close();
  });

  test('monitoring_get_stats', async () => {
    const { data } = await call('monitoring_get_stats', {
      include_metrics: ['processes', 'terminals', 'files', 'system'],
      time_range_minutes: 60,
    });
    expect(data).toMatchObject({
      active_processes: expect.any(Number),
      active_terminals: expect.any(Number),
      total_files: expect.any(Number),
      system_load: expect.any(Object),
      memory_usage: expect.any(Object),
      uptime_seconds: expect.any(Number),
      collected_at: TIME,
    });
  });
});

test('004: the shape of an error', async () => {
  const { data, isError } = await call('shell_get_execution', { execution_id: 'exec_nobody' });
  expect(isError).toBe(true);
  expect(data).toEqual({
    error: {
      code: 'RESOURCE_001',
      message: expect.any(String),
      category: 'RESOURCE',
      details: expect.any(Object),
      timestamp: TIME,
      request_id: expect.stringMatching(/^req_/),
    },
  });
});

describe('004: Examples of use', () => {
  test('running a command', async () => {
    writeFileSync(join(place.work, 'here'), '');
    const { data } = await call('shell_execute', {
      command: `ls -la ${place.work}`,
      execution_mode: 'sync',
      working_directory: place.work,
    });
    expect(data).toMatchObject({ status: 'completed', stdout: expect.stringMatching(/ here\n/) });
  });

  test('running a process in the background', async () => {
    const { data } = await call('shell_execute', {
      command: 'python long_running_script.py',
      execution_mode: 'background',
      timeout_seconds: 3600,
    });
    expect(data).toMatchObject({ status: 'running', process_id: expect.any(Number) });
    const printed = async (): Promise<string> =>
      (await call('shell_get_execution', { execution_id: data.execution_id })).data.stdout;
    await expect.poll(printed, { timeout: 60_000 }).toBe('long_running_script.py runs\n');
    await call('process_kill', { process_id: data.process_id, force: true });
  });

  test('a new terminal session through shell_execute', async () => {
    const { data } = await call('shell_execute', {
      command: 'vim my_file.txt',
      create_terminal: true,
      terminal_shell: 'bash',
      terminal_dimensions: { width: 120, height: 40 },
      working_directory: place.work,
    });
    expect(data).toMatchObject({ terminal_id: expect.stringMatching(/^term_/) });
    const { terminal_id } = data;
    const read = async (): Promise<string> => (await call('terminal_output', { terminal_id })).data.output;
    await expect.poll(read, { timeout: 60_000 }).toContain('editing my_file.txt');
    expect((await call('terminal_get', { terminal_id })).data.dimensions).toEqual({ width: 120, height: 40 });
    await call('terminal_close', { terminal_id });
  });

  test('starting an interactive shell', async () => {
    const { data } = await call('shell_execute', {
      command: 'bash',
      create_terminal: true,
      terminal_shell: 'bash',
      session_id: 'interactive-session-001',
    });
    expect(data).toMatchObject({ terminal_id: expect.stringMatching(/^term_/) });
    await call('terminal_close', { terminal_id: data.terminal_id });
  });

  test('creating a terminal session and working with it', async () => {
    const { data } = await call('terminal_create', {
      session_name: 'dev-session',
      shell_type: 'bash',
      dimensions: { width: 120, height: 40 },
    });
    expect(data).toMatchObject({ session_name: 'dev-session', dimensions: { width: 120, height: 40 } });
    await call('terminal_close', { terminal_id: data.terminal_id });
  });
});
