/**
 * `npm run bench search`: reading and searching outputs of 100 MiB, against `grep -cE` on the same bytes in the same
 * run, and how long other calls wait meanwhile.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type MeasuredServer, percentile, say, startMeasured } from './support.ts';

const BYTES = 100 * 1024 * 1024;
const ROUNDS = 7;

const LEVELS = ['INFO', 'DEBUG', 'INFO', 'WARN', 'INFO', 'TRACE'];

function logLine(n: number): string {
  const level = n % 50_021 === 50_000 ? 'ERROR' : LEVELS[n % LEVELS.length];
  const id = Math.imul(n, 2654435761) >>> 0;
  const at = new Date(1_800_000_000_000 + n * 7).toISOString();
  return `${at} ${level} [worker-${n % 16}] request id=${id.toString(16)} path=/api/v1/items/${n % 9973} status=${n % 97 === 0 ? 503 : 200} took ${n % 450}ms\n`;
}

const shortLine = (n: number): string => `${String(n % 10_000_000).padStart(7, '0')}\n`;

/** Few enough matches that all of the output is searched, as grep does. */
const CASES = [
  { what: 'literal, log lines', file: 'log', pattern: 'ERROR', most: 3 },
  { what: 'literal, absent', file: 'log', pattern: 'nowhere to be found', most: 3 },
  { what: 'literal, 8-byte lines', file: 'short', pattern: '9999999', most: 3 },
  { what: 'pattern with a literal', file: 'log', pattern: 'ERROR.*took [0-9]+ms', most: 6 },
  { what: 'alternatives', file: 'log', pattern: '(FATAL|ERROR).*status=[0-9]+', most: 6 },
  {
    what: 'classes only',
    file: 'log',
    pattern: '[A-Z]{5}[^T]*[a-f0-9]{8} [a-z]+=[^ ]+/99[0-9]{3} ',
    most: 6,
  },
  { what: 'common literal', file: 'log', pattern: 'status=50[0-9] took 44[0-9]ms.', most: 6 },
  { what: 'anchored, 8-byte lines', file: 'short', pattern: '^12345[0-9]6$', most: 10 },
  { what: 'classes, 8-byte lines', file: 'short', pattern: '[02468]{6}[^0-9]', most: 10 },
];

const server = await startMeasured();
const files = new Map<string, { path: string; outputId: string }>();
for (const [name, line] of [['log', logLine] as const, ['short', shortLine] as const]) {
  files.set(name, await createOutput(server, name, line));
}

let isOver = false;
for (const { what, file, pattern, most } of CASES) {
  const { path, outputId } = files.get(file) ?? { path: '', outputId: '' };
  const greps: number[] = [];
  const searches: number[] = [];
  let matches = 0;
  for (let round = 0; round < ROUNDS; round++) {
    greps.push(await time(() => spawnSync('grep', ['-cE', pattern, path])));
    const search = { output_id: outputId, pattern };
    searches.push(
      await time(
        async () => (matches = Number((await server.call('read_execution_output', search))['match_count'])),
      ),
    );
  }
  const ratio = percentile(searches, 0.5) / percentile(greps, 0.5);
  isOver ||= ratio > most;
  say(
    `${what.padEnd(24)} grep ${show(greps)}  search ${show(searches)}  ratio ${ratio.toFixed(2).padStart(5)} (at most ${most})  ${matches} matches  ${pattern}`,
  );
}

for (const [name, { outputId }] of files) {
  const last = { output_id: outputId, start_line: -100, line_count: 100 };
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    times.push(await time(() => server.call('read_execution_output', last)));
  }
  say(`last 100 lines of ${name}: ${times.map((ms) => ms.toFixed(1)).join(' ')} ms (under 20)`);
}
await page(server, files.get('log')?.outputId ?? '');
await wait(server, files.get('log')?.outputId ?? '');
await server.close();
process.exitCode = isOver ? 1 : 0;

async function createOutput(
  from: MeasuredServer,
  name: string,
  lineOf: (n: number) => string,
): Promise<{ path: string; outputId: string }> {
  const path = join(from.work, name);
  const file = openSync(path, 'w');
  let written = 0;
  for (let n = 0; written < BYTES - 1024; ) {
    let text = '';
    while (text.length < 1_000_000 && written + text.length < BYTES - 1024) text += lineOf(n++);
    written += writeSync(file, text);
  }
  closeSync(file);
  const answer = await from.call('shell_execute', {
    command: `cat ${name}`,
    execution_mode: 'foreground',
  });
  return { path, outputId: String(answer['output_id']) };
}

async function time(run: () => unknown): Promise<number> {
  const began = performance.now();
  await run();
  return performance.now() - began;
}

function show(values: readonly number[]): string {
  return `${percentile(values, 0.5).toFixed(0).padStart(4)} ms`;
}

/** From one end to the other, a thousand lines at a time. */
async function page(on: MeasuredServer, outputId: string): Promise<void> {
  const began = performance.now();
  let pages = 0;
  for (let next: unknown = 1; typeof next === 'number' && pages < 2000; pages++) {
    const request = { output_id: outputId, start_line: next, line_count: 1000 };
    next = (await on.call('read_execution_output', request))['next_start_line'];
  }
  const ms = performance.now() - began;
  say(`${pages} pages of lines: ${ms.toFixed(0)} ms, ${(ms / pages).toFixed(2)} ms each`);
}

/** How long a small call takes while large ones are searched for. */
async function wait(on: MeasuredServer, outputId: string): Promise<void> {
  const small = (): Promise<unknown> => on.call('process_list', { limit: 1 });
  const idle: number[] = [];
  for (let n = 0; n < 50; n++) idle.push(await time(small));
  const pattern = '[A-Z]{5}[^T]*[a-f0-9]{8} [a-z]+=[^ ]+/99[0-9]{4} ';
  let isSearching = true;
  const searches = Promise.all(
    [1, 2, 3].map(() => on.call('read_execution_output', { output_id: outputId, pattern })),
  );
  void searches.finally(() => (isSearching = false));
  const busy: number[] = [];
  while (isSearching) {
    busy.push(await time(small));
    await sleep(5);
  }
  await searches;
  const ms = (values: number[], share: number): string => percentile(values, share).toFixed(1);
  say(
    `a small call: p50 ${ms(idle, 0.5)} ms alone, p50 ${ms(busy, 0.5)} ms, p99 ${ms(busy, 0.99)} ms beside 3 searches`,
  );
}
