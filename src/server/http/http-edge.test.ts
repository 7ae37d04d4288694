/** What no good client does: bytes that are no HTTP, senders and readers that never finish, and more than their share. */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { createFixtureFactory, createFixtureTools } from '../../../test/e2e/support/fixture-tools.ts';
import { modernRequest, openRaw, openSession, sendRaw } from '../../../test/e2e/support/raw-http.ts';
import { call, modern, request } from '../../../test/e2e/support/raw-streams.ts';
import { silentLog } from '../../base/log.ts';
import { hashOf } from '../../security/tokens/tokens.ts';
import { createTokens } from '../auth.ts';
import { type HttpListener, type HttpOptions, serveHttp } from './http.ts';

const ALICE = 'the-token-of-alice';
const BOB = 'the-token-of-bob';

let listener: HttpListener | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await listener?.close();
  listener = undefined;
});

async function start(options: Partial<HttpOptions> = {}) {
  const fixtures = createFixtureTools();
  listener = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    factory: createFixtureFactory(fixtures),
    tokens: createTokens([
      { token: ALICE, principal: 'alice' },
      { token: BOB, principal: 'bob' },
    ]),
    log: silentLog,
    ...options,
  });
  return { fixtures, listener, url: listener.url, port: listener.port };
}

/** Everything the server says to these bytes until it hangs up. */
function say(port: number, bytes: string | Uint8Array, isEnded = false): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    let heard = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      heard += chunk;
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(heard));
    socket.write(bytes);
    if (isEnded) socket.end();
  });
}

const isFine = async (url: string): Promise<void> => {
  const { json } = await sendRaw(url, modernRequest(call(1, 'echo', { text: 'fine' }), BOB));
  expect(json).toMatchObject({ result: { structuredContent: { text: 'fine', principal: 'bob' } } });
};

const head = (port: number, rest = ''): string =>
  `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${ALICE}\r\nContent-Type: application/json\r\n${rest}`;

/** A body that says why, and the id by which an operator finds it. */
const EXPLAINED =
  /\r\nx-request-id: (req_\w+)\r\n[^]*\r\n\r\n\{"jsonrpc":"2\.0","id":null,"error":\{"code":-\d+,"message":"[^]+","data":\{"request_id":"\1"\}\}\}$/;

