import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Product, startProduct } from '../e2e/support/product.ts';

let product: Product;
beforeAll(async () => {
  product = await startProduct();
});
afterAll(() => product.close());

test('200 executions, 50 in flight, all answer correctly', async () => {
  let next = 0;
  const results = new Map<number, string>();
  async function worker(): Promise<void> {
    for (let n = next++; n < 200; n = next++) {
      const { data } = await product.execute(
        `echo begin-${n}; seq 1 ${n * 10} | tail -1; echo e-${n} >&2; exit ${n % 3}`,
      );
      results.set(n, `${data.exit_code} ${data.stdout}${data.stderr}`);
    }
  }
  await Promise.all(Array.from({ length: 50 }, worker));
  for (let n = 0; n < 200; n++) {
    expect(results.get(n)).toBe(`${n % 3} begin-${n}\n${n === 0 ? '' : `${n * 10}\n`}e-${n}\n`);
  }
});

test('the 51st is refused with what would free one, and there is room again afterwards', async () => {
  const started = await Promise.all(
    Array.from({ length: 50 }, () => product.execute('sleep 100', { execution_mode: 'background' })),
  );
  expect(started.map(({ data }) => data.status)).toEqual(Array.from({ length: 50 }, () => 'running'));
  const { data } = await product.execute('echo no');
  expect(data.error).toMatchObject({
    code: 'RESOURCE_005',
    details: { limit: 50, hint: expect.stringContaining('process_terminate') },
  });
  await Promise.all(
    started.map((one) =>
      product.call('process_terminate', { execution_id: one.data.execution_id, force: true }),
    ),
  );
  expect((await product.execute('echo yes')).data.stdout).toBe('yes\n');
});

test('20 floods at once are kept to their limit and keep no other call waiting for long', async () => {
  const floods = await Promise.all(
    Array.from({ length: 20 }, () => product.execute('yes', { execution_mode: 'background' })),
  );
  for (let n = 0; n < 20; n++) {
    expect((await product.execute(`echo ${n}`)).data.stdout).toBe(`${n}\n`);
  }
  await Promise.all(
    floods.map((one) =>
      product.call('process_terminate', { execution_id: one.data.execution_id, force: true }),
    ),
  );
  for (const { data } of floods) {
    const { data: listed } = await product.call('list_execution_outputs', {
      execution_id: data.execution_id,
      output_type: 'stdout',
    });
    expect(listed.outputs[0].size).toBeGreaterThan(0);
    await product.call('delete_execution_outputs', { output_ids: [data.output_id], confirm: true });
  }
});
