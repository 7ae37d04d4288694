/**
 * `npm run bench compare`: this server beside the smallest one that the SDK makes, step by step in turn, so that what
 * disturbs the machine disturbs both. Prints the ratios with what they must be, and writes them to a file:
 * `-- --rounds 3 --rows serial,background --json compare.json`.
 */
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ROOT } from '../test/support/root.ts';
import { type LineClient, openServer, type Result } from './line-client.ts';
import { percentile, say } from './support.ts';

/** What is measured of one server; `undefined` between two steps, where the other one takes its turn. */
type Steps = AsyncGenerator<undefined, Readonly<Record<string, number>>>;

interface Side {
  open(): Promise<LineClient>;
  run(client: LineClient, command: string): Promise<string>;
  start(client: LineClient, command: string): Promise<() => Promise<unknown>>;
  openTerminal(
    client: LineClient,
  ): Promise<{ type(line: string): Promise<unknown>; read(): Promise<string> }>;
}

const textOf = ({ content }: Result): string => content.map(({ text }) => text).join('');
const field = (result: Result, name: string): string => {
  const value = result.structuredContent?.[name];
  return typeof value === 'string' ? value : JSON.stringify(value ?? '');
};

const baseline: Side = {
  open: () => openServer([process.execPath, join(ROOT, 'bench/baseline.mjs')]),
  run: async (client, command) => textOf(await client.call('run', { command })),
  async start(client, command) {
    const pid = Number(textOf(await client.call('start', { command })));
    return () => client.call('kill', { pid });
  },
  async openTerminal(client) {
    await client.call('open');
    return {
      type: (line) => client.call('type', { line }),
      read: async () => textOf(await client.call('read')),
    };
  },
};

const ours = (sandbox: string): Side => ({
  open: () =>
    openServer([process.execPath, join(ROOT, 'dist/cli.js')], { MCP_SHELL_SECURITY_SANDBOX: sandbox }),
  async run(client, command) {
    const asked = { command, execution_mode: 'foreground', timeout_seconds: 60 };
    return field(await client.call('shell_execute', asked), 'stdout');
  },
  async start(client, command) {
    const started = await client.call('shell_execute', { command, execution_mode: 'background' });
    const process_id = Number(field(started, 'process_id'));
    return () => client.call('process_terminate', { process_id, force: true });
  },
  async openTerminal(client) {
    const terminal_id = field(await client.call('terminal_create', { shell_type: 'bash' }), 'terminal_id');
    return {
      type: (line) => client.call('terminal_send_input', { terminal_id, input: line, execute: true }),
      read: async () =>
        field(await client.call('terminal_get_output', { terminal_id, line_count: 50 }), 'output'),
    };
  },
});