describe('what is no HTTP', () => {
  it.each<[string, (port: number) => string, RegExp]>([
    ['noise', () => '\u0000\u0001\u0002\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['a line of prose', () => 'hello there\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['TLS to a plain port', () => '\u0016\u0003\u0001\u0002\u0000\u0001', /^HTTP\/1\.1 400 /],
    ['another protocol', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', /^HTTP\/1\.1 4\d\d /],
    ['no host', () => 'GET /mcp HTTP/1.1\r\nConnection: close\r\n\r\n', /^HTTP\/1\.1 40[03] /],
    [
      'two hosts',
      (port) => head(port, `Host: 127.0.0.1:${port}\r\nContent-Length: 0\r\n\r\n`),
      /^HTTP\/1\.1 400 /,
    ],
    [
      'a second host of another',
      (port) => head(port, 'host: example.com\r\nContent-Length: 0\r\n\r\n'),
      /^HTTP\/1\.1 400 /,
    ],
    ['a header without a name', (port) => head(port, ': x\r\n\r\n'), /^HTTP\/1\.1 400 /],
    [
      'a header of two lines',
      (port) => head(port, 'X-A: b\r\n c\r\nContent-Length: 0\r\n\r\n'),
      /^HTTP\/1\.1 400 /,
    ],
    ['a length that is no number', (port) => head(port, 'Content-Length: ten\r\n\r\n'), /^HTTP\/1\.1 400 /],
    [
      'two lengths',
      (port) => head(port, 'Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}'),
      /^HTTP\/1\.1 400 /,
    ],
    [
      'a length and chunks',
      (port) => head(port, 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'),
      /^HTTP\/1\.1 400 /,
    ],
    [
      'a chunk that is none',
      (port) => head(port, 'Transfer-Encoding: chunked\r\n\r\nzz\r\n'),
      /^HTTP\/1\.1 400 /,
    ],
    [
      'a header that is too large',
      (port) => head(port, `X-A: ${'a'.repeat(20_000)}\r\n\r\n`),
      /^HTTP\/1\.1 431 /,
    ],
    [
      'too many headers',
      (port) => head(port, `${Array.from({ length: 1500 }, (_, n) => `X-Header-${n}: a\r\n`).join('')}\r\n`),
      /^HTTP\/1\.1 431 /,
    ],
  ])('%s is answered as it should be, and the server goes on', async (_, bytes, answer) => {
    const statuses: number[] = [];
    const { url, port } = await start({ onAnswered: (status) => statuses.push(status) });
    const heard = await say(port, bytes(port), true);
    expect(heard).toMatch(answer);
    expect(heard).toMatch(EXPLAINED);
    expect(statuses).toEqual([Number(heard.slice(9, 12))]);
    await isFine(url);
  });

  it('an expectation that nobody can meet is refused, and why', async () => {
    const { url, port } = await start();
    const heard = await say(
      port,
      head(port, 'Expect: miracles\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}'),
    );
    expect(heard).toMatch(/^HTTP\/1\.1 417 /);
    expect(heard).toMatch(EXPLAINED);
    await isFine(url);
  });

  it('a tunnel is not opened', async () => {
    const { url, port } = await start();
    const tunnel = await say(port, 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n');
    expect(tunnel).toMatch(/^HTTP\/1\.1 405 /);
    expect(tunnel).toMatch(EXPLAINED);
    const upgrade = head(port, 'Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n');
    expect(await say(port, upgrade, true)).toMatch(/^HTTP\/1\.1 400 /);
    await isFine(url);
  });

  it('half a request, and a connection that is cut, leave nothing', async () => {
    const { url, port } = await start();
    for (const bytes of ['', 'POST /mcp', head(port), head(port, 'Content-Length: 100\r\n\r\n{"half')]) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      await new Promise<void>((resolve) => {
        socket.write(bytes || ' ', () => resolve());
      });
      socket.resetAndDestroy();
    }
    await isFine(url);
    await expect.poll(() => listener?.counts()).toMatchObject({ underWay: 0 });
  });

  it('several requests at once on one connection are answered in their order', async () => {
    const { port } = await start();
    const one = (id: number): string => {
      const body = JSON.stringify(modern(call(id, 'echo', { text: `number ${id}` })));
      const headers = `MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\nAccept: application/json, text/event-stream\r\nContent-Length: ${body.length}\r\n`;
      return head(port, `${headers}${id === 3 ? 'Connection: close\r\n' : ''}\r\n${body}`);
    };
    const heard = await say(port, one(1) + one(2) + one(3));
    expect(
      [...heard.matchAll(/"text":"number (\d)"/g)]
        .map(([, id]) => id)
        .filter((id, at, all) => all.indexOf(id) === at),
    ).toEqual(['1', '2', '3']);
  });
});

describe('a peer that takes its time', () => {
  it('with its headers is told that, and does not keep others waiting', async () => {
    const { url, port } = await start({ limits: { headersTimeoutMs: 900 } });
    const slow = Array.from({ length: 50 }, () => say(port, 'POST /mcp HTTP/1.1\r\nX-A: b\r\n'));
    await isFine(url);
    for (const heard of await Promise.all(slow)) {
      expect(heard).toMatch(/^HTTP\/1\.1 408 /);
      expect(heard).toMatch(EXPLAINED);
    }
    await isFine(url);
  });

  it('with its body is told that', async () => {
    const { url, port } = await start({ limits: { headersTimeoutMs: 900 } });
    const heard = await say(port, head(port, 'Content-Length: 100\r\n\r\n{'));
    expect(heard).toMatch(/^HTTP\/1\.1 408 /);
    expect(heard).toMatch(EXPLAINED);
    await isFine(url);
  });

  it('in the middle of an answer to it is cut off with its call, and nothing is written into the answer', async () => {
    const { fixtures, port } = await start();
    const body = JSON.stringify(
      modern({
        ...call(1, 'count', { to: 1000, everyMs: 20 }),
        params: { name: 'count', arguments: { to: 1000, everyMs: 20 }, _meta: { progressToken: 1 } },
      }),
    );
    const headers = `MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: count\r\nAccept: application/json, text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n`;
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    let heard = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      if (heard === '' || !heard.includes('"progress":3')) heard += chunk;
      if (heard.includes('"progress":3')) socket.write('no HTTP at all\r\n\r\n');
    });
    socket.on('error', () => undefined);
    const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
    socket.write(head(port, `${headers}${body}`));
    await closed;
    expect(heard).toMatch(/^HTTP\/1\.1 200 /);
    expect(heard).not.toContain('HTTP/1.1 400');
    // A client that is gone waits for nothing.
    await fixtures.until('aborted count');
  });

  it('with reading is dropped', async () => {
    const { url, port } = await start({ limits: { stalledMs: 400 } });
    const body = JSON.stringify(modern(call(1, 'echo', { text: 'x', size: ANSWER_SIZE })));
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    socket.pause();
    const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
    socket.on('error', () => undefined);
    const headers = `MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\nAccept: application/json, text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n`;
    socket.write(head(port, `${headers}${body}`));
    await expect.poll(() => listener?.counts().underWay).toBe(1);
    await expect.poll(() => listener?.counts().underWay).toBe(0);
    socket.resume();
    await closed;
    await isFine(url);
  });
});

describe('a client that only opens connections', () => {
  const open = (port: number, bytes: string): Socket => {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined);
    if (bytes !== '') socket.write(bytes);
    return socket;
  };

  it.each<[string, (port: number) => string]>([
    ['and says nothing', () => ''],
    ['and half of a header', () => 'POST /mcp HTTP/1.1\r\nX-A: b\r\n'],
    ['and has no token', (port) => `GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`],
  ])('%s, keeps nobody out, and nobody is cut off who is being answered', async (_, bytes) => {
    const { fixtures, url, port } = await start({ limits: { httpConnections: 20 } });
    const held = sendRaw(url, modernRequest(call(1, 'wait', { label: 'a', ms: 3000 }), ALICE));
    await fixtures.until('started a');
    for (let n = 0; n < 100; n++) open(port, bytes(port));
    await isFine(url);
    await expect.poll(() => listener?.counts().connections).toBeLessThanOrEqual(20);
    await isFine(url);
    expect((await held).json).toMatchObject({ result: { structuredContent: { waited: 3000 } } });
  });

  it('is the one who goes where everybody else is being answered', async () => {
    const { fixtures, url, port } = await start({ limits: { httpConnections: 2 } });
    const held = ['a', 'b'].map((label) =>
      sendRaw(url, modernRequest(call(1, 'wait', { label, ms: 2000 }), ALICE)),
    );
    await fixtures.until('started a');
    await fixtures.until('started b');
    const socket = open(port, '');
    await new Promise<void>((resolve) => socket.once('close', () => resolve()));
    for (const { status } of await Promise.all(held)) expect(status).toBe(200);
  });
});

