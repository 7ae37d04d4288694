/** Every example of specification 002 (names, modes, outputs and directories), under its heading. */
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPlace, type Place, type Product } from '../support/product.ts';
import { openProduct } from '../support/product-here.ts';

let place: Place;
let product: Product | undefined;
beforeEach(() => {
  place = createPlace();
});
afterEach(async () => {
  await product?.close();
  product = undefined;
  place.remove();
});

async function start(env: Record<string, string> = {}): Promise<Product> {
  product = await openProduct({ place, env });
  return product;
}

test('002: the tools under their new names, and each earlier name beside its own', async () => {
  const { client } = await start();
  const names = (await client.listTools()).map(({ name }) => name);
  for (const [earlier, today] of [
    ['shell_get_execution', 'process_get_execution'],
    ['process_kill', 'process_terminate'],
    ['file_list', 'list_execution_outputs'],
    ['file_read', 'read_execution_output'],
    ['file_delete', 'delete_execution_outputs'],
  ] as const) {
    expect(names).toContain(today);
    expect(names).not.toContain(earlier);
    // Called without what it needs, it answers; a name that nobody knows is refused.
    const { structuredContent } = await client.callTool(earlier, { no_such_parameter: 1 });
    expect(structuredContent).toMatchObject({ error: { category: 'PARAM' } });
  }
});

test('002: Timeout response of the foreground mode', async () => {
  const { execute } = await start();
  const { data } = await execute('echo partial; echo trouble >&2; sleep 600', {
    execution_mode: 'foreground',
    timeout_seconds: 3,
  });
  expect(data).toMatchObject({
    success: false,
    status: 'timeout',
    execution_time_ms: expect.any(Number),
    stdout: 'partial\n',
    stderr: 'trouble\n',
    message: expect.stringMatching(/^Command timed out after 3 seconds/),
    partial_output: true,
  });
  expect(data.execution_time_ms).toBeGreaterThanOrEqual(3000);
});

describe('002: New parameters, use and best practice', () => {
  test('a short command that surely ends', async () => {
    const { execute } = await start();
    const { data } = await execute('echo done', { execution_mode: 'foreground', timeout_seconds: 30 });
    expect(data).toMatchObject({ status: 'completed', stdout: 'done\n' });
  });

  test('a command whose time is not known (the default)', async () => {
    const { execute } = await start();
    const asked = { execution_mode: 'adaptive', foreground_timeout_seconds: 15 };
    expect((await execute('echo done', asked)).data).toMatchObject({ status: 'completed', stdout: 'done\n' });
    expect((await execute('echo done')).data).toMatchObject({ status: 'completed', stdout: 'done\n' });
    const { data } = await execute('echo begun; sleep 600', { foreground_timeout_seconds: 1 });
    expect(data).toMatchObject({
      status: 'running',
      transition_reason: 'foreground_timeout',
    });
  });

  test('a long service', async () => {
    const { execute, call } = await start();
    const { data } = await execute('sleep 600', { execution_mode: 'background' });
    expect(data).toMatchObject({ status: 'running', process_id: expect.any(Number) });
    const ended = await call('process_terminate', { process_id: data.process_id, force: true });
    expect(ended.data).toMatchObject({ success: true, process_id: data.process_id });
  });

  test('a service of the system', async () => {
    const { execute, call } = await start();
    const { data } = await execute('echo detached; sleep 600', { execution_mode: 'detached' });
    expect(data).toMatchObject({ status: 'running', execution_id: expect.any(String) });
    const ended = await call('process_terminate', { execution_id: data.execution_id, signal: 'KILL' });
    expect(ended.data.success).toBe(true);
  });
});

test('002: Response parameters, output that was cut is read by its output_id', async () => {
  const { execute, call } = await start();
  const { data } = await execute('seq 100000', { max_output_size: 1024, execution_mode: 'foreground' });
  expect(data).toMatchObject({
    success: true,
    output_truncated: true,
    output_id: expect.stringMatching(/^out_/),
  });
  const whole = await call('read_execution_output', { output_id: data.output_id, size: 1024 * 1024 });
  expect(whole.data.content).toBe(Array.from({ length: 100_000 }, (_, index) => `${index + 1}\n`).join(''));
});

describe('002: Working directories', () => {
  test('environment variables', async () => {
    const inner = join(place.work, 'default');
    mkdirSync(inner);
    symlinkSync('/', join(inner, 'out'));
    const { execute } = await start({
      MCP_SHELL_DEFAULT_WORKDIR: inner,
      MCP_SHELL_ALLOWED_WORKDIRS: `${place.work},/usr/share`,
    });
    expect((await execute('pwd')).data.stdout).toBe(`${inner}\n`);
    expect((await execute('pwd', { working_directory: '/usr/share' })).data.stdout).toBe('/usr/share\n');
    for (const outside of ['/', 'out', '/etc'])
      expect((await execute('pwd', { working_directory: outside })).data.error.code).toBe('SECURITY_002');
  });

  test('shell_set_default_workdir, and the fields of an answer', async () => {
    const { execute, call } = await start();
    const actual = join(place.work, 'actual');
    mkdirSync(actual);
    expect((await execute('pwd', { working_directory: actual })).data).toMatchObject({
      working_directory: actual,
      default_working_directory: place.work,
      working_directory_changed: true,
    });
    const moved = await call('shell_set_default_workdir', {
      working_directory: actual,
      apply_to_existing_sessions: true,
    });
    expect(moved.data).toMatchObject({
      working_directory: actual,
      default_working_directory: actual,
      working_directory_changed: true,
    });
    expect((await execute('pwd', { detail: true })).data).toMatchObject({
      stdout: `${actual}\n`,
      default_working_directory: actual,
      working_directory_changed: false,
    });
  });
});

describe('002: Security modes and presets', () => {
  test.each(['permissive', 'restrictive', 'custom'])('the mode %s', async (security_mode) => {
    const { call, execute } = await start();
    const { data } = await call('security_set_restrictions', {
      security_mode,
      ...(security_mode === 'custom' && { allowed_commands: ['echo'], blocked_commands: ['echo no'] }),
      max_execution_time: 60,
      max_memory_mb: 512,
    });
    expect(data).toMatchObject({ active: true, restriction_id: expect.stringMatching(/^rst_/) });
    expect((await execute('echo hi')).data.stdout).toBe('hi\n');
    const isAllowed = security_mode === 'permissive';
    expect((await execute('touch x')).data.error?.code).toBe(isAllowed ? undefined : 'SECURITY_003');
  });

  test.each(['development', 'production', 'sandbox', 'minimal'])('the preset %s', async (security_preset) => {
    const { call } = await start();
    const { data } = await call('security_set_restrictions', { security_preset });
    expect(data).toMatchObject({ active: true });
  });
});
