import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Product } from './support/product.ts';
import { openProduct } from './support/product-here.ts';

let product: Product;
beforeAll(async () => {
  product = await openProduct();
});
afterAll(() => product.close());

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe('shell_execute answers', () => {
  test('with what says something', async () => {
    expect((await product.execute('echo out')).data).toEqual({
      execution_id: expect.stringMatching(/^exec_[a-z0-9]{26}$/),
      status: 'completed',
      success: true,
      exit_code: 0,
      output_id: expect.stringMatching(/^out_/),
      stdout: 'out\n',
    });
  });

  test('with everything that applies where detail is asked for, and nothing that does not', async () => {
    const { data, text, isError } = await product.execute('echo out; echo err >&2', { detail: true });
    expect(data).toEqual({
      execution_id: expect.stringMatching(/^exec_[a-z0-9]{26}$/),
      status: 'completed',
      success: true,
      termination_reason: 'exit',
      exit_code: 0,
      stdout: 'out\n',
      stderr: 'err\n',
      output_truncated: false,
      output_id: expect.stringMatching(/^out_/),
      stderr_output_id: expect.stringMatching(/^out_/),
      execution_time_ms: expect.any(Number),
      process_id: expect.any(Number),
      working_directory: product.work,
      default_working_directory: product.work,
      working_directory_changed: false,
      created_at: TIME,
      completed_at: TIME,
    });
    expect(text).toMatch(
      /^out\n\[stderr\]\nerr\n\[completed, exit code 0, \d+ ms, output_id \w+, stderr_output_id \w+\]$/,
    );
    expect(isError).toBe(false);
  });

  test('a failing command is a result, not a tool error', async () => {
    const { data, isError } = await product.execute('echo no >&2; exit 3');
    expect({ ...data, isError }).toMatchObject({
      status: 'failed',
      success: false,
      exit_code: 3,
      isError: false,
    });
  });

  test('a timeout in foreground with what was printed so far, when everything is gone', async () => {
    const { data, isError } = await product.execute('echo before; sleep 100', {
      execution_mode: 'foreground',
      timeout_seconds: 1,
    });
    expect({ ...data, isError }).toMatchObject({
      status: 'timeout',
      success: false,
      termination_reason: 'timeout',
      error_code: 'EXECUTION_002',
      stdout: 'before\n',
      partial_output: true,
      message: expect.stringContaining('Command timed out after 1 seconds'),
      isError: false,
    });
  });

  test('a timeout as an error where no partial output is wanted', async () => {
    const { data, isError } = await product.execute('sleep 100', {
      execution_mode: 'sync',
      timeout_seconds: 1,
      return_partial_on_timeout: false,
    });
    expect({ isError, error: data.error }).toMatchObject({
      isError: true,
      error: { code: 'EXECUTION_002', category: 'EXECUTION', details: { execution_id: expect.any(String) } },
    });
  });

  test('adaptive hands the same process over, and nothing is lost', async () => {
    const first = await product.execute('echo $$; date +%s%N > began; sleep 1.5; echo $$; cat began', {
      foreground_timeout_seconds: 1,
    });
    expect(first.data).toMatchObject({
      status: 'running',
      transition_reason: 'foreground_timeout',
      partial_output: true,
    });
    expect(first.text).toContain('process_get_execution');
    const { data } = await product.call('process_get_execution', {
      execution_id: first.data.execution_id,
      wait_seconds: 20,
    });
    expect(data).toMatchObject({ status: 'completed', process_id: first.data.process_id });
    expect(data.stdout).toMatch(/^(\d+)\n\1\n\d+\n$/);
  });

  test('adaptive waits as long as the command may run, where only that was said', async () => {
    const { data } = await product.execute('sleep 11; echo done', { timeout_seconds: 60 });
    expect(data).toMatchObject({ status: 'completed', stdout: 'done\n' });
    const { data: late } = await product.execute('echo begun; sleep 30', { timeout_seconds: 1 });
    expect(late).toMatchObject({ status: 'timeout', stdout: 'begun\n' });
  });

  test('a command that prints much and ends is answered as ended', async () => {
    const { data } = await product.execute('yes | head -c 200000; sleep 0.5; exit 3', {
      max_output_size: 2000,
    });
    expect(data).toMatchObject({ status: 'failed', exit_code: 3, output_truncated: true });
    expect(data.stdout.length).toBeLessThanOrEqual(2000);
  });

  test('adaptive hands over when the output passes max_output_size', async () => {
    const { data } = await product.execute('yes | head -c 200000; sleep 20', { max_output_size: 2000 });
    expect(data).toMatchObject({
      status: 'running',
      transition_reason: 'output_size_limit',
      output_truncated: true,
    });
    expect(data.stdout.length).toBeLessThanOrEqual(2000);
    await product.call('process_terminate', { execution_id: data.execution_id });
  });

  test('2,000,000 lines in under 40 KB with their beginning and end, and all of them can be read afterwards', async () => {
    const { data, text } = await product.execute('seq 1 2000000', { execution_mode: 'foreground' });
    expect(data.output_truncated).toBe(true);
    expect(JSON.stringify(data).length + text.length).toBeLessThan(40_000);
    expect(data.stdout).toMatch(/^1\n2\n3\n/);
    expect(data.stdout).toMatch(/\n1999999\n2000000\n$/);
    expect(data.stdout.match(/read_execution_output/g)).toHaveLength(1);
    const { output_id } = data;
    let offset: number | undefined = 0;
    let bytes = 0;
    while (offset !== undefined) {
      const part = await product.call('read_execution_output', { output_id, offset, size: 1_048_576 });
      bytes += part.data.size;
      offset = part.data.next_offset;
    }
    expect(bytes).toBe(14_888_896);
    const search = { output_id, pattern: '^1999999$', context_lines: 1 };
    let found = await product.call('read_execution_output', search);
    // A busy machine takes longer than one call may search.
    while (found.data.content === '' && found.data.next_offset !== undefined)
      found = await product.call('read_execution_output', { ...search, offset: found.data.next_offset });
    expect(found.data.content).toBe('1999998- 1999998\n1999999: 1999999\n2000000- 2000000');
    const end = await product.call('read_execution_output', { output_id, offset: -8 });
    expect(end.data.content).toBe('2000000\n');
  });

  test('binary and badly encoded output, whose exact bytes can be read as base64', async () => {
    const { data } = await product.execute(String.raw`printf 'caf\351\n'`);
    expect(data).toMatchObject({ stdout: 'caf\ufffd\n', message: expect.stringContaining('not UTF-8') });
    const exact = await product.call('read_execution_output', {
      output_id: data.output_id,
      encoding: 'base64',
    });
    expect(Buffer.from(exact.data.content, 'base64').toString('latin1')).toBe('café\n');
    const latin = await product.call('read_execution_output', {
      output_id: data.output_id,
      encoding: 'latin1',
    });
    expect(latin.data.content).toBe('café\n');
    const binary = await product.execute('head -c 5000 /dev/zero');
    expect(binary.data.stdout).toContain('binary data: 5,000 bytes');
  });

  test('what was left running by the shell, and how to keep it', async () => {
    const { data } = await product.execute('sleep 100 & sleep 0.2; echo hi');
    expect(data).toMatchObject({
      status: 'completed',
      stdout: 'hi\n',
      message: expect.stringContaining('"background"'),
    });
    expect(data.message).toContain('ended with it');
  });
});

