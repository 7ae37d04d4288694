/** `npm run bench idle`: what a server costs that nobody asks for anything, with work that does nothing either. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { listDescendants, listProcesses, type ProcessEntry } from '../src/executions/process-table.ts';
import { say, startMeasured } from './support.ts';

const SECONDS = Number(process.argv[2] ?? 60);
const ALLOWED_PERCENT = 0.3;
const TERMINALS = 4;

const server = await startMeasured();
for (let n = 0; n < TERMINALS; n++) await server.call('terminal_create', {});
await server.call('shell_execute', {
  command: 'sleep 3600',
  execution_mode: 'background',
  timeout_seconds: 3600,
});
await server.call('shell_execute', { command: 'echo warm' });
// V8 tidies up some ten seconds after the last call.
await sleep(15_000);
await server.settled();

const before = new Map(ownProcesses().map((entry) => [entry.pid, readRunMs(entry.pid)]));
await sleep(SECONDS * 1000);
let total = 0;
for (const { pid, name } of ownProcesses()) {
  const percent = (readRunMs(pid) - (before.get(pid) ?? 0)) / (SECONDS * 10);
  total += percent;
  say(`${name} (${pid}): ${percent.toFixed(3)} % of a core`);
}
say(
  `idle for ${SECONDS} s with ${TERMINALS} terminals and a command: ${total.toFixed(3)} % of a core (allowed ${ALLOWED_PERCENT}, ratio ${(total / ALLOWED_PERCENT).toFixed(2)})`,
);
await server.close();

/** The server and the process that holds its terminals, which are told by what they run. */
function ownProcesses(): ProcessEntry[] {
  const roots = listProcesses().filter(({ pid }) => pid === server.pid);
  return (listDescendants(roots) ?? []).filter(({ pid }) =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(process.execPath),
  );
}

/** Of all threads, in nanoseconds, where `stat` has hundredths of a second. */
function readRunMs(pid: number): number {
  return readdirSync(`/proc/${pid}/task`).reduce((sum, task) => {
    const [ran] = readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ');
    return sum + Number(ran) / 1e6;
  }, 0);
}
