/**
 * `npm run bench soak [minutes] [clients]`: mixed load over HTTP, 30 minutes of it by default, and how the server's
 * memory and descriptors grow meanwhile. Ends with 1 where a call failed, or where either is not flat.
 */
import { connectLoad, footprintOf } from '../test/e2e/support/mixed-load.ts';
import { createPlace } from '../test/e2e/support/product.ts';
import { startProductHttp } from '../test/e2e/support/product-http.ts';
import { say } from './support.ts';

const [minutes = 30, clients = 50] = process.argv.slice(2).map(Number);
const ROUNDS = 30;
/** Of what it had after the first third: records of executions are kept in memory, some hundred bytes each. */
const ALLOWED_MIB = 40;
const ALLOWED_DESCRIPTORS = 50;

const place = createPlace();
const http = await startProductHttp(place, [], {
  MCP_SHELL_LIMITS_MAX_PROCESSES: '200',
  MCP_SHELL_LIMITS_MAX_PROCESSES_TOTAL: '1000',
  MCP_SHELL_RETENTION_MAX_COUNT: '2000',
});
const load = await connectLoad(place, http, { clients, principals: 5 });
const seen: { readonly rssMib: number; readonly descriptors: number }[] = [];
let failures = 0;
let calls = 0;
for (let round = 1; round <= ROUNDS; round++) {
  const report = await load.run({ ms: (minutes * 60_000) / ROUNDS });
  const now = footprintOf(http);
  seen.push(now);
  calls += report.calls;
  failures += report.failures;
  say(
    `${String(round).padStart(2)}/${ROUNDS}: ${report.calls} calls, ${now.rssMib} MiB, ${now.descriptors} descriptors${report.failures === 0 ? '' : `, ${report.failures} FAILED: ${report.examples.join('; ')}`}`,
  );
}
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const third = Math.floor(ROUNDS / 3);
const grown = (field: 'rssMib' | 'descriptors'): number =>
  median(seen.slice(-third).map((one) => one[field])) -
  median(seen.slice(third, 2 * third).map((one) => one[field]));
say(
  `${calls} calls, ${failures} failed; from the middle third to the last, memory grew by ${grown('rssMib')} MiB (allowed ${ALLOWED_MIB}) and descriptors by ${grown('descriptors')} (allowed ${ALLOWED_DESCRIPTORS}).`,
);
await load.close();
await http.stop();
place.remove();
const isFlat = grown('rssMib') <= ALLOWED_MIB && grown('descriptors') <= ALLOWED_DESCRIPTORS;
process.exitCode = failures === 0 && isFlat ? 0 : 1;
