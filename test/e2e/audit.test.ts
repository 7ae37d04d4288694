import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Ran, runProgram } from './support/principals.ts';
import { CLI, createPlace, type Place } from './support/product.ts';
import { openProduct } from './support/product-here.ts';

let place: Place;
let executionId: string;

/** What an agent did once, looked at by all of the tests. */
beforeAll(async () => {
  place = createPlace();
  const product = await openProduct({
    place,
    env: { MCP_SHELL_SECURITY_SANDBOX: 'off', MCP_SHELL_AUDIT_FSYNC: 'true' },
  });
  const ran = await product.execute('echo hello; exit 3', { session_id: 'main' });
  executionId = ran.data.execution_id;
  await product.execute('no-such-program');
  await product.execute('rm -rf /');
  await product.execute('echo --token=ghp_abcdefghijklmnopqrstuvwxyz0123456789');
  await product.execute(
    ': "\u001b[2J\r\n{\\"event\\":\\"forged\\"}\u009b\u0085\u202e\u2066\u2069\u2028\u007f"',
  );
  await product.call('read_execution_output', { output_id: ran.data.output_id });
  await product.call('delete_execution_outputs', { output_ids: [ran.data.output_id], confirm: true });
  await product.call('security_set_restrictions', { enable_network: false });
  await product.call('security_set_restrictions', { enable_network: true });
  await product.close();
});
afterAll(() => place.remove());

const run = (args: readonly string[], where = place): Promise<Ran> => runProgram(where, args);

async function search(...args: string[]): Promise<Record<string, unknown>[]> {
  const { stdout } = await run(['audit', 'search', '--json', ...args]);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const auditFile = (where: Place): string =>
  join(where.stateDir, 'audit', readdirSync(join(where.stateDir, 'audit'))[0] ?? '');

describe('audit search', () => {
  test('has who, what, where, which rule, how it ended and what it left', async () => {
    const [allowed, call, ended] = (await search('--execution', executionId)).concat(
      await search('--event', 'execution_ended', '--execution', executionId),
    );
    expect(allowed).toMatchObject({
      event: 'execution_allowed',
      decision: 'allow',
      principal: 'local',
      client: expect.any(String),
      requestId: expect.stringMatching(/^req_/),
      command: 'echo hello; exit 3',
      session: 'main',
      directory: place.work,
      rule: expect.any(String),
    });
    expect(ended).toEqual(call);
    expect(ended).toMatchObject({
      event: 'execution_ended',
      requestId: allowed?.['requestId'],
      client: allowed?.['client'],
      status: 'failed',
      exitCode: 3,
      durationMs: expect.any(Number),
      outputs: [expect.stringMatching(/^out_/), expect.stringMatching(/^out_/)],
    });
  });

  test.each([
    [
      ['--decision', 'deny'],
      ['execution_denied', 'restrictions_refused'],
    ],
    [
      ['--status', 'completed'],
      ['execution_ended', 'execution_ended'],
    ],
    [
      ['--status', 'failed', '--event', 'execution_ended'],
      ['execution_ended', 'execution_ended'],
    ],
    [['no-such-PROGRAM', '--event', 'execution_allowed'], ['execution_allowed']],
    [['--event', 'restrictions_tightened'], ['restrictions_tightened']],
    [['--principal', 'somebody else'], []],
    [['--until', '1h'], []],
    [['--since', '1h', '--event', 'log_opened'], ['log_opened']],
    [['--limit', '1', '--event', 'execution_ended'], ['execution_ended']],
    [['delete_execution_outputs'], ['call']],
  ])('%j finds %j', async (args, events) => {
    expect((await search(...args)).map(({ event }) => event)).toEqual(events);
  });

  test('marks what an agent tried: --security', async () => {
    expect((await search('--security')).map((line) => line['securityEvent'] ?? line['code'])).toEqual([
      'command_not_found',
      'SECURITY_001',
      'AUTH_003',
    ]);
  });

  test('tells of reads and deletes with the ids of the outputs', async () => {
    const calls = await search('--event', 'call', 'execution_output');
    const outputId = (await search('--event', 'execution_ended', '--execution', executionId))[0]?.['outputs'];
    expect(calls.map(({ input }) => input)).toMatchObject([
      { output_id: (outputId as string[])[0] },
      { output_ids: [(outputId as string[])[0]] },
    ]);
  });

  test('shows no secret, and nothing that could move a cursor or look like another line', async () => {
    expect(readFileSync(auditFile(place), 'utf8')).not.toContain('ghp_abc');
    const { stdout } = await run(['audit', 'search', 'forged']);
    const json = await run(['audit', 'search', '--json', 'forged']);
    for (const shown of [stdout, json.stdout]) expect(shown).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect((await search('forged', '--event', 'execution_allowed'))[0]?.['command']).toContain(
      '\u202e\u2066',
    );
    for (const line of stdout.trimEnd().split('\n')) expect(line).toMatch(/^\d{4}-\d\d-\d\d /);
  });

  test('ends with 1 where nothing is found, and explains a time that is none', async () => {
    expect(await run(['audit', 'search', 'nothing like it'])).toMatchObject({ code: 1, stdout: '' });
    expect(await run(['audit', 'search', '--since', 'yesterday'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('2026-11-15T10:00'),
    });
  });

  test.each([
    [['--decision', 'foo'], /Allowed choices are allow, deny, ask/],
    [['--status', 'faild'], /Allowed choices are completed, failed/],
    [['--event', 'execution_endet'], /no event "execution_endet"[^]*Did you mean execution_ended\?/],
    [['--execution', '42'], /"42" is not the id of an execution/],
  ])('%j is refused', async (args, said) => {
    expect(await run(['audit', 'search', ...args])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(said),
    });
  });
});

describe('audit verify', () => {
  test('says that the log is whole, and changes nothing by looking', async () => {
    const before = snapshot(place.stateDir);
    const { code, stdout } = await run(['audit', 'verify']);
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('is whole') });
    const { heads } = JSON.parse((await run(['audit', 'verify', '--json'])).stdout) as {
      heads: { hash: string; isClosed: boolean }[];
    };
    expect(heads).toMatchObject([{ isClosed: true }]);
    expect(await run(['audit', 'verify', '--anchor', heads[0]?.hash ?? ''])).toMatchObject({ code: 0 });
    expect(await run(['audit', 'verify', '--anchor', 'f'.repeat(64)])).toMatchObject({ code: 1 });
    for (const command of ['stats', 'search', 'tail --no-follow'])
      await run(['audit', ...command.split(' ')]);
    expect(snapshot(place.stateDir)).toEqual(before);
  });

  test('names the first line that is not what was written, and what is missing', async () => {
    const other = createPlace();
    try {
      const product = await openProduct({ place: other, env: { MCP_SHELL_SECURITY_SANDBOX: 'off' } });
      for (let n = 0; n < 3; n++) await product.execute(`echo ${n}`);
      await product.close();
      const file = auditFile(other);
      const text = readFileSync(file, 'utf8');
      writeFileSync(file, text.replace('echo 1', 'echo 9'));
      const changed = await run(['audit', 'verify'], other);
      expect(changed).toMatchObject({ code: 1, stdout: expect.stringMatching(/^CHANGED \S+\.jsonl:\d+ /) });
      // An end that nobody saw, but what it told of has left a record.
      const lines = text.trimEnd().split('\n');
      writeFileSync(file, `${lines.slice(0, 2).join('\n')}\n`);
      expect(await run(['audit', 'verify'], other)).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(/^REMOVED exec_\w+ has a record/m),
      });
    } finally {
      other.remove();
    }
  });

  test('is content with no log at all', async () => {
    const other = createPlace();
    expect(await run(['audit', 'verify'], other)).toMatchObject({ code: 0 });
    expect(await run(['audit', 'stats'], other)).toMatchObject({ code: 0 });
    expect(readdirSync(other.directory)).toEqual(['work']);
    other.remove();
  });
});

