/**
 * Passwords that programs of a command ask for without a terminal: what real programs get, who is asked, and where nothing
 * of it may be found. The operator answers as the page and `mcp-shell-server questions` do.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LIMITS } from '../../src/base/limits.ts';
import {
  answerSecret,
  attendQuestions,
  listSecretQuestions,
  type SecretQuestion,
} from '../../src/security/questions/questions.ts';
import { lacks, needs } from '../setup/needs.ts';
import { auditLines } from '../support/stored.ts';
import type { TestClient } from './support/clients.ts';
import { type Called, createPlace, type Place, read } from './support/product.ts';
import { connectHere } from './support/product-here.ts';

const SECRET = 'correct horse%battery';
const ASK = '"$GIT_ASKPASS" "Password for \'https://host\': "';

const cannot =
  lacks(process.platform !== 'linux', 'bubblewrap is for Linux') ||
  needs('bwrap') ||
  lacks(!existsSync('/usr/bin/perl'), 'perl is not installed');

describe.skipIf(cannot).each(['auto', 'off'])('with sandbox = "%s"', (sandbox) => {
  let place: Place;
  let client: TestClient;
  let attended: { close(): void } | undefined;
  beforeAll(async () => {
    place = createPlace();
    const env = {
      MCP_SHELL_SECURITY_ASKPASS: 'true',
      MCP_SHELL_SECURITY_SANDBOX: sandbox,
      MCP_SHELL_SECURITY_ENABLE_NETWORK: 'false',
    };
    client = await connectHere('v2 legacy', place.command([], env));
  });
  beforeEach(() => {
    attended = attendQuestions(place.stateDir);
  });
  afterEach(() => attended?.close());
  afterAll(async () => {
    await client.close();
    place.remove();
  });

  const execute = async (command: string, args: Record<string, unknown> = {}, signal?: AbortSignal) =>
    read(
      await client.callTool(
        'shell_execute',
        { command, execution_mode: 'foreground', timeout_seconds: 60, ...args },
        { signal: signal ?? new AbortController().signal },
      ),
    );
  const open = (): SecretQuestion[] => listSecretQuestions(place.stateDir);

  /** As an operator does who answers whatever is asked, until the call is over. */
  async function answering(call: Promise<Called>, secrets: readonly (string | undefined)[]): Promise<Called> {
    const left = [...secrets];
    let isOver = false;
    const over = call.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const [question] = open();
      if (question === undefined || left.length === 0) {
        await Promise.race([sleep(20), over]);
        continue;
      }
      const secret = left.shift();
      const by = 'olga';
      await answerSecret(
        place.stateDir,
        question.id,
        secret === undefined ? { decision: 'deny', by } : { decision: 'given', by, secret },
      );
    }
    return over;
  }

  const lines = (): Record<string, unknown>[] => auditLines(place.stateDir);

  it.skipIf(needs('git'))('git gets a name and a password, and nothing else does', async () => {
    const command = "printf 'protocol=https\\nhost=example.invalid\\n\\n' | git credential fill";
    const { text, data } = await answering(execute(command), ['olga', SECRET]);
    expect(data.stdout).toContain('username=***\npassword=***\n');
    expect(data).toMatchObject({ status: 'completed' });
    expect(text + JSON.stringify(data)).not.toContain(SECRET);
    const files = readdirSync(place.directory, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    expect(files.length).toBeGreaterThan(0);
    for (const { parentPath, name } of files)
      expect(readFileSync(join(parentPath, name), 'utf8')).not.toContain(SECRET);
    const id = data.execution_id;
    expect(
      lines().filter((line) => line['executionId'] === id && String(line['event']).startsWith('secret')),
    ).toMatchObject([
      { event: 'secret_asked', prompt: expect.stringContaining('Username') },
      { event: 'secret_given', by: 'operator olga' },
      { event: 'secret_asked', prompt: expect.stringContaining('Password') },
      { event: 'secret_given', by: 'operator olga' },
    ]);
  });

  it.skipIf(needs('ssh'))('ssh opens a key with a passphrase', async () => {
    const command = `ssh-keygen -q -t ed25519 -N '${SECRET}' -f key </dev/null && ssh-keygen -y -f key; rm -f key key.pub`;
    const { data } = await answering(execute(command), [SECRET]);
    expect(data.stdout).toMatch(/^ssh-ed25519 /);
  });

  it('the operator sees which execution asks, and with which words', async () => {
    const call = execute(`"$GIT_ASKPASS" "$(printf 'prompt\\033[31m')"; echo $?`);
    await expect.poll(open, { timeout: 20_000 }).toHaveLength(1);
    const [question] = open();
    expect(question).toMatchObject({
      principal: 'local',
      client: 'test-client',
      command: expect.stringContaining('$GIT_ASKPASS'),
      directory: place.work,
      prompt: 'prompt\u001b[31m',
      executionId: expect.stringMatching(/^exec_/),
    });
    expect((await answering(call, [undefined])).data.stdout).toBe('1\n');
  });

  it('what was typed is masked in an address too', async () => {
    const command = `pw=$(${ASK}); printf '%s\\n' "$pw" "https://me:correct%20horse%25battery@host"`;
    const { data } = await answering(execute(command), [SECRET]);
    expect(data.stdout).toBe('***\nhttps://me:***@host\n');
  });

  it('nobody there means no, at once', async () => {
    attended?.close();
    const { data } = await execute(`${ASK}; echo $?`);
    expect(data).toMatchObject({
      stdout: '1\n',
      stderr: expect.stringMatching(/no operator is there.*mcp-shell-server web.*questions watch/),
    });
    expect(open()).toEqual([]);
  });

  it('a no holds for the whole execution', async () => {
    const { data } = await answering(execute(`${ASK}; ${ASK}; echo $?`), [undefined]);
    expect(data).toMatchObject({ stdout: '1\n', stderr: expect.stringMatching(/(?:has said no[\s\S]*){2}/) });
  });

  it('asks only so often', async () => {
    const count = LIMITS.secretsPerExecution;
    const command = `for i in $(seq ${count + 1}); do ${ASK}; done; echo $?`;
    const { data } = await answering(execute(command), Array(count + 1).fill(SECRET));
    expect(data).toMatchObject({
      stdout: `${'***\n'.repeat(count)}1\n`,
      stderr: expect.stringContaining('asked too often'),
    });
  });

  it.each([
    ['no marker', 'env -u MCP_SHELL_EXECUTION'],
    ['a marker of its own', 'env MCP_SHELL_EXECUTION=2222222222'],
  ])('is not asked for a program with %s', async (_, before) => {
    const { data } = await execute(`${before} ${ASK}; echo $?`);
    expect(data).toMatchObject({ stdout: '1\n', stderr: expect.stringContaining('belongs to no execution') });
    expect(open()).toEqual([]);
  });

  it.each([
    ['the program is killed', 'kill $!; wait $!'],
    ['the execution ends', ':'],
  ])('withdraws the question when %s', async (_, then) => {
    const call = execute(`${ASK} & until [ -e go ]; do sleep 0.05; done; rm go; ${then}`);
    await expect.poll(open, { timeout: 20_000 }).toHaveLength(1);
    writeFileSync(join(place.work, 'go'), '');
    await call;
    await expect.poll(open, { timeout: 20_000 }).toEqual([]);
    expect(readdirSync(join(place.stateDir, 'questions')).filter((name) => name !== 'attended')).toEqual([]);
  });

  it('leaves variables of the caller alone', async () => {
    const { data } = await execute('echo $SSH_ASKPASS $SSH_ASKPASS_REQUIRE', {
      environment_variables: { SSH_ASKPASS: 'mine', SSH_ASKPASS_REQUIRE: 'prefer' },
    });
    expect(data.stdout).toBe('mine prefer\n');
  });

  it('is not there where this server does not copy the output', async () => {
    const { data } = await execute('echo "$GIT_ASKPASS"', { execution_mode: 'detached' });
    await expect
      .poll(
        async () =>
          read(
            await client.callTool('process_get_execution', {
              execution_id: data.execution_id,
              wait_seconds: 5,
            }),
          ).data.stdout,
        { timeout: 20_000 },
      )
      .toBe('true\n');
  });
});

