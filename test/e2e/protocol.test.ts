/**
 * The built server by every revision of the protocol, over both transports, with real commands.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CLIENT_KINDS, connectHttp, connectStdio, type TestClient } from './support/clients.ts';
import { longCommand, until } from './support/long-command.ts';
import { createPlace, type Place } from './support/product.ts';
import { openRaw, type RawHere } from './support/product-here.ts';
import { type RunningProduct, startProductHttp } from './support/product-http.ts';
import { modernRequest, openRaw as openRawHttp, openSession, sendRaw } from './support/raw-http.ts';
import { type RawProcess, startRaw } from './support/raw-process.ts';
import { call, initialize, type Message, modern, request } from './support/raw-streams.ts';

const LEGACY_REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const ECHO = { command: 'echo hi' };
const HI = { status: 'completed', exit_code: 0, stdout: 'hi\n' };

let place: Place;
let http: RunningProduct;
beforeAll(async () => {
  place = createPlace();
  http = await startProductHttp(place);
});
afterAll(async () => {
  await http.stop();
  place.remove();
});

const started: RawProcess[] = [];
const opened: RawHere[] = [];
afterEach(async () => {
  for (const process of started.splice(0)) process.kill();
  await Promise.all(opened.splice(0).map((server) => server.leave()));
});
/** In a process of its own, for what is about its end. */
function start(): RawProcess {
  const process = startRaw(place.command());
  started.push(process);
  return process;
}
function open(): RawHere {
  const server = openRaw(place.command());
  opened.push(server);
  return server;
}

const handshake = (protocolVersion: string): Message => ({
  ...initialize,
  params: { ...(initialize['params'] as Message), protocolVersion },
});