test('audit stats counts what was used, denied, slow and failed', async () => {
  const stats = JSON.parse((await run(['audit', 'stats', '--json'])).stdout) as Record<string, unknown>;
  expect(stats).toMatchObject({
    decisions: { allow: 4, deny: 1 },
    statuses: { failed: 2, completed: 2 },
    securityEvents: { command_not_found: 1 },
    mostUsed: expect.arrayContaining([{ name: 'echo', count: 2 }]),
    mostDenied: [{ name: 'rm', count: 1 }],
  });
  const { stdout } = await run(['audit', 'stats']);
  for (const title of ['Most used', 'Most denied', 'Slowest', 'Over time', '█'])
    expect(stdout).toContain(title);
});

test('audit tail shows what is written while it looks, each line once', async () => {
  const other = createPlace();
  const { env, cwd } = other.command();
  const tail = spawn(process.execPath, [CLI, 'audit', 'tail'], { env: { ...env }, cwd });
  let shown = '';
  tail.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    shown += chunk;
  });
  const ended = new Promise((resolve) => tail.once('close', resolve));
  try {
    const product = await openProduct({ place: other, env: { MCP_SHELL_SECURITY_SANDBOX: 'off' } });
    for (let n = 0; n < 3; n++) {
      await product.execute(`echo line-${n}`);
      await expect
        .poll(() => shown, { timeout: 30_000 })
        .toMatch(new RegExp(`allow +local echo line-${n}\n`));
    }
    await product.close();
    await expect.poll(() => shown, { timeout: 30_000 }).toContain('closed');
    expect(shown.match(/allow +local/g)).toHaveLength(3);
  } finally {
    tail.kill('SIGINT');
    expect(await ended).toBe(0);
    other.remove();
  }
});

/** Everything that a look could change. */
function snapshot(directory: string): unknown[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((path) => {
      const { size, mtimeMs, ino, mode } = statSync(join(directory, path));
      return [path, size, mtimeMs, ino, mode];
    });
}
