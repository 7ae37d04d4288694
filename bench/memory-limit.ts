/** `npm run bench memory-limit`: how far a command gets past its memory limit, as seen from outside. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { listDescendants, listProcesses, readPeakBytes } from '../src/executions/process-table.ts';
import { measureProportional } from '../src/executions/proportional.ts';
import { say, startMeasured } from './support.ts';

const LIMIT_MIB = Number(process.argv[2] ?? 200);
const ALLOWED = 1.5;
const MIB = 1024 * 1024;

const ALLOCATORS: Readonly<Record<string, string>> = {
  python: `python3 -c 'x = []\nwhile True: x.append(bytearray(b"x") * 1048576)'`,
  node: `node -e 'const x = []; for (;;) x.push(Buffer.alloc(1048576, 1))'`,
  perl: `perl -e 'push @x, "x" x 1048576 while 1'`,
  'after a second of rest': `sleep 1; perl -e 'push @x, "x" x 1048576 while 1'`,
  'two at once': `perl -e 'push @x, "x" x 1048576 while 1' & perl -e 'push @x, "x" x 1048576 while 1'; wait`,
  'two that share': `perl -e '$x = "x" x (90 << 20); fork; push @x, "x" x 1048576 while 1'`,
  'four that were forked': forked(4),
  'eight that were forked': forked(8),
};

/** Together about 1 GB/s. */
function forked(count: number): string {
  const grow = `push(@x, "x" x 1048576), select(undef, undef, undef, ${count / 1000}) while 1`;
  return `perl -e 'for (2 .. ${count}) { last if !fork } ${grow}'; wait`;
}

const server = await startMeasured({ env: { MCP_SHELL_SECURITY_MAX_MEMORY_MB: String(LIMIT_MIB) } });
for (const [name, command] of Object.entries(ALLOCATORS)) {
  const began = performance.now();
  const answer = server.call('shell_execute', { command, execution_mode: 'foreground', timeout_seconds: 20 });
  let isOver = false;
  void answer.finally(() => {
    isOver = true;
  });
  let most = 0;
  while (!isOver) {
    most = Math.max(most, await measure());
    await sleep(1);
  }
  const { termination_reason: reason } = await answer;
  const told = /memory limit with ([\d.]+ \S+)/.exec(JSON.stringify(await answer))?.[1] ?? 'nothing';
  say(
    `${name}: ended by ${String(reason)} after ${Math.round(performance.now() - began)} ms; ${(most / MIB).toFixed(0)} MiB seen, ${told} told, ratio ${(most / MIB / LIMIT_MIB).toFixed(2)} (allowed ${ALLOWED})`,
  );
}
await server.close();

/** Of everything that the command started, with what they share counted once. */
async function measure(): Promise<number> {
  const roots = listProcesses().filter(({ pid }) => pid === server.pid);
  const entries = (listDescendants(roots) ?? []).filter(({ pid }) => pid !== server.pid && isCommand(pid));
  const largest = Math.max(0, ...entries.map(({ pid }) => readPeakBytes(pid) ?? 0));
  const isOne = entries.filter(({ residentBytes }) => residentBytes > 16 * MIB).length <= 1;
  return isOne ? largest : Math.max(largest, (await measureProportional(entries)).bytes);
}

/** Not one of the server's own programs. */
function isCommand(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('dist/');
  } catch {
    return false;
  }
}
