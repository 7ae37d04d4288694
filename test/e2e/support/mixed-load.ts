/** Many clients of several principals that do what agents do, all at once; for the stress tests and the soak. */
import { readdirSync, readFileSync } from 'node:fs';
import { type ClientKind, connectHttp, type TestClient } from './clients.ts';
import { createToken } from './principals.ts';
import { type Called, type Place, read } from './product.ts';
import type { RunningProduct } from './product-http.ts';

/** Both eras, by the clients that people have. */
const KINDS: readonly ClientKind[] = ['v2 modern', 'v2 legacy', 'sdk 1.32', 'v2 modern'];

export interface Load {
  /** Calls, until the number is reached or the time is over. */
  run(until: { readonly calls?: number; readonly ms?: number }): Promise<LoadReport>;
  close(): Promise<void>;
}

export interface LoadReport {
  readonly calls: number;
  /** What went wrong, the first few in words. */
  readonly failures: number;
  readonly examples: readonly string[];
}

export async function connectLoad(
  place: Place,
  { url }: RunningProduct,
  { clients, principals }: { readonly clients: number; readonly principals: number },
): Promise<Load> {
  const tokens: string[] = [];
  for (let n = 0; n < principals; n++) tokens.push(await createToken(place, `agent-${n}-${Date.now()}`));
  const agents = await Promise.all(
    Array.from({ length: clients }, async (_, n) => {
      const kind = KINDS[n % KINDS.length] ?? 'v2 modern';
      return { number: n, client: await connectHttp(kind, url, tokens[n % principals]), lastOutput: '' };
    }),
  );
  let total = 0;

  async function work(agent: Agent, isOver: () => boolean, fail: (words: string) => void): Promise<void> {
    for (let turn = 0; !isOver(); turn++) {
      const number = total++;
      const operation = OPERATIONS[(agent.number + turn * STEP) % OPERATIONS.length] ?? list;
      try {
        await operation(agent, `${agent.number}-${number}`);
      } catch (error) {
        fail(`${operation.name}: ${describe(error)}`);
      }
    }
  }

  return {
    async run({ calls = Infinity, ms = Infinity }) {
      const before = total;
      const examples: string[] = [];
      let failures = 0;
      const deadline = performance.now() + ms;
      const isOver = (): boolean => total - before >= calls || performance.now() >= deadline;
      await Promise.all(
        agents.map((agent) =>
          work(agent, isOver, (words) => {
            failures++;
            if (examples.length < 5) examples.push(words.slice(0, 500));
          }),
        ),
      );
      return { calls: total - before, failures, examples };
    },
    async close() {
      await Promise.all(agents.map(({ client }) => client.close()));
    },
  };
}

/** Of a request that failed, fetch has the reason in what caused it. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message} (${describe(error.cause)})`;
}

interface Agent {
  readonly number: number;
  readonly client: TestClient;
  lastOutput: string;
}

type Operation = (agent: Agent, label: string) => Promise<void>;

/** A machine that has other things to do is slow, which is no failure. */
const PATIENCE_MS = 600_000;

/** The answer is the command's end, however long it takes; the server's `limits.max_wait_seconds` must let it. */
const TO_ITS_END = { execution_mode: 'foreground', timeout_seconds: PATIENCE_MS / 1000 };

async function call({ client }: Agent, tool: string, args: Record<string, unknown>): Promise<Called> {
  const answer = read(await client.callTool(tool, args, { timeout: PATIENCE_MS }));
  if (answer.isError) throw new Error(answer.text);
  return answer;
}

