/**
 * `npm run bench fairness`: how long one principal's `echo` takes while another has 50 floods, against alone. A ratio in
 * one run, since both depend on the machine.
 */
import { createToken, type Principal, principalAt } from '../test/e2e/support/principals.ts';
import { createPlace } from '../test/e2e/support/product.ts';
import { startProductHttp } from '../test/e2e/support/product-http.ts';
import { percentile, say } from './support.ts';

const CALLS = 40;
const FLOODS = 50;

async function timed(caller: Principal): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < CALLS; n++) {
    const startedAtMs = performance.now();
    const { data } = await caller.call('shell_execute', { command: `echo ${n}` });
    if (data.stdout !== `${n}\n`) throw new Error(JSON.stringify(data));
    times.push(performance.now() - startedAtMs);
  }
  return times;
}

const place = createPlace();
const http = await startProductHttp(place);
const alice = principalAt(http.url, await createToken(place, 'alice'));
const bob = principalAt(http.url, await createToken(place, 'bob'));
await timed(bob);
const alone = await timed(bob);
const floods = await Promise.all(
  Array.from({ length: FLOODS }, () =>
    alice.call('shell_execute', { command: 'yes', execution_mode: 'background' }),
  ),
);
const beside = await timed(bob);
const show = (times: readonly number[]): string =>
  `p50 ${percentile(times, 0.5).toFixed(0)} ms, p95 ${percentile(times, 0.95).toFixed(0)} ms`;
say(`echo alone: ${show(alone)}`);
say(`echo beside ${FLOODS} floods of another principal: ${show(beside)}`);
say(`ratio of the medians: ${(percentile(beside, 0.5) / percentile(alone, 0.5)).toFixed(1)}`);
await Promise.all(
  floods.map(({ data }) => alice.call('process_terminate', { execution_id: data.execution_id, force: true })),
);
await http.stop();
place.remove();
