/**
 * `npm run bench soak [minutes] [clients]`: mixed load over HTTP, 30 minutes of it by default, and how the server's
 * memory and descriptors grow meanwhile. Ends with 1 where a call failed, or where either is not flat.
 */
import { connectLoad, soak } from '../test/e2e/support/mixed-load.ts';
import { createPlace } from '../test/e2e/support/product.ts';
import { startProductHttp } from '../test/e2e/support/product-http.ts';
import { say } from './support.ts';

const [minutes = 30, clients = 50] = process.argv.slice(2).map(Number);
const ROUNDS = 30;
/** Records of executions are kept in memory up to their number, some hundred bytes each. */
const ALLOWED_MIB = 40;
const ALLOWED_DESCRIPTORS = 50;

const place = createPlace();
const http = await startProductHttp(place, [], {
  MCP_SHELL_LIMITS_MAX_PROCESSES: '200',
  MCP_SHELL_LIMITS_MAX_PROCESSES_TOTAL: '1000',
  MCP_SHELL_RETENTION_MAX_COUNT: '2000',
});
const load = await connectLoad(place, http, { clients, principals: 5 });
const { calls, failures, grownMib, grownDescriptors } = await soak(load, http, {
  rounds: ROUNDS,
  roundMs: (minutes * 60_000) / ROUNDS,
  onRound(report, { rssMib, descriptors }) {
    const failed = report.failures === 0 ? '' : `, ${report.failures} FAILED: ${report.examples.join('; ')}`;
    say(`${report.calls} calls, ${rssMib} MiB, ${descriptors} descriptors${failed}`);
  },
});
say(
  `${calls} calls, ${failures} failed; from the middle third to the last, memory grew by ${grownMib} MiB (allowed ${ALLOWED_MIB}) and descriptors by ${grownDescriptors} (allowed ${ALLOWED_DESCRIPTORS}).`,
);
await load.close();
await http.stop();
place.remove();
const isFlat = grownMib <= ALLOWED_MIB && grownDescriptors <= ALLOWED_DESCRIPTORS;
process.exitCode = failures === 0 && isFlat ? 0 : 1;
