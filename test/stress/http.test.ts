/** Many callers over HTTP: nobody starves because of somebody else. */
import { describe, expect, test } from 'vitest';
import { createToken, principalAt } from '../e2e/support/principals.ts';
import { createPlace } from '../e2e/support/product.ts';
import { startProductHttp } from '../e2e/support/product-http.ts';

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
