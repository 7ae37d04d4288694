/** `npm run bench waits`: what a thousand calls that wait cost while nothing happens. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { say, startMeasured } from './support.ts';

const WAITS = 1000;
const EXECUTIONS = 40;
const SECONDS = Number(process.argv[2] ?? 20);
const ALLOWED_PERCENT = 2;

const server = await startMeasured({ env: { MCP_SHELL_LIMITS_MAX_WAIT_SECONDS: '300' } });
const ids: string[] = [];
for (let n = 0; n < EXECUTIONS; n++) {
  const { execution_id: id } = await server.call('shell_execute', {
    command: 'exec sleep 3600',
    execution_mode: 'background',
  });
  ids.push(String(id));
}
const KINDS = [
  { exit: true },
  { output: 'ready in \\d+ ms' },
  { quiet_seconds: 300 },
  { port: 1 },
  { url: 'http://127.0.0.1:1/' },
  { file: 'dist/index.js' },
];
const answered: string[] = [];
for (let n = 0; n < WAITS; n++)
  void server
    .call('process_get_execution', {
      execution_id: ids[n % EXECUTIONS],
      wait_for: [KINDS[n % KINDS.length]],
      wait_seconds: 300,
    })
    .then(
      (data) => answered.push(JSON.stringify(data['wait'] ?? data['error'])),
      () => undefined,
    );
await sleep(10_000);
await server.settled();
const before = runMs();
await sleep(SECONDS * 1000);
const percent = (runMs() - before) / (SECONDS * 10);
say(
  `${WAITS} waits, ${answered.length} answered: ${percent.toFixed(2)} % of a core (allowed ${ALLOWED_PERCENT}, ratio ${(percent / ALLOWED_PERCENT).toFixed(2)})`,
);
if (answered[0] !== undefined) say(answered[0]);
await server.close();

/** Of all threads of the server. */
function runMs(): number {
  return readdirSync(`/proc/${server.pid}/task`).reduce((sum, task) => {
    const [ran] = readFileSync(`/proc/${server.pid}/task/${task}/schedstat`, 'utf8').split(' ');
    return sum + Number(ran) / 1e6;
  }, 0);
}