/** In each of its two views; together as much as an answer may have. */
const ANSWER_SIZE = 4_000_000;

/** Sends a request, and takes nothing of the answer until it is told to. */
function ask(port: number, id: number, token = ALICE): Socket {
  const body = JSON.stringify(modern(call(id, 'echo', { text: 'x', size: ANSWER_SIZE })));
  const headers = `MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\nAccept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`;
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  socket.pause();
  socket.on('error', () => undefined);
  socket.write(head(port, `${headers}${body}`).replace(ALICE, token));
  return socket;
}

describe('a principal that asks and does not read', () => {
  it('is not answered more than memory has room for, keeps nobody waiting, and loses nothing', async () => {
    const { fixtures, url, port } = await start({ limits: { unreadBytes: 1_000_000 } });
    const asked = Array.from({ length: 12 }, (_, id) => ask(port, id));
    const begun = (): number => fixtures.calls.filter(({ principal }) => principal === 'alice').length;
    await expect.poll(begun).toBeGreaterThan(0);
    await isFine(url);
    // What was answered fills the connections, and then nothing moves.
    let before = -1;
    while (before !== begun()) {
      before = begun();
      await sleep(500);
    }
    expect(before).toBeLessThan(asked.length / 2);
    await isFine(url);
    const taken = asked.map(
      (socket) =>
        new Promise<number>((resolve) => {
          let bytes = 0;
          socket.on('data', (chunk: Buffer) => {
            bytes += chunk.length;
          });
          socket.on('close', () => resolve(bytes));
          socket.resume();
        }),
    );
    for (const bytes of await Promise.all(taken)) expect(bytes).toBeGreaterThan(ANSWER_SIZE);
    expect(begun()).toBe(asked.length);
  });

  it('has a whole batch answered where it reads', async () => {
    const { url } = await start({ limits: { unreadBytes: 1_000_000 } });
    const headers = await openSession(url, ALICE);
    const batch = Array.from({ length: 20 }, (_, n) => call(n + 1, 'echo', { text: 'x', size: 600_000 }));
    const stream = await openRaw(url, { headers, body: batch });
    await stream.ended;
    expect(stream.messages()).toHaveLength(batch.length);
  });
});

