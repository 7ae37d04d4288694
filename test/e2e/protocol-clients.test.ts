/**
 * Every client against the edge alone, with fixture tools in place of the shell: what a client can tell apart is
 * protocol. protocol.test.ts does the same with the product.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { createTokens } from '../../src/server/auth.ts';
import { type HttpListener, serveHttp } from '../../src/server/http/http.ts';
import { buildProgram } from './support/build.ts';
import {
  CLIENT_KINDS,
  type ClientKind,
  connectHttp,
  connectStdio,
  type TestClient,
} from './support/clients.ts';
import { createFixtureFactory, createFixtureTools } from './support/fixture-tools.ts';

const TOKEN = 'a-token';
const fixtures = createFixtureTools();
let program: Awaited<ReturnType<typeof buildProgram>>;
let listener: HttpListener;

beforeAll(async () => {
  program = await buildProgram('fixture-server');
  listener = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    factory: createFixtureFactory(fixtures),
    tokens: createTokens([{ token: TOKEN, principal: 'alice' }]),
    log: silentLog,
    limits: { resumeWindowMs: 500 },
  });
});
afterAll(async () => {
  await listener.close();
  program.remove();
});

function logFile(kind: ClientKind): string {
  return join(program.directory, `${kind.replaceAll(' ', '-')}.log`);
}

const TRANSPORTS = {
  stdio: {
    principal: 'local',
    connect: (kind: ClientKind) =>
      connectStdio(kind, {
        command: process.execPath,
        args: [program.path],
        env: { FIXTURE_LOG: logFile(kind) },
      }),
    seen: (kind: ClientKind) =>
      existsSync(logFile(kind)) ? readFileSync(logFile(kind), 'utf8').split('\n') : [],
  },
  http: {
    principal: 'alice',
    connect: (kind: ClientKind) => connectHttp(kind, listener.url, TOKEN),
    seen: () => fixtures.seen,
  },
} as const;

const cases = CLIENT_KINDS.flatMap((kind) => (['stdio', 'http'] as const).map((via) => ({ kind, via })));

describe.each(cases)('$kind over $via', ({ kind, via }) => {
  const transport = TRANSPORTS[via];
  let client: TestClient;
  beforeAll(async () => {
    client = await transport.connect(kind);
  });
  afterAll(() => client.close());

  async function until(entry: string): Promise<void> {
    const deadline = Date.now() + 5000;
    while (!transport.seen(kind).includes(entry)) {
      if (Date.now() > deadline)
        throw new Error(`"${entry}" did not come: ${transport.seen(kind).join(', ')}`);
      await sleep(5);
    }
  }

  it('knows whom it talks to', () => {
    expect(client.serverInfo).toMatchObject({ name: 'mcp-shell-server', version: '0.0.0-test' });
    expect(client.instructions).toBe('Fixture tools.');
  });

  it('lists the tools in their order', async () => {
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['echo', 'wait', 'count', 'fail']);
  });

  it('calls a tool', async () => {
    const answer = await client.callTool('echo', { text: 'grüß dich' });
    expect(answer.content).toEqual([{ type: 'text', text: 'grüß dich' }]);
    expect(answer.structuredContent).toEqual({
      text: 'grüß dich',
      client: 'test-client 1.2.3',
      principal: transport.principal,
    });
  });

  it('reads an error in both views, though its schema is the answer’s', async () => {
    const answer = await client.callTool('echo', { txt: 'hi' });
    expect(answer.isError).toBe(true);
    expect(answer.content[0]?.text).toContain('The parameter "text" is missing.');
    expect(answer.structuredContent).toMatchObject({ error: { code: 'PARAM_001' } });
  });

  it('hears of an unknown tool as a protocol error', async () => {
    await expect(client.callTool('ehco', {})).rejects.toMatchObject({
      code: -32602,
      data: { name: 'ToolNotFound', suggestion: 'echo' },
    });
  });

  it('gets progress', async () => {
    const progress: { progress: number; message?: string }[] = [];
    const answer = await client.callTool(
      'count',
      { to: 3, everyMs: 210 },
      { onprogress: (one) => void progress.push(one) },
    );
    expect(answer.structuredContent).toEqual({ counted: 3, reported: true });
    expect(progress.map(({ progress: count, message }) => [count, message])).toEqual([
      [1, '1\n'],
      [2, '2\n'],
      [3, '3\n'],
    ]);
  });

  it('cancels a call', async () => {
    const controller = new AbortController();
    const label = `${kind} ${via}`;
    const call = client.callTool('wait', { label, ms: 60_000 }, { signal: controller.signal });
    call.catch(() => undefined);
    await until(`started ${label}`);
    controller.abort('enough');
    await expect(call).rejects.toThrow(/enough|abort/i);
    await until(`aborted ${label}`);
    expect((await client.callTool('echo', { text: 'goes on' })).structuredContent).toMatchObject({
      text: 'goes on',
    });
  });

  it('takes a large answer', async () => {
    const answer = await client.callTool('echo', { text: 'x', size: 3_000_000 });
    expect(String(answer.structuredContent?.['text'])).toHaveLength(3_000_001);
  });

  it('had nothing to complain of', () => {
    // The answer to a cancelled call is stored for one that resumes its stream; a client may do so just after it cancelled.
    const complaints = client.errors.map(({ message }) => message);
    expect(complaints.filter((message) => !message.includes('The request was cancelled'))).toEqual([]);
  });
});