it('is off where the operator has not turned it on', async () => {
  const place = createPlace();
  const client = await connectHere('v2 legacy', place.command());
  const command = 'echo "$GIT_ASKPASS" "$SSH_ASKPASS_REQUIRE" "$SUDO_ASKPASS"; ls /run/mcp-shell-askpass';
  const { data } = read(await client.callTool('shell_execute', { command }));
  expect(data.stdout).toBe('true never \n');
  await client.close();
  place.remove();
});

const CREDENTIAL = "printf 'protocol=https\\nhost=example.invalid\\n\\n' | git credential fill";

describe.skipIf(cannot || needs('git')).each([
  ['sandbox', {}],
  ['production', { MCP_SHELL_SECURITY_ALLOWED_COMMANDS: 'git credential fill,printf,perl' }],
])('with the preset "%s", where Perl is visible', (preset, env) => {
  it('git gets a name and a password', async () => {
    const place = createPlace();
    const attended = attendQuestions(place.stateDir);
    const client = await connectHere(
      'v2 legacy',
      place.command([], { MCP_SHELL_SECURITY_ASKPASS: 'true', MCP_SHELL_SECURITY_PRESET: preset, ...env }),
    );
    try {
      const call = client.callTool('shell_execute', {
        command: CREDENTIAL,
        execution_mode: 'foreground',
        timeout_seconds: 60,
      });
      const open = () => listSecretQuestions(place.stateDir);
      for (const secret of ['olga', SECRET]) {
        const prompt = expect.stringContaining(secret === SECRET ? 'Password' : 'Username');
        await expect.poll(open, { timeout: 30_000 }).toMatchObject([{ prompt }]);
        await answerSecret(place.stateDir, open()[0]?.id ?? '', { decision: 'given', by: 'olga', secret });
      }
      expect(read(await call).data).toMatchObject({
        status: 'completed',
        stdout: expect.stringContaining('username=***\npassword=***\n'),
      });
    } finally {
      await client.close();
      attended.close();
      place.remove();
    }
  });
});

it.skipIf(cannot)('is not there where Perl is none of the allowed programs', async () => {
  const place = createPlace();
  const env = {
    MCP_SHELL_SECURITY_ASKPASS: 'true',
    MCP_SHELL_SECURITY_PRESET: 'production',
    MCP_SHELL_SECURITY_ALLOWED_COMMANDS: 'echo',
  };
  const client = await connectHere('v2 legacy', place.command([], env));
  const { data } = read(await client.callTool('shell_execute', { command: 'echo "$GIT_ASKPASS"' }));
  expect(data.stdout).toBe('true\n');
  await client.close();
  place.remove();
});