describe('a principal', () => {
  it('has a number of open requests, and cannot use up those of others', async () => {
    const { fixtures, url } = await start({ limits: { principalRequests: 3 } });
    const headers = await openSession(url, ALICE);
    const standing = await openRaw(url, {
      method: 'GET',
      headers: { ...headers, accept: 'text/event-stream' },
    });
    const held = ['a', 'b'].map((label) =>
      sendRaw(url, modernRequest(call(1, 'wait', { label, ms: 60_000 }), ALICE)).catch(() => undefined),
    );
    await fixtures.until('started a');
    await fixtures.until('started b');
    const refused = await sendRaw(url, modernRequest(call(2, 'echo', { text: 'x' }), ALICE));
    expect(refused).toMatchObject({
      status: 429,
      headers: { 'retry-after': '1' },
      json: { error: { code: 'RESOURCE_005', details: { limit: 3 } } },
    });
    await isFine(url);
    standing.drop();
    await expect
      .poll(async () => (await sendRaw(url, modernRequest(call(2, 'echo', { text: 'x' }), ALICE))).status)
      .toBe(200);
    await listener?.close();
    await Promise.all(held);
  });
});

describe('a token that only reads', () => {
  const READER = 'the-token-of-alice-who-reads';
  const OTHER_READER = 'another-token-of-alice-who-reads';
  const stored = [READER, OTHER_READER].map((token) => ({
    name: token,
    principal: 'alice',
    sha256: hashOf(token).toString('hex'),
    createdAt: '2026-01-01T00:00:00.000Z',
    isReadOnly: true,
  }));
  const tokens = createTokens([{ token: ALICE, principal: 'alice' }], { stored: () => stored });
  const wait = (label: string, token: string) =>
    sendRaw(url, modernRequest(call(1, 'wait', { label, ms: 60_000 }), token)).catch(() => undefined);
  let url: string;

  it('holds half of the open requests of its principal at most, with all others that only read', async () => {
    const { fixtures, url: own } = await start({ limits: { principalRequests: 4 }, tokens });
    url = own;
    const held = [wait('a', READER), wait('b', OTHER_READER)];
    await fixtures.until('started a');
    await fixtures.until('started b');
    for (const token of [READER, OTHER_READER])
      expect(await sendRaw(url, modernRequest(call(2, 'echo', { text: 'x' }), token))).toMatchObject({
        status: 429,
        json: { error: { code: 'RESOURCE_005', details: { limit: 2 } } },
      });
    expect(await sendRaw(url, modernRequest(call(2, 'echo', { text: 'x' }), ALICE))).toMatchObject({
      status: 200,
    });
    // What others of its principal hold counts for it too.
    held.push(wait('c', ALICE), wait('d', ALICE));
    await fixtures.until('started d');
    expect(await sendRaw(url, modernRequest(call(2, 'echo', { text: 'x' }), ALICE))).toMatchObject({
      status: 429,
      json: { error: { code: 'RESOURCE_005', details: { limit: 4 } } },
    });
    await listener?.close();
    await Promise.all(held);
  });

  it('holds half of the room for bodies at most', async () => {
    const { url: own, port } = await start({ limits: { principalBodyBytes: 1_000_000 }, tokens });
    const open = connect(port, '127.0.0.1');
    sockets.push(open);
    open.on('error', () => undefined);
    open.write(head(port, `Content-Length: 700000\r\n\r\n"${'x'.repeat(450_000)}`).replace(ALICE, READER));
    const echo = (token: string, size: number) =>
      sendRaw(own, modernRequest(call(1, 'echo', { text: 'x'.repeat(size) }), token));
    await expect.poll(async () => (await echo(OTHER_READER, 100_000)).status).toBe(429);
    expect((await echo(ALICE, 400_000)).status).toBe(200);
  });

  it('does not hold up the agent by taking none of its answers', async () => {
    const { fixtures, url: own, port } = await start({ limits: { unreadBytes: 1_000_000 }, tokens });
    for (let id = 0; id < 12; id++) ask(port, id, READER);
    await expect.poll(() => fixtures.calls.length).toBeGreaterThan(0);
    await sleep(500);
    const echo = modernRequest(call(1, 'echo', { text: 'x' }), ALICE);
    expect(await Promise.race([sendRaw(own, echo), sleep(20_000)])).toMatchObject({ status: 200 });
  });
});

