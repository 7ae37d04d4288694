/**
 * `npm run bench agent`: what the same tasks cost a model with a plain "run and wait" tool, with this server as it was
 * (agent/before.json), and with this server. `-- --write` brings the table in the documentation up to date;
 * `-- --before <cli.js>` measures another build for agent/before.json.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createOurs } from './agent/ours.ts';
import { createPlain } from './agent/plain.ts';
import { createMeter, type Meter, type Shell, type Totals } from './agent/shell.ts';
import { TASKS, type Task } from './agent/tasks.ts';
import { say } from './support.ts';

interface Result extends Totals {
  readonly isWrong: boolean;
}
type Results = Readonly<Record<string, Result>>;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const BEFORE = join(root, 'bench/agent/before.json');
const PAGE = join(root, 'docs/guides/agent-benchmark.md');
const args = process.argv.slice(2);

async function measure(
  task: Task,
  open: (cwd: string, meter: Meter) => Shell | Promise<Shell>,
): Promise<Result> {
  const directory = mkdtempSync(join(tmpdir(), 'agent-'));
  const meter = createMeter();
  for (const [name, text] of Object.entries(task.files)) writeFileSync(join(directory, name), text);
  const shell = await open(directory, meter);
  try {
    const said = await task.work(shell, { directory, port: await freePort() });
    if (said !== task.truth) say(`  ${task.name}: said "${said}", and it is "${task.truth}"`);
    return { ...meter.totals(), isWrong: said !== task.truth };
  } finally {
    await shell.close();
    rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function measureAll(
  name: string,
  open: (cwd: string, meter: Meter) => Shell | Promise<Shell>,
): Promise<Results> {
  say(`${name} …`);
  const results: Record<string, Result> = {};
  for (const task of TASKS) {
    const result = await measure(task, open);
    results[task.name] = result;
    say(`  ${task.name}: ${result.turns} turns, ${result.tokens} tokens`);
  }
  return results;
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0));
    });
  });

function sum(results: Results): Totals & { readonly wrong: number } {
  const all = Object.values(results);
  const of = (field: keyof Totals): number => all.reduce((total, each) => total + each[field], 0);
  return {
    turns: of('turns'),
    calls: of('calls'),
    bytes: of('bytes'),
    tokens: of('tokens'),
    wrong: all.filter(({ isWrong }) => isWrong).length,
  };
}

function tableOf(columns: readonly (readonly [name: string, results: Results])[]): string {
  const cell = (result: Result | undefined): string =>
    result === undefined ? '' : `${result.turns} / ${result.tokens}${result.isWrong ? ' (wrong)' : ''}`;
  const rows = TASKS.map(({ name }) => [name, ...columns.map(([, results]) => cell(results[name]))]);
  const totals = columns.map(([, results]) => sum(results));
  rows.push(['**all: turns / tokens**', ...totals.map(({ turns, tokens }) => `**${turns} / ${tokens}**`)]);
  rows.push(['calls', ...totals.map(({ calls }) => String(calls))]);
  rows.push(['bytes', ...totals.map(({ bytes }) => String(bytes))]);
  rows.push(['wrong conclusions', ...totals.map(({ wrong }) => String(wrong))]);
  const head = ['Task', ...columns.map(([name]) => name)];
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

const beforeAt = args.indexOf('--before');
if (beforeAt !== -1) {
  const cli = args[beforeAt + 1] ?? '';
  const results = await measureAll('before', (cwd, meter) =>
    createOurs(cli, { cwd, version: 'before' }, meter),
  );
  writeFileSync(BEFORE, `${JSON.stringify(results, undefined, 2)}\n`);
  say(tableOf([['before', results]]));
} else {
  const plain = await measureAll('a plain tool', createPlain);
  const cli = join(root, 'dist/cli.js');
  const now = await measureAll('this server', (cwd, meter) =>
    createOurs(cli, { cwd, version: 'now' }, meter),
  );
  const before = JSON.parse(readFileSync(BEFORE, 'utf8')) as Results;
  const table = tableOf([
    ['plain tool', plain],
    ['before', before],
    ['this server', now],
  ]);
  say(table);
  const [ours, theirs] = [sum(now), sum(plain)];
  say(
    `turns ratio ${(ours.turns / theirs.turns).toFixed(2)}, tokens ratio ${(ours.tokens / theirs.tokens).toFixed(2)}, wrong ${ours.wrong}`,
  );
  if (args.includes('--write')) {
    mkdirSync(dirname(PAGE), { recursive: true });
    writeFileSync(
      PAGE,
      readFileSync(PAGE, 'utf8').replace(/(<!-- table -->\n)[\s\S]*?(\n<!-- end -->)/, `$1\n${table}\n$2`),
    );
  }
}
