import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Product, startProduct } from './support/product.ts';
import { openProduct } from './support/product-here.ts';

let product: Product;
beforeAll(async () => {
  product = await openProduct();
});
afterAll(() => product.close());

describe('read_execution_output', () => {
  test('by lines, from the beginning and from the end', async () => {
    const { data } = await product.execute('seq 1 500');
    const { output_id } = data;
    const middle = await product.call('read_execution_output', { output_id, start_line: 100, line_count: 3 });
    expect(middle.data).toMatchObject({
      content: '100\n101\n102',
      start_line: 100,
      end_line: 102,
      total_lines: 500,
      next_start_line: 103,
    });
    expect(middle.text).toContain('go on with start_line 103');
    const end = await product.call('read_execution_output', { output_id, start_line: -2, line_count: 10 });
    expect(end.data).toMatchObject({ content: '499\n500', is_truncated: false });
  });

  test('as results, and compared with an earlier run', async () => {
    const run = async (...failed: string[]): Promise<string> => {
      const lines = failed.map((name) => `FAILED a.py::${name} - bad`);
      const text = [...lines, `${failed.length} failed, 9 passed in 1.0s`].join('\n');
      const { data } = await product.execute('cat; exit 1', { input_data: `${text}\n` });
      expect(data.message).toContain(`${failed.length} of ${failed.length + 9} tests failed (pytest)`);
      return /extract "tests"/.test(data.message) ? data.output_id : '';
    };
    const earlier = await run('one', 'two', 'three');
    const output_id = await run('three', 'four');
    const read = await product.call('read_execution_output', { output_id, extract: 'auto' });
    expect(read.data).toMatchObject({
      extracted: { kind: 'tests', failed: 2, passed: 9, failures: [{ name: 'three' }, { name: 'four' }] },
      is_truncated: false,
    });
    expect(read.text).toBe('a.py three: bad\na.py four: bad\n[2 of 11 tests failed (pytest)]');
    const compared = await product.call('read_execution_output', {
      output_id,
      extract: 'tests',
      compare_to: earlier,
    });
    expect(compared.data.differences.summary).toBe('2 failures fewer, 1 new');
    expect(compared.text).toBe(
      '- a.py one: bad\n- a.py two: bad\n+ a.py four: bad\n[2 failures fewer, 1 new]',
    );
  });

  test.each([
    [{ extract: 'json', offset: 1 }, 'offset does not go with extract'],
    [{ extract: 'tests', pattern: 'x' }, 'pattern does not go with extract'],
    [{ compare_to: 'out_x', start_line: 1 }, 'start_line does not go with compare_to'],
    [{ extract: 'tests', path: '/a' }, 'path goes with extract "json" only'],
    [{ path: '/a' }, 'path goes with extract "json" only'],
    [{ ignore_times: true }, 'ignore_times goes with compare_to only'],
    [{ extract: 'json', encoding: 'latin1' }, 'encoding does not go with extract'],
    [{ extract: 'json', path: 'a' }, 'path is not a JSON Pointer'],
    [{ compare_to: 'out_x' }, 'There is no output "out_x"'],
  ])('refuses %o', async (parameters, problem) => {
    const { data } = await product.execute(`echo '{"a": 1}'`);
    const { output_id } = data;
    const answer = await product.call('read_execution_output', { output_id, ...parameters });
    expect(answer.data.error.message).toContain(problem);
  });

  test('in Japanese encodings, cut between characters', async () => {
    const { data } = await product.execute(`printf '日本語のテスト\\n' | iconv -t shift_jis`);
    const { output_id } = data;
    const all = await product.call('read_execution_output', { output_id, encoding: 'shift_jis' });
    expect(all.data).toMatchObject({ content: '日本語のテスト\n', encoding: 'shift_jis' });
    const wrong = await product.call('read_execution_output', { output_id, encoding: 'shift_jos' });
    expect(wrong.data.error).toMatchObject({ code: 'PARAM_002' });
  });

  test('combined, which says how exact its order is', async () => {
    const split = await product.execute('echo a; sleep 0.2; echo b >&2; sleep 0.2; echo c');
    const { data: listed } = await product.call('list_execution_outputs', {
      execution_id: split.data.execution_id,
      output_type: 'combined',
    });
    expect(listed.outputs).toMatchObject([{ output_type: 'combined', order: 'approximate', size: 6 }]);
    const combined = await product.call('read_execution_output', { output_id: listed.outputs[0].output_id });
    expect(combined.data).toMatchObject({ content: 'a\nb\nc\n', order: 'approximate' });
    expect(combined.text).toContain('approximate');
    const merged = await product.execute('echo a; echo b >&2; echo c', { merge_stderr: true });
    const exact = await product.call('read_execution_output', { output_id: merged.data.output_id });
    expect(exact.data).toMatchObject({ content: 'a\nb\nc\n', order: 'exact' });
  });

  test('an hour-long log while it grows', async () => {
    const { data } = await product.execute('for i in $(seq 1000); do echo tick $i; sleep 0.05; done', {
      execution_mode: 'background',
    });
    const { output_id, execution_id } = data;
    let size = 0;
    await expect
      .poll(async () => {
        const part = await product.call('read_execution_output', { output_id, offset: size });
        size += part.data.size;
        return part.data.is_running && size > 30;
      })
      .toBe(true);
    const found = await product.call('read_execution_output', { output_id, pattern: 'tick 2$' });
    expect(found.data.match_count).toBe(1);
    await product.call('process_terminate', { execution_id });
  });

  test('a large output is searched while other calls are answered, and its lines are found by number', async () => {
    const { data } = await product.execute('seq 1 3000000', { execution_mode: 'foreground' });
    const { output_id } = data;
    const search = (pattern: string): ReturnType<Product['call']> =>
      product.call('read_execution_output', { output_id, pattern, context_lines: 1 });
    const [text, anchored, absent, other] = await Promise.all([
      search('2999999'),
      search('^29{6}$'),
      search('[^0-9]'),
      product.execute('echo hi'),
    ]);
    const content = '2999998- 2999998\n2999999: 2999999\n3000000- 3000000';
    expect(text.data).toMatchObject({ content, match_count: 1, is_truncated: false });
    expect(anchored.data).toMatchObject({ content, match_count: 1, is_truncated: false });
    expect(absent.data).toMatchObject({ content: '', match_count: 0, is_truncated: false });
    expect(other.data.stdout).toBe('hi\n');
    for (const start_line of [-2, 2_999_999]) {
      const lines = await product.call('read_execution_output', { output_id, start_line, line_count: 2 });
      expect(lines.data).toMatchObject({
        content: '2999999\n3000000',
        start_line: 2_999_999,
        end_line: 3_000_000,
        total_lines: 3_000_000,
      });
    }
  });

  test('ways to say which part that do not go together are refused', async () => {
    const { data } = await product.execute('echo x');
    const { output_id } = data;
    for (const args of [
      { offset: 1, start_line: 1 },
      { pattern: 'x', start_line: 1 },
      { context_lines: 2 },
    ]) {
      const { data: answer } = await product.call('read_execution_output', { output_id, ...args });
      expect(answer.error.code).toBe('PARAM_002');
    }
  });
});