function same(found: unknown, wanted: unknown): void {
  if (found !== wanted) throw new Error(`${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
}

async function list(agent: Agent): Promise<void> {
  const { data } = await call(agent, 'process_list', { limit: 5 });
  same(Array.isArray(data.processes), true);
}

async function listTools({ client }: Agent): Promise<void> {
  same((await client.listTools({ timeout: PATIENCE_MS })).length, 18);
}

async function readOutput(agent: Agent): Promise<void> {
  if (agent.lastOutput === '') return list(agent);
  const { data } = await call(agent, 'read_execution_output', { output_id: agent.lastOutput, size: 100 });
  same(typeof data.content, 'string');
}

async function listOutputs(agent: Agent): Promise<void> {
  await call(agent, 'list_execution_outputs', { limit: 5 });
}

async function stats(agent: Agent): Promise<void> {
  await call(agent, 'monitoring_get_stats', { include_metrics: ['processes', 'system'] });
}

async function mistake({ client }: Agent, label: string): Promise<void> {
  const { data } = read(
    await client.callTool(
      'process_get_execution',
      { execution_id: `exec_${label}` },
      { timeout: PATIENCE_MS },
    ),
  );
  same(data.error.code, 'RESOURCE_001');
}

async function echo(agent: Agent, label: string): Promise<void> {
  const { data } = await call(agent, 'shell_execute', { command: `echo ${label}`, ...TO_ITS_END });
  same(data.stdout, `${label}\n`);
  agent.lastOutput = data.output_id;
}

async function muchOutput(agent: Agent): Promise<void> {
  const { data } = await call(agent, 'shell_execute', { command: 'seq 1 20000; exit 3', ...TO_ITS_END });
  same(data.exit_code, 3);
  agent.lastOutput = data.output_id;
}

async function background(agent: Agent): Promise<void> {
  const { data } = await call(agent, 'shell_execute', {
    command: 'exec sleep 1000',
    execution_mode: 'background',
  });
  const { data: ended } = await call(agent, 'process_terminate', {
    execution_id: data.execution_id,
    force: true,
  });
  same(ended.success, true);
}

/** A client that changes its mind: its command must not go on. */
async function cancelled({ client }: Agent, label: string): Promise<void> {
  const controller = new AbortController();
  const args = { command: `sleep 1000 # ${label}`, execution_mode: 'foreground', timeout_seconds: 3000 };
  const calling = client.callTool('shell_execute', args, { signal: controller.signal });
  setTimeout(() => controller.abort(), 20);
  await calling.then(
    () => same('answered', 'cancelled'),
    () => undefined,
  );
}

/** Reading is what agents do most. */
const OFTEN: readonly (readonly [operation: Operation, times: number])[] = [
  [list, 8],
  [listTools, 4],
  [readOutput, 10],
  [listOutputs, 4],
  [stats, 1],
  [mistake, 4],
  [echo, 2],
  [muchOutput, 1],
  [background, 1],
  [cancelled, 1],
];
const OPERATIONS = OFTEN.flatMap(([operation, times]) => Array.from({ length: times }, () => operation));
/** Has no factor in common with their number, so that each agent meets all of them. */
const STEP = 5;

export interface Footprint {
  readonly rssMib: number;
  readonly descriptors: number;
}

/** Of the server's own process. */
export function footprintOf({ process: { child } }: RunningProduct): Footprint {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return {
    rssMib: Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024),
    descriptors: readdirSync(`/proc/${child.pid}/fd`).length,
  };
}

export interface Soaked extends LoadReport {
  /** From the middle third to the last, by the medians. */
  readonly grownMib: number;
  readonly grownDescriptors: number;
}

/** Goes on for a while, and says how the server has grown meanwhile. */
export async function soak(
  load: Load,
  http: RunningProduct,
  options: {
    readonly rounds: number;
    readonly roundMs: number;
    readonly onRound?: (report: LoadReport, now: Footprint) => void;
  },
): Promise<Soaked> {
  const seen: Footprint[] = [];
  const reports: LoadReport[] = [];
  for (let round = 0; round < options.rounds; round++) {
    const report = await load.run({ ms: options.roundMs });
    const now = footprintOf(http);
    seen.push(now);
    reports.push(report);
    options.onRound?.(report, now);
  }
  const third = Math.floor(options.rounds / 3);
  const grown = (field: keyof Footprint): number =>
    median(seen.slice(-third).map((one) => one[field])) -
    median(seen.slice(third, 2 * third).map((one) => one[field]));
  return {
    calls: reports.reduce((sum, { calls }) => sum + calls, 0),
    failures: reports.reduce((sum, { failures }) => sum + failures, 0),
    examples: reports.flatMap(({ examples }) => examples).slice(0, 5),
    grownMib: grown('rssMib'),
    grownDescriptors: grown('descriptors'),
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