async function* cold({ open }: Side): Steps {
  const times: number[] = [];
  for (let n = 0; n < 7; n++) {
    const client = await open();
    times.push(client.coldMs);
    await client.close();
    yield;
  }
  return { 'cold start': percentile(times, 0.5) };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function* serial({ open, run }: Side): Steps {
  const client = await open();
  const echo = (): Promise<string> => run(client, 'echo hi');
  for (let n = 0; n < 10; n++) await echo();
  const times: number[] = [];
  let cpuMs = 0;
  for (let block = 0; block < 30; block++) {
    const before = client.cpuMs();
    for (let n = 0; n < 10; n++) times.push(await timed(echo));
    cpuMs += client.cpuMs() - before;
    yield;
  }
  await client.close();
  return { 'serial p50': percentile(times, 0.5), 'CPU a call': cpuMs / times.length };
}

async function* paused({ open, run }: Side): Steps {
  const client = await open();
  for (let n = 0; n < 5; n++) await run(client, 'echo hi');
  const times: number[] = [];
  for (let n = 0; n < 40; n++) {
    await sleep(300);
    times.push(await timed(() => run(client, 'echo hi')));
    yield;
  }
  await client.close();
  return { 'after a pause': percentile(times, 0.5) };
}

async function* many({ open, run }: Side): Steps {
  const client = await open();
  for (let n = 0; n < 5; n++) await run(client, 'echo hi');
  const times: number[] = [];
  for (let batch = 0; batch < 5; batch++) {
    let left = 200;
    const worker = async (): Promise<void> => {
      while (left-- > 0) await run(client, 'echo hi');
    };
    times.push(await timed(() => Promise.all(Array.from({ length: 50 }, worker))));
    yield;
  }
  await client.close();
  return { '200 calls, 50 at once': percentile(times, 0.5) };
}

async function* large({ open, run }: Side): Steps {
  const client = await open();
  await run(client, 'echo hi');
  const ms = await timed(() => run(client, "head -c 100M /dev/zero | tr '\\0' x"));
  const peak = client.peakMib();
  await client.close();
  yield;
  return { '100 MiB': ms, '100 MiB peak memory': peak };
}

async function* memory({ open, run }: Side): Steps {
  const client = await open();
  await sleep(1500);
  const idle = client.residentMib();
  let left = 1000;
  const worker = async (): Promise<void> => {
    while (left-- > 0) await run(client, 'echo hi');
  };
  await Promise.all(Array.from({ length: 4 }, worker));
  await sleep(1500);
  const growth = client.residentMib() - idle;
  await client.close();
  yield;
  return { 'idle memory': idle, 'growth in MiB': growth };
}

async function* terminal({ open, openTerminal }: Side): Steps {
  const client = await open();
  const began = performance.now();
  const { type, read } = await openTerminal(client);
  const until = async (line: string, word: string): Promise<void> => {
    await type(line);
    while (!(await read()).includes(word));
  };
  await until('echo "rea$((40+2))dy"', 'rea42dy');
  const createMs = performance.now() - began;
  const times: number[] = [];
  for (let n = 0; n < 50; n++) {
    times.push(await timed(() => until(`echo "a$((${n}+1000))b"`, `a${n + 1000}b`)));
    if (n % 5 === 4) yield;
  }
  const flood = await timed(() => until('seq 1 2000000; echo "do$((40+2))ne"', 'do42ne'));
  await client.close();
  return {
    'terminal: create, first echo': createMs,
    'terminal: echo p50': percentile(times, 0.5),
    'terminal: two million lines': flood,
  };
}

async function* background({ open, start }: Side): Steps {
  const client = await open();
  const starts: number[] = [];
  const kills: number[] = [];
  for (let round = 0; round < 3; round++) {
    let running: readonly (() => Promise<unknown>)[] = [];
    starts.push(
      await timed(async () => {
        running = await Promise.all(Array.from({ length: 50 }, () => start(client, 'sleep 60')));
      }),
    );
    await sleep(300);
    kills.push(await timed(() => Promise.all(running.map((kill) => kill()))));
    yield;
  }
  await client.close();
  return { 'start 50': percentile(starts, 0.5), 'kill 50': percentile(kills, 0.5) };
}

const SCENARIOS = { cold, serial, paused, many, large, memory, terminal, background };

/** The most that a ratio may be, without a sandbox and with the default one; growth is in MiB. */
const MUST: Readonly<Record<string, readonly [off: number, auto: number]>> = {
  'cold start': [0.6, 0.6],
  'serial p50': [1, 2.5],
  'CPU a call': [1.2, 4],
  'after a pause': [0.8, 1.2],
  '200 calls, 50 at once': [1, 3.5],
  '100 MiB': [0.3, 0.3],
  '100 MiB peak memory': [0.14, 0.14],
  'idle memory': [0.9, 0.9],
  'growth in MiB': [12, 12],
  'terminal: create, first echo': [20, 20],
  'terminal: echo p50': [4, 4],
  'terminal: two million lines': [3, 3],
  'start 50': [3, 3],
  'kill 50': [20, 20],
};

/** In turn, until both are done. */
async function together(
  steps: readonly [Steps, Steps],
): Promise<readonly Readonly<Record<string, number>>[]> {
  const done: Readonly<Record<string, number>>[] = [];
  while (done[0] === undefined || done[1] === undefined) {
    for (const [side, step] of steps.entries()) {
      if (done[side] !== undefined) continue;
      const { value } = await step.next();
      if (value !== undefined) done[side] = value;
    }
  }
  return done;
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '1' },
    rows: { type: 'string', default: Object.keys(SCENARIOS).join(',') },
    json: { type: 'string' },
  },
});
const isScenario = (name: string): name is keyof typeof SCENARIOS => Object.hasOwn(SCENARIOS, name);
const wanted = values.rows.split(',').filter(isScenario);
if (wanted.join(',') !== values.rows) throw new Error(`--rows takes ${Object.keys(SCENARIOS).join(',')}`);
const found = new Map<string, number[]>();
for (let round = 0; round < Number(values.rounds); round++) {
  for (const name of wanted) {
    for (const [column, sandbox] of ['off', 'auto'].entries()) {
      const [floor = {}, mine = {}] = await together([
        SCENARIOS[name](baseline),
        SCENARIOS[name](ours(sandbox)),
      ]);
      for (const [row, value] of Object.entries(mine)) {
        const ratio = row === 'growth in MiB' ? value : value / (floor[row] ?? Number.NaN);
        const key = `${row}\t${column}`;
        found.set(key, [...(found.get(key) ?? []), ratio]);
      }
    }
  }
}
const rows = Object.entries(MUST).flatMap(([row, must]) => {
  const [off, auto] = [0, 1].map((column) => found.get(`${row}\t${column}`));
  if (off === undefined || auto === undefined) return [];
  return [{ row, off: percentile(off, 0.5), auto: percentile(auto, 0.5), must }];
});
const show = (value: number, must: number): string =>
  `${value.toFixed(2)} / ${must}${value > must ? ' !' : ''}`;
say('| now / must | sandbox off | default sandbox |\n| --- | --- | --- |');
for (const { row, off, auto, must } of rows)
  say(`| ${row} | ${show(off, must[0])} | ${show(auto, must[1])} |`);
if (values.json !== undefined) {
  const machine = { cores: cpus().length, cpu: cpus()[0]?.model, node: process.version };
  const report = { date: new Date().toISOString(), machine, rounds: Number(values.rounds), rows };
  writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
}