describe('an id is never a path', () => {
  test.for([
    '../../../../etc/passwd',
    '/etc/passwd',
    'out_../../../../etc/passwdddddddddddds',
    `out_${'a'.repeat(26)}s`,
    'stdout',
    '',
    'a'.repeat(100_000),
  ])('%s', async (output_id) => {
    const { data, isError } = await product.call('read_execution_output', { output_id });
    expect({ isError, code: data.error.code }).toEqual({ isError: true, code: 'RESOURCE_003' });
  });
});

describe('delete_execution_outputs', () => {
  test('deletes for good, says what could not be deleted, and wants to be sure', async () => {
    const { data } = await product.execute('echo gone');
    const { output_id } = data;
    const unsure = await product.call('delete_execution_outputs', {
      output_ids: [output_id],
      confirm: false,
    });
    expect(unsure.data.error.code).toBe('PARAM_002');
    const running = await product.execute('sleep 100', { execution_mode: 'background' });
    const { data: deleted } = await product.call('delete_execution_outputs', {
      output_ids: [output_id, 'out_nothing', running.data.output_id],
      confirm: true,
    });
    expect(deleted).toEqual({
      deleted_outputs: [output_id],
      failed_outputs: [
        { output_id: 'out_nothing', reason: 'not found' },
        { output_id: running.data.output_id, reason: expect.stringContaining('running') },
      ],
      total_deleted: 1,
    });
    const after = await product.call('read_execution_output', { output_id });
    expect(after.data.error.code).toBe('RESOURCE_003');
    await product.call('process_terminate', { execution_id: running.data.execution_id });
  });
});

test('list_execution_outputs filters by type and name', async () => {
  await product.execute('echo needle-in-the-name; echo e >&2');
  const { data } = await product.call('list_execution_outputs', {
    name_pattern: 'needle-in',
    output_type: 'stderr',
  });
  expect(data).toMatchObject({
    total_count: 1,
    outputs: [{ output_type: 'stderr', size: 2, name: 'echo needle-in-the-name; echo e >&2' }],
  });
});

test('old outputs are collected by count, never those that run', async () => {
  const small = await startProduct({ env: { MCP_SHELL_RETENTION_MAX_COUNT: '2' } });
  const running = await small.execute('sleep 100', { execution_mode: 'background' });
  const first = await small.execute('echo first');
  for (let i = 0; i < 3; i++) await small.execute(`echo ${i}`);
  await small.client.close();
  const next = await startProduct({ place: small, env: { MCP_SHELL_RETENTION_MAX_COUNT: '2' } });
  const { data } = await next.call('process_list', {});
  expect(data.processes.length).toBeLessThanOrEqual(2);
  const gone = await next.call('read_execution_output', { output_id: first.data.output_id });
  expect(gone.data.error.code).toBe('RESOURCE_003');
  expect(running.data.status).toBe('running');
  await next.client.close();
  small.remove();
});