describe('over stdio', () => {
  it.each(LEGACY_REVISIONS)('revision %s shakes hands and runs a command', async (revision) => {
    const server = open();
    server.say(handshake(revision), { jsonrpc: '2.0', method: 'notifications/initialized' });
    expect(await server.next()).toMatchObject({
      id: 0,
      result: { protocolVersion: revision, serverInfo: { name: 'mcp-shell-server', title: 'Shell' } },
    });
    server.say(call(1, 'shell_execute', ECHO));
    expect(await server.next()).toMatchObject({ id: 1, result: { structuredContent: HI } });
  });

  it('revision 2026-07-28 is discovered and runs a command', async () => {
    const server = open();
    server.say(modern(request(1, 'server/discover')), modern(call(2, 'shell_execute', ECHO)));
    expect(await server.next()).toMatchObject({ id: 1, result: { supportedVersions: ['2026-07-28'] } });
    expect(await server.next()).toMatchObject({
      id: 2,
      result: { resultType: 'complete', structuredContent: HI },
    });
  });

  it('a revision that nobody knows is answered with the newest of its era', async () => {
    const server = open();
    server.say(handshake('1999-01-01'));
    expect(await server.next()).toMatchObject({ result: { protocolVersion: '2025-11-25' } });
  });

  it('garbage is answered and survived', async () => {
    const server = open();
    const garbage: [string | Uint8Array, number][] = [
      ['not json\n', -32700],
      ['{"jsonrpc":"2.0","id":1,\n', -32700],
      [new Uint8Array([0xff, 0xfe, 0x00, 0x0a]), -32700],
      ['[]\n', -32600],
      [`${'['.repeat(100_000)}\n`, -32600],
      ['{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600],
      ['{"jsonrpc":"2.0","id":1,"method":"no/such"}\n', -32601],
      ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such"}}\n', -32602],
    ];
    for (const [line, code] of garbage) {
      server.write(line);
      expect(await server.next()).toMatchObject({ error: { code } });
    }
    server.write('\r\n\n{"jsonrpc":"2.0","id":99,"result":{}}\n');
    server.say(call('after', 'shell_execute', ECHO));
    expect(await server.next()).toMatchObject({ id: 'after', result: { structuredContent: HI } });
  });

  it('a batch is answered as one', async () => {
    const server = open();
    server.say([
      call(1, 'shell_execute', ECHO),
      request(2, 'ping'),
      call(3, 'shell_execute', { command: 'exit 3' }),
    ]);
    const answers = (await server.next()) as Message[];
    expect(answers.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual([1, 2, 3]);
  });

  it('a piped request without a handshake is answered before the server ends', async () => {
    const server = start();
    server.write(JSON.stringify(call(1, 'shell_execute', { command: 'sleep 0.5; echo hi' })));
    server.end();
    const { messages, code } = await server.rest();
    expect(messages).toMatchObject([{ id: 1, result: { structuredContent: HI } }]);
    expect(code).toBe(0);
  });

  it.each(['legacy', 'modern'])('a %s client that leaves ends its command and the server', async (era) => {
    const server = start();
    const command = longCommand(place, `left ${era}`);
    if (era === 'legacy') server.say(initialize);
    const running = call(1, 'shell_execute', { command: command.text, execution_mode: 'foreground' });
    server.say(era === 'modern' ? modern(running) : running);
    await until('the command started', () => command.hasStarted() && command.isRunning());
    server.end();
    expect((await server.rest(5000)).code).toBe(0);
    expect(command.isRunning()).toBe(false);
  });
});

describe('over HTTP', () => {
  it.each(LEGACY_REVISIONS.slice(1))('revision %s opens a session and runs a command', async (revision) => {
    const headers = await openSession(http.url, http.token, revision);
    expect((await sendRaw(http.url, { headers, body: call(1, 'shell_execute', ECHO) })).json).toMatchObject({
      result: { structuredContent: HI },
    });
  });

  it('revision 2024-11-05, which had another HTTP transport, is served by this one', async () => {
    const headers = await openSession(http.url, http.token, '2024-11-05');
    expect((await sendRaw(http.url, { headers, body: request(1, 'tools/list') })).status).toBe(200);
  });

  it('revision 2026-07-28 runs a command without any session', async () => {
    const answer = await sendRaw(http.url, modernRequest(call(1, 'shell_execute', ECHO), http.token));
    expect(answer).toMatchObject({
      status: 200,
      json: { result: { resultType: 'complete', structuredContent: HI } },
    });
  });

  it('nobody gets in without the token', async () => {
    const answer = await sendRaw(http.url, modernRequest(call(1, 'shell_execute', ECHO)));
    expect(answer).toMatchObject({ status: 401, json: { error: { code: 'AUTH_001' } } });
    await expect(connectHttp('v2 legacy', http.url, 'another')).rejects.toThrow(/401|Unauthorized|AUTH_002/);
  });

  it('a 2026-07-28 client that closes its connection ends its command', async () => {
    const command = longCommand(place, 'http modern dropped');
    const body = call(1, 'shell_execute', {
      command: `echo started; ${command.text}`,
      execution_mode: 'foreground',
    });
    const params = { ...(body['params'] as Message), _meta: { progressToken: 1 } };
    const stream = await openRawHttp(http.url, modernRequest({ ...body, params }, http.token));
    await stream.until((text) => text.includes('started'));
    await until('the command started', () => command.hasStarted() && command.isRunning());
    stream.drop();
    await until('the command ended', () => !command.isRunning(), 5000);
    expect(command.isRunning()).toBe(false);
  });
});

describe.each(CLIENT_KINDS.flatMap((kind) => (['stdio', 'http'] as const).map((via) => ({ kind, via }))))(
  '$kind over $via',
  ({ kind, via }) => {
    let client: TestClient;
    beforeAll(async () => {
      client =
        via === 'stdio'
          ? await connectStdio(kind, place.command())
          : await connectHttp(kind, http.url, http.token);
    });
    afterAll(() => client.close());

    it('runs a command and cancels one', async () => {
      expect(await runAndCancel(client, `${via} ${kind}`)).toEqual({
        hasTool: true,
        stdout: 'hi\n',
        isRunning: false,
      });
    });

    it('waits for output, and is told of what ends meanwhile', async () => {
      const go = join(place.work, `go-${via}-${kind.replaceAll(' ', '-')}`);
      const background = await client.callTool('shell_execute', {
        command: `echo ready; until [ -e '${go}' ]; do sleep 0.05; done; exit 3`,
        execution_mode: 'background',
        wait_for: [{ output: 'rea.y' }],
      });
      expect(background.structuredContent).toMatchObject({
        status: 'running',
        wait: { result: 'met', met: [{ line: 'ready' }] },
      });
      writeFileSync(go, '');
      const id = String(background.structuredContent?.['execution_id']);
      const finished = { event: 'finished', execution_id: id, exit_code: 3 };
      await expect
        .poll(async () => (await client.callTool('shell_execute', ECHO)).structuredContent)
        .toMatchObject({ events: expect.arrayContaining([expect.objectContaining(finished)]) });
    });
  },
);

async function runAndCancel(client: TestClient, name: string): Promise<object> {
  const tools = await client.listTools();
  const answer = await client.callTool('shell_execute', ECHO);
  const command = longCommand(place, name);
  const controller = new AbortController();
  const pending = client.callTool(
    'shell_execute',
    { command: command.text, execution_mode: 'foreground' },
    { signal: controller.signal },
  );
  pending.catch(() => undefined);
  await until('the command started', () => command.hasStarted() && command.isRunning());
  controller.abort('enough');
  await expect(pending).rejects.toThrow(/enough|abort/i);
  await until('the command ended', () => !command.isRunning(), 5000);
  return {
    hasTool: tools.some((tool) => tool.name === 'shell_execute'),
    stdout: answer.structuredContent?.['stdout'],
    isRunning: command.isRunning(),
  };
}
