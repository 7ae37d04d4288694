/** Many callers over HTTP: no error, nothing left over, and nobody starves because of somebody else. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/base/limits.ts';
import { connectLoad, footprintOf, soak } from '../e2e/support/mixed-load.ts';
import { createToken, principalAt } from '../e2e/support/principals.ts';
import { createPlace, type Place } from '../e2e/support/product.ts';
import { type RunningProduct, startProductHttp } from '../e2e/support/product-http.ts';

let place: Place;
let http: RunningProduct;
beforeAll(async () => {
  place = createPlace();
  http = await startProductHttp(place, [], {
    MCP_SHELL_HTTP_METRICS_PORT: '0',
    MCP_SHELL_LIMITS_MAX_OUTPUT_MB: '1',
    MCP_SHELL_LIMITS_MAX_WAIT_SECONDS: '600',
    // What was cancelled takes a moment to end, and its caller goes on.
    MCP_SHELL_LIMITS_MAX_PROCESSES_TOTAL: '1000',
    MCP_SHELL_LIMITS_MAX_PROCESSES: '100',
    // Executions that are kept on purpose are not a leak; those that were collected must be gone from memory.
    MCP_SHELL_RETENTION_MAX_COUNT: '500',
  });
});
afterAll(async () => {
  await http.stop();
  place.remove();
});

async function metric(name: string): Promise<number> {
  const url = /Health and metrics: (\S+)/.exec(http.process.stdout())?.[1] ?? '';
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^mcp_shell_${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

test('200 clients make 10,000 calls at once, without an error and without a leak', async () => {
  const load = await connectLoad(place, http, { clients: 200, principals: 8 });
  const warm = await load.run({ calls: 4000 });
  expect(warm).toMatchObject({ failures: 0, examples: [] });
  const before = footprintOf(http);
  const { calls, failures, examples } = await load.run({ calls: 6000 });
  expect({ failures, examples }).toEqual({ failures: 0, examples: [] });
  expect(calls + warm.calls).toBeGreaterThanOrEqual(10_000);
  await load.close();
  await expect.poll(() => metric('executions_running'), { timeout: 60_000 }).toBe(0);
  await expect.poll(() => metric('http_requests_under_way'), { timeout: 60_000 }).toBe(0);
  // Clients keep connections for later, and the server closes them after a while; pipes that were made ahead remain.
  await expect
    .poll(() => footprintOf(http).descriptors, { timeout: 2 * LIMITS.keepAliveTimeoutMs })
    .toBeLessThan(120);
  expect(footprintOf(http).rssMib - before.rssMib).toBeLessThan(60);
  expect(http.process.stderr()).not.toContain('"level":"error"');
}, 1_200_000);

test('memory and descriptors stay flat under mixed load', async () => {
  const load = await connectLoad(place, http, { clients: 20, principals: 4 });
  const { failures, examples, grownMib, grownDescriptors } = await soak(load, http, {
    rounds: 9,
    roundMs: 4000,
  });
  expect({ failures, examples }).toEqual({ failures: 0, examples: [] });
  expect(grownMib).toBeLessThan(40);
  expect(grownDescriptors).toBeLessThan(60);
  await load.close();
});

describe('one principal’s 50 floods', () => {
  test('leave another’s calls, and its own number of them, alone', async () => {
    const place50 = createPlace();
    const server = await startProductHttp(place50, [], { MCP_SHELL_LIMITS_MAX_OUTPUT_MB: '1' });
    const alice = principalAt(server.url, await createToken(place50, 'alice'));
    const bob = principalAt(server.url, await createToken(place50, 'bob'));
    const floods = await Promise.all(
      Array.from({ length: 50 }, () =>
        alice.call('shell_execute', { command: 'yes', execution_mode: 'background' }),
      ),
    );
    const { data: refused } = await alice.call('shell_execute', { command: 'echo no' });
    expect(refused.error).toMatchObject({ code: 'RESOURCE_005', details: { limit: 50 } });
    for (let n = 0; n < 50; n++) {
      expect((await bob.call('shell_execute', { command: `echo ${n}` })).data.stdout).toBe(`${n}\n`);
    }
    const many = await Promise.all(
      Array.from({ length: 20 }, (_, n) => bob.call('shell_execute', { command: `echo ${n}` })),
    );
    expect(many.map(({ data }) => data.stdout)).toEqual(many.map((_, n) => `${n}\n`));
    const { data } = await alice.call('process_list', { status_filter: 'running', limit: 100 });
    expect(data.filtered_count).toBe(50);
    await Promise.all(
      floods.map((flood) =>
        alice.call('process_terminate', { execution_id: flood.data.execution_id, force: true }),
      ),
    );
    await server.stop();
    place50.remove();
  });
});
