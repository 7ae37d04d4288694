/**
 * `npm run bench terminals`: what terminals cost while nothing happens in them: the memory of each of twenty, and the
 * processor time of server and host with four of them and a command in the background.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type MeasuredServer, percentile, say, startMeasured } from './support.ts';

const IDLE_SECONDS = 60;
const MANY = 20;
/** USER_HZ. */
const TICKS_PER_SECOND = 100;

const own = await startMeasured();
await latency(own);
await memory(own);
await own.close();
const idle = await startMeasured();
await idleTime(idle);
await idle.close();

async function open(server: MeasuredServer): Promise<string> {
  return String((await server.call('terminal_create', { shell_type: 'bash' }))['terminal_id']);
}

async function latency(server: MeasuredServer): Promise<void> {
  const began = performance.now();
  const id = await open(server);
  say(`open the first: ${(performance.now() - began).toFixed(0)} ms`);
  const times: number[] = [];
  for (let n = 0; n < 200; n++) {
    const at = performance.now();
    const call = { terminal_id: id, input: `echo ${n}`, execute: true, timeout_seconds: 10 };
    const answer = await server.call('terminal_send_input', call);
    if (answer['output'] !== `${n}\n`) throw new Error(`echo ${n} answered ${JSON.stringify(answer)}`);
    times.push(performance.now() - at);
  }
  say(
    `echo, waited for: p50 ${percentile(times, 0.5).toFixed(1)} ms, p95 ${percentile(times, 0.95).toFixed(1)} ms`,
  );
  const at = performance.now();
  const flood = { terminal_id: id, input: 'seq 1 2000000', execute: true, timeout_seconds: 60 };
  const { wait_reason: reason } = await server.call('terminal_send_input', flood);
  say(`seq 1 2000000: ${(performance.now() - at).toFixed(0)} ms, ${String(reason)}`);
  await server.call('terminal_close', { terminal_id: id, save_history: false });
}

async function memory(server: MeasuredServer): Promise<void> {
  await open(server);
  await server.settled();
  const one = residentKib(server);
  for (let n = 1; n < MANY; n++) await open(server);
  await server.settled();
  const each = (residentKib(server) - one) / 1024 / (MANY - 1);
  say(`${MANY} open: ${each.toFixed(2)} MiB each over the first (allowed 3)`);
}

async function idleTime(server: MeasuredServer): Promise<void> {
  for (let n = 0; n < 4; n++) await open(server);
  const sleeper = { command: `sleep ${IDLE_SECONDS * 3}`, execution_mode: 'background' };
  await server.call('shell_execute', sleeper);
  await server.settled();
  const before = processes(server).map(ticksOf);
  await sleep(IDLE_SECONDS * 1000);
  const used = processes(server).map((pid, at) => ticksOf(pid) - (before[at] ?? 0));
  const [ofServer = 0, ofHost = 0] = used.map((ticks) => (ticks / TICKS_PER_SECOND / IDLE_SECONDS) * 100);
  const total = (ofServer + ofHost).toFixed(2);
  say(
    `four idle terminals and a background sleep: ${total} % of a core (server ${ofServer.toFixed(2)}, host ${ofHost.toFixed(2)}; allowed 0.3)`,
  );
}

/** The server, and the host that it started. */
function processes({ pid }: MeasuredServer): number[] {
  const host = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .find((name) => statOf(Number(name))[1] === String(pid) && commandOf(name).includes('pty-host'));
  return [pid, Number(host)];
}

function residentKib(server: MeasuredServer): number {
  return processes(server)
    .map((pid) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0))
    .reduce((sum, kib) => sum + kib, 0);
}

function ticksOf(pid: number): number {
  return Number(statOf(pid)[11]) + Number(statOf(pid)[12]);
}

/** From the state on, after the name, which may have spaces in it. */
function statOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  } catch {
    return [];
  }
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
