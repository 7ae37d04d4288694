/** What a person reads of executions and their output, from another process than the server's. */
import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Ran, runProgram } from './support/principals.ts';
import { CLI, createPlace, type Place, type Product } from './support/product.ts';
import { openProduct } from './support/product-here.ts';

let place: Place;
let product: Product;
const ids: Record<'done' | 'failed' | 'running', string> = { done: '', failed: '', running: '' };

beforeAll(async () => {
  place = createPlace();
  product = await openProduct({ place, env: { MCP_SHELL_SECURITY_SANDBOX: 'off' } });
  const start = async (command: string, execution_mode = 'foreground'): Promise<string> =>
    (await product.execute(command, { execution_mode })).data.execution_id;
  ids.done = await start(String.raw`printf '\033[31mred\033[0m\n'; echo oops >&2; seq 1 5000`);
  ids.failed = await start('exit 3');
  ids.running = await start('echo first; until [ -e go ]; do sleep 0.1; done; echo last', 'background');
});
afterAll(async () => {
  await product.close();
  place.remove();
});

const run = (...args: string[]): Promise<Ran> => runProgram(place, args);

describe('executions', () => {
  const listed = async (...args: string[]) => {
    const { stdout } = await run('executions', '--json', ...args);
    const { executions } = JSON.parse(stdout) as { executions: { execution_id: string }[] };
    return executions.map(({ execution_id }) => execution_id);
  };

  test('lists what runs and what ended, newest first', async () => {
    expect(await listed()).toEqual([ids.running, ids.failed, ids.done]);
    const { stdout } = await run('executions');
    expect(stdout.split('\n')[0]).toMatch(/^EXECUTION +STATE +EXIT +STARTED +TIME +COMMAND$/);
    expect(stdout).toMatch(new RegExp(`^${ids.running.slice(0, 13)} +running .*echo first`, 'm'));
    expect(stdout).toMatch(new RegExp(`^${ids.failed.slice(0, 13)} +failed +3 +\\S+ \\S+Z .* exit 3$`, 'm'));
  });

  test.each([
    [['--running'], ['running']],
    [['--ended'], ['failed', 'done']],
    [['--status', 'completed'], ['done']],
    [['EXIT'], ['failed']],
    [['--limit', '1'], ['running']],
    [['--principal', 'nobody'], []],
    [
      ['--since', '1h'],
      ['running', 'failed', 'done'],
    ],
    [['--since', '2100-01-01'], []],
  ] as const)('%j', async (args, names) => {
    expect(await listed(...args)).toEqual(names.map((name) => ids[name]));
  });

  test('says what is left out, and what is wrong', async () => {
    expect((await run('executions', '--limit', '1')).stdout).toMatch(/newest 1 of 3/);
    expect((await run('executions', 'no such')).stdout).toBe('No executions.\n');
    for (const args of [
      ['--status', 'done'],
      ['--running', '--ended'],
      ['--since', 'soon'],
      ['--limit', '-1'],
    ])
      expect((await run('executions', ...args)).code, args.join(' ')).toBe(1);
  });
});

describe('output', () => {
  test('shows all of it as a terminal would, and by its parts', async () => {
    const { stdout } = await run('output', ids.done, '--stdout');
    expect(stdout).toBe(`red\n${Array.from({ length: 5000 }, (_, at) => `${at + 1}\n`).join('')}`);
    const short = ids.done.slice(0, 13);
    expect((await run('output', short, '--stdout', '--head', '2')).stdout).toBe('red\n1\n');
    expect((await run('output', short, '--stdout', '--tail', '2')).stdout).toBe('4999\n5000\n');
    expect((await run('output', short, '--stderr')).stdout).toBe('oops\n');
    expect((await run('output', short, '--stdout', '--head', '1', '--raw')).stdout).toBe(
      '\u001b[31mred\u001b[0m\n',
    );
  });

  test('searches as grep does', async () => {
    expect(await run('output', ids.done, '--stdout', '--search', '^499[89]$', '-C', '1')).toMatchObject({
      code: 0,
      stdout: '4998- 4997\n4999: 4998\n5000: 4999\n5001- 5000\n',
    });
    // More than one answer of a search holds.
    const { stdout } = await run('output', ids.done, '--search', '7');
    expect(stdout.trimEnd().split('\n')).toHaveLength(1355);
    expect(await run('output', ids.done, '--search', 'nothing')).toMatchObject({ code: 1, stdout: '' });
  });

  test('follows one that runs until it ends', async () => {
    const server = place.command(['output', '--follow', ids.running]);
    const follower = spawn(process.execPath, [CLI, ...server.args.slice(1)], {
      cwd: server.cwd,
      env: { ...server.env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let seen = '';
    follower.stdout.on('data', (chunk) => {
      seen += String(chunk);
    });
    const exited = new Promise((resolve) => follower.once('exit', resolve));
    await expect.poll(() => seen, { timeout: 30_000 }).toBe('first\n');
    await product.execute('touch go');
    expect(await exited).toBe(0);
    expect(seen).toBe('first\nlast\n');
  });

  test.each([
    [['foo'], /There is no execution "foo"[^]*executions/],
    [['--head', '1', '--tail', '1'], /--head does not go with --tail/],
    [['--head', '1', '--follow'], /--head does not go with --follow/],
    [['--search', 'x', '--follow'], /--search does not go with --follow/],
    [['--context', '1'], /--context goes with --search only/],
    [['--stdout', '--stderr'], /--stdout does not go with --stderr/],
    [['--search', '['], /not a valid regular expression/],
  ] as const)('%j is refused', async (args, said) => {
    const words = args[0].startsWith('-') ? [ids.done, ...args] : args;
    expect(await run('output', ...words)).toMatchObject({ code: 1, stderr: expect.stringMatching(said) });
  });
});