describe('the bodies of a principal', () => {
  it('have room together, and who sends more is told so, while others go on', async () => {
    const { fixtures, url, port } = await start({ limits: { principalBodyBytes: 1_000_000 } });
    const half = 'x'.repeat(600_000);
    const open = connect(port, '127.0.0.1');
    sockets.push(open);
    open.on('error', () => undefined);
    open.write(head(port, `Content-Length: 700000\r\n\r\n"${half}`));
    const echo = (size: number) => modernRequest(call(1, 'echo', { text: 'x'.repeat(size) }), ALICE);
    await expect.poll(async () => (await sendRaw(url, echo(500_000))).status).toBe(429);
    expect(await sendRaw(url, echo(500_000))).toMatchObject({
      headers: { 'retry-after': '1' },
      json: { error: { code: 'RESOURCE_005', details: { limit: 1_000_000 } } },
    });
    expect((await sendRaw(url, echo(1000))).status).toBe(200);
    await isFine(url);
    open.destroy();
    await expect.poll(async () => (await sendRaw(url, echo(500_000))).status).toBe(200);
    // One alone has as much as a body may have.
    expect((await sendRaw(url, echo(2_000_000))).status).toBe(200);
    expect(fixtures.seen).toEqual([]);
  });
});

describe('a server that is leaving', () => {
  it('answers what is under way, takes nothing new, and says so', async () => {
    const { fixtures, url } = await start();
    const headers = await openSession(url, BOB);
    const running = sendRaw(url, modernRequest(call(1, 'wait', { label: 'a', ms: 1000 }), ALICE));
    const inSession = sendRaw(url, { headers, body: call(1, 'wait', { label: 'b', ms: 1000 }) });
    await fixtures.until('started a');
    await fixtures.until('started b');
    const drained = listener?.drain(60_000);
    for (const options of [
      modernRequest(call(2, 'echo', { text: 'x' }), ALICE),
      { headers, body: call(2, 'echo', { text: 'x' }) },
      { headers, body: [call(2, 'echo', { text: 'x' }), call(3, 'echo', { text: 'x' })] },
    ]) {
      expect(await sendRaw(url, options)).toMatchObject({
        status: 503,
        headers: { 'retry-after': '5' },
        json: { error: { code: 'SYSTEM_002', category: 'SYSTEM' } },
      });
    }
    const notification = {
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 1, progress: 1 },
    };
    expect((await sendRaw(url, { headers, body: notification })).status).toBe(202);
    expect(listener?.isLeaving()).toBe(true);
    await drained;
    for (const { json } of await Promise.all([running, inSession])) {
      expect(json).toMatchObject({ result: { structuredContent: { waited: 1000 } } });
    }
    expect(fixtures.seen).toContain('done a');
    expect(fixtures.seen).toContain('done b');
  });

  it('does not wait for streams that never end, nor for longer than it was told', async () => {
    const { fixtures, url } = await start();
    const headers = await openSession(url, ALICE);
    const standing = await openRaw(url, {
      method: 'GET',
      headers: { ...headers, accept: 'text/event-stream' },
    });
    const listening = openRaw(
      url,
      modernRequest(request(1, 'subscriptions/listen', { notifications: {} }), ALICE),
    );
    listening.catch(() => undefined);
    await sleep(50);
    await listener?.drain(60_000);
    standing.drop();
    await listener?.close();

    const second = await start();
    const stuck = sendRaw(second.url, modernRequest(call(1, 'wait', { label: 'c', ms: 60_000 }), ALICE));
    await second.fixtures.until('started c');
    await second.listener.drain(50);
    expect(second.listener.counts().underWay).toBe(1);
    await second.listener.close();
    expect(await stuck).toMatchObject({ status: 503, json: { error: { code: 'SYSTEM_002' } } });
    expect(fixtures.seen).toEqual([]);
  });
});