describe('the environment', () => {
  test('does not hang on pagers, editors and prompts', async () => {
    const { data } = await product.execute(
      'git init -q . && git -c user.name=a -c user.email=b commit --allow-empty; git log; git config --global --edit < /dev/null; echo $PAGER $GIT_TERMINAL_PROMPT',
    );
    expect(data.status).toBe('completed');
    expect(data.stdout).toMatch(/cat 0\n$/);
  });

  test('takes what the caller sets, and nothing of the server’s own', async () => {
    const { data } = await product.execute('echo "$GREETING|$PAGER|${MCP_SHELL_STATE_DIR-none}"', {
      environment_variables: { GREETING: 'hi there', PAGER: 'more' },
    });
    expect(data.stdout).toBe('hi there|more|none\n');
  });

  const refused = [{ '1X': 'a' }, { 'A B': 'a' }, { '': 'a' }, { MCP_SHELL_EXECUTION: 'x' }, { 'A=B': 'c' }];
  test.for(refused)('refuses %o', async (environment_variables) => {
    const { data } = await product.execute('true', { environment_variables });
    expect(data.error.code).toBe('PARAM_002');
  });
});

test('merging what is discarded is refused', async () => {
  const { data } = await product.execute('true', { capture_stderr: false, merge_stderr: true });
  expect(data.error.code).toBe('PARAM_002');
});

describe('errors that help', () => {
  test('a command that is not found: the nearest on PATH', async () => {
    const { data, text } = await product.execute('gti status');
    expect(data).toMatchObject({ exit_code: 127, message: expect.stringContaining('git') });
    expect(text).toContain(data.message);
  });

  test('a command that is not on PATH but where it should be looked for', async () => {
    mkdirSync(join(product.work, 'node_modules/.bin'), { recursive: true });
    writeFileSync(join(product.work, 'node_modules/.bin/my-tool'), '#!/bin/sh\n', { mode: 0o755 });
    const { data } = await product.execute('my-tool --help');
    expect(data.message).toContain(join(product.work, 'node_modules/.bin/my-tool'));
  });

  test('a file that may not be executed: whose it is and what to try', async () => {
    writeFileSync(join(product.work, 'script.sh'), 'echo hi\n', { mode: 0o644 });
    const { data } = await product.execute('./script.sh');
    expect(data).toMatchObject({
      exit_code: 126,
      message: expect.stringMatching(/script\.sh belongs to uid \d+.*mode 0644.*chmod \+x/),
    });
  });

  test('a directory that is not there: the nearest that is', async () => {
    const { data } = await product.execute('true', { working_directory: 'deep/er/still' });
    expect(data.error).toMatchObject({ code: 'PARAM_002', details: { nearest_existing: product.work } });
  });
});

describe('sessions', () => {
  test('carry directory and variables, and the answer says what changed', async () => {
    const first = await product.execute('cd /usr && export COLOUR=blue', { session_id: 'work' });
    expect(first.data).toMatchObject({
      session_changes: { working_directory: '/usr', set: ['COLOUR'], unset: [] },
      message: expect.stringContaining('working directory /usr'),
    });
    const second = await product.execute('echo "$PWD $COLOUR"', { session_id: 'work' });
    expect(second.data).toMatchObject({
      stdout: '/usr blue\n',
      working_directory: '/usr',
      working_directory_changed: true,
    });
    const third = await product.execute('exec true', { session_id: 'work' });
    expect(third.data.message).toContain('Session work is unchanged');
  });
});
