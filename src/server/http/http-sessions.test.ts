import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { createFixtureFactory, createFixtureTools } from '../../../test/e2e/support/fixture-tools.ts';
import { modernRequest, openRaw, openSession, sendRaw } from '../../../test/e2e/support/raw-http.ts';
import { call, type Message, request } from '../../../test/e2e/support/raw-streams.ts';
import { silentLog } from '../../base/log.ts';
import { hashOf } from '../../security/tokens/tokens.ts';
import { createTokens } from '../auth.ts';
import { type HttpListener, type HttpOptions, serveHttp } from './http.ts';

let listener: HttpListener | undefined;
afterEach(async () => {
  await listener?.close();
  listener = undefined;
});

async function start(options: Partial<HttpOptions> = {}) {
  const fixtures = createFixtureTools();
  const factory = createFixtureFactory(fixtures);
  listener = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    factory,
    log: silentLog,
    limits: { resumeWindowMs: 300 },
    ...options,
  });
  return { fixtures, url: listener.url };
}

const withToken = (message: Message, progressToken: string): Message => ({
  ...message,
  params: { ...(message['params'] as Message), _meta: { progressToken } },
});
const cancel = (requestId: unknown): Message => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId },
});

describe('a session of the 2025 era', () => {
  it.each(['2025-03-26', '2025-06-18', '2025-11-25'])('serves revision %s', async (revision) => {
    const { url } = await start();
    const headers = await openSession(url, undefined, revision);
    expect(await sendRaw(url, { headers, body: request(1, 'tools/list') })).toMatchObject({
      status: 200,
      json: { id: 1, result: { tools: [{ name: 'echo' }, {}, {}, {}] } },
    });
    expect((await sendRaw(url, { headers, body: call(2, 'echo', { text: 'hi' }) })).json).toMatchObject({
      result: { structuredContent: { text: 'hi', client: 'raw 9', principal: 'local' } },
    });
  });

  it('ends with DELETE, and its calls with it', async () => {
    const { url, fixtures } = await start();
    const headers = await openSession(url);
    const stream = await openRaw(url, { headers, body: call(1, 'wait', { label: 'a', ms: 60_000 }) });
    await fixtures.until('started a');
    expect((await sendRaw(url, { method: 'DELETE', headers })).status).toBe(200);
    await fixtures.until('aborted a');
    await stream.ended;
    expect((await sendRaw(url, { headers, body: request(2, 'tools/list') })).status).toBe(404);
  });

  it('cancels a call by notification, closes its stream and frees its id', async () => {
    const { url, fixtures } = await start();
    const headers = await openSession(url);
    const stream = await openRaw(url, { headers, body: call(1, 'wait', { label: 'a', ms: 60_000 }) });
    await fixtures.until('started a');
    expect((await sendRaw(url, { headers, body: call(1, 'echo', { text: 'x' }) })).json).toMatchObject({
      error: { code: -32_600, message: 'Invalid request: this id is in use' },
    });
    expect((await sendRaw(url, { headers, body: cancel(1) })).status).toBe(202);
    await fixtures.until('aborted a');
    await stream.ended;
    expect(stream.messages()).toEqual([]);
    expect((await sendRaw(url, { headers, body: call(1, 'echo', { text: 'again' }) })).json).toMatchObject({
      result: { structuredContent: { text: 'again' } },
    });
    // A client that takes the closed stream for a broken one and comes back is told the end of it.
    const resumed = await sendRaw(url, {
      method: 'GET',
      headers: { ...headers, accept: 'text/event-stream', 'last-event-id': stream.lastEventId() },
    });
    expect(resumed).toMatchObject({
      status: 200,
      json: { id: 1, error: { message: 'The request was cancelled' } },
    });
  });

  it('gives a stream to the client that opens it again', async () => {
    const { url, fixtures } = await start();
    const headers = await openSession(url);
    const get = { method: 'GET', headers: { ...headers, accept: 'text/event-stream' } };
    const first = await openRaw(url, get);
    const second = await openRaw(url, get);
    await first.ended;
    expect([first.status, second.status]).toEqual([200, 200]);
    // A stream that is finished is empty, and takes nothing from the other.
    const finished = await openRaw(url, { headers, body: call(1, 'echo', { text: 'x' }) });
    await finished.ended;
    const resume = (id = '') => ({ ...get, headers: { ...get.headers, 'last-event-id': id } });
    expect(await sendRaw(url, resume(finished.lastEventId()))).toMatchObject({ status: 200, text: '' });
    // The same for the stream of a call that goes on, which is answered on the newest.
    const waiting = await openRaw(url, { headers, body: call(2, 'wait', { label: 'a', ms: 60_000 }) });
    await fixtures.until('started a');
    const resumed = await openRaw(url, resume(waiting.lastEventId()));
    await waiting.ended;
    expect(resumed.status).toBe(200);
    await sendRaw(url, { headers, body: cancel(2) });
    await resumed.ended;
    second.drop();
  });

  it('cancels a call whose cancellation was faster than itself', async () => {
    const { url, fixtures } = await start();
    const headers = await openSession(url);
    expect((await sendRaw(url, { headers, body: cancel(7) })).status).toBe(202);
    const stream = await openRaw(url, { headers, body: call(7, 'wait', { label: 'a', ms: 60_000 }) });
    await stream.ended;
    expect(stream.messages()).toEqual([]);
    expect(fixtures.seen).not.toContain('done a');
    // One that comes too late is for nothing, also where the id is used again.
    for (const text of ['first', 'second']) {
      expect((await sendRaw(url, { headers, body: call(7, 'echo', { text }) })).json).toMatchObject({
        result: { structuredContent: { text } },
      });
      expect((await sendRaw(url, { headers, body: cancel(7) })).status).toBe(202);
    }
  });

  it('cancels calls whose cancellation comes in the same moment', async () => {
    const { url, fixtures } = await start();
    const headers = await openSession(url);
    const ids = Array.from({ length: 40 }, (_, n) => n + 1);
    const streams = await Promise.all(
      ids.flatMap((id) => [
        openRaw(url, { headers, body: call(id, 'wait', { label: `${id}`, ms: 60_000 }) }),
        openRaw(url, { headers, body: cancel(id) }),
      ]),
    );
    await Promise.all(streams.map(({ ended }) => ended));
    const labels = (word: string): string[] =>
      fixtures.seen.filter((entry) => entry.startsWith(word)).map((entry) => entry.slice(word.length));
    await expect.poll(() => labels('aborted ').sort()).toEqual(labels('started ').sort());
  });

  it.each(['2025-06-18', '2025-11-25'])(
    'cancels a call of revision %s when its connection broke and was not resumed in time',
    async (revision) => {
      const { url, fixtures } = await start();
      const headers = await openSession(url, undefined, revision);
      const stream = await openRaw(url, { headers, body: call(1, 'wait', { label: 'a', ms: 60_000 }) });
      await fixtures.until('started a');
      stream.drop();
      await sleep(150);
      expect(fixtures.seen).toEqual(['started a']);
      await fixtures.until('aborted a');
    },
  );

  it('goes on with a call that was resumed, replays what was missed and answers there', async () => {
    const { url, fixtures } = await start({ limits: { resumeWindowMs: 30_000 } });
    const headers = await openSession(url);
    const stream = await openRaw(url, {
      headers,
      body: withToken(call(1, 'count', { to: 5, everyMs: 220 }), 'tok'),
    });
    await stream.until((text) => text.includes('"progress":1'));
    const lastEventId = stream.lastEventId();
    stream.drop();
    await sleep(250);
    const resumed = await openRaw(url, {
      method: 'GET',
      headers: { ...headers, accept: 'text/event-stream', 'last-event-id': lastEventId },
    });
    await resumed.ended;
    const messages = resumed.messages();
    expect(messages.at(-1)).toMatchObject({ id: 1, result: { structuredContent: { counted: 5 } } });
    expect(messages.slice(0, -1).map((message) => (message['params'] as Message)['progress'])).toEqual([
      2, 3, 4, 5,
    ]);
    expect(fixtures.seen).toEqual([]);
  });

  it('cancels a resumed call that is dropped again', async () => {
    const { url, fixtures } = await start();
    const headers = await openSession(url);
    const stream = await openRaw(url, { headers, body: call(1, 'wait', { label: 'a', ms: 60_000 }) });
    await stream.until(() => stream.lastEventId() !== undefined);
    const resume = { ...headers, accept: 'text/event-stream', 'last-event-id': stream.lastEventId() };
    await fixtures.until('started a');
    stream.drop();
    await sleep(100);
    const resumed = await openRaw(url, { method: 'GET', headers: resume });
    expect(resumed.status).toBe(200);
    await sleep(500);
    expect(fixtures.seen).toEqual(['started a']);
    resumed.drop();
    await expect(fixtures.until('aborted a')).resolves.toBeUndefined();
  });

  it('hands the answer to a client that comes back after it was ready', async () => {
    const { url, fixtures } = await start();
    const headers = await openSession(url);
    const stream = await openRaw(url, { headers, body: call(1, 'wait', { label: 'a', ms: 100 }) });
    await stream.until(() => stream.lastEventId() !== undefined);
    stream.drop();
    await fixtures.until('done a');
    const resumed = await sendRaw(url, {
      method: 'GET',
      headers: { ...headers, accept: 'text/event-stream', 'last-event-id': stream.lastEventId() },
    });
    expect(resumed.json).toMatchObject({ id: 1, result: { structuredContent: { waited: 100 } } });
  });

  it('belongs to its principal alone, and its events too', async () => {
    const tokens = createTokens([
      { token: 'a-token', principal: 'alice' },
      { token: 'b-token', principal: 'bob' },
    ]);
    const { url } = await start({ tokens });
    const alice = await openSession(url, 'a-token');
    const bob = await openSession(url, 'b-token');
    const asAlice = await openRaw(url, { headers: alice, body: call(1, 'echo', { text: 'secret' }) });
    await asAlice.ended;
    expect(asAlice.messages()).toMatchObject([{ result: { structuredContent: { principal: 'alice' } } }]);
    const stolen = { ...alice, authorization: bob['authorization'] };
    for (const options of [
      { headers: stolen, body: request(1, 'tools/list') },
      { headers: stolen, method: 'GET' },
      { headers: stolen, method: 'DELETE' },
    ]) {
      expect(await sendRaw(url, options)).toMatchObject({ status: 404, json: { error: { code: -32_001 } } });
    }
    const replay = { ...bob, accept: 'text/event-stream', 'last-event-id': asAlice.lastEventId() };
    expect((await sendRaw(url, { method: 'GET', headers: replay })).status).toBe(400);
  });

  it('gives way, when it is idle longest, to one that is new', async () => {
    const { url, fixtures } = await start({ limits: { httpSessions: 6 } });
    const busy = await openSession(url);
    const first = await openSession(url);
    const second = await openSession(url);
    const stream = await openRaw(url, { headers: busy, body: call(1, 'wait', { label: 'a', ms: 60_000 }) });
    await fixtures.until('started a');
    const list = async (headers: Record<string, string>): Promise<number> =>
      (await sendRaw(url, { headers, body: request(9, 'tools/list') })).status;
    expect(await list(first)).toBe(200);
    const third = await openSession(url);
    expect(await Promise.all([busy, first, second, third].map(list))).toEqual([200, 200, 404, 200]);
    expect(fixtures.seen).toEqual(['started a']);
    const more = await openRaw(url, { headers: first, body: call(1, 'wait', { label: 'b', ms: 60_000 }) });
    const most = await openRaw(url, { headers: third, body: call(1, 'wait', { label: 'c', ms: 60_000 }) });
    await fixtures.until('started c');
    await expect(openSession(url)).rejects.toThrow(/no session: 503/);
    for (const open of [stream, more, most]) open.drop();
  });

  it('gives way for its own principal before others do', async () => {
    const tokens = createTokens([
      { token: 'of-alice', principal: 'alice' },
      { token: 'of-bob', principal: 'bob' },
    ]);
    const { url } = await start({ limits: { httpSessions: 4 }, tokens });
    const list = async (headers: Record<string, string>): Promise<number> =>
      (await sendRaw(url, { headers, body: request(9, 'tools/list') })).status;
    const bobs = await openSession(url, 'of-bob');
    const alices = [];
    for (let count = 0; count < 5; count++) alices.push(await openSession(url, 'of-alice'));
    expect(await Promise.all(alices.map(list))).toEqual([404, 404, 404, 200, 200]);
    expect(await list(bobs)).toBe(200);
    expect(await list(await openSession(url, 'of-bob'))).toBe(200);
    expect(await list(bobs)).toBe(200);
  });

  it.each([
    // Opened in turn by tokens of one principal with room for four, and which of them are left.
    ['arrrrrrrr', 'arrr'],
    ['rrrrrra', 'arrr'],
    ['aaaarrrrrr', 'aarr'],
    ['aaaaaa', 'aaaa'],
    ['arxrxrxrxrx', 'arrx'],
  ])('of a token gives way to others of that token first: %s leaves %s', async (opened, left) => {
    const stored = ['r', 'x'].map((name) => ({
      name,
      principal: 'alice',
      sha256: hashOf(name).toString('hex'),
      createdAt: '2026-01-01T00:00:00.000Z',
      isReadOnly: true,
    }));
    const tokens = createTokens([{ token: 'a', principal: 'alice' }], { stored: () => stored });
    const { url } = await start({ limits: { httpSessions: 8 }, tokens });
    const sessions = [];
    for (const token of opened) sessions.push({ token, headers: await openSession(url, token) });
    const found: string[] = [];
    for (const { token, headers } of sessions) {
      const { status } = await sendRaw(url, { headers, body: request(9, 'tools/list') });
      if (status === 200) found.push(token);
    }
    expect(found.toSorted().join('')).toBe(left);
  });

  it('answers a batch', async () => {
    const { url } = await start();
    const headers = await openSession(url, undefined, '2025-03-26');
    const stream = await openRaw(url, {
      headers,
      body: [call(1, 'echo', { text: 'a' }), call(2, 'echo', { text: 'b' })],
    });
    await stream.ended;
    expect(stream.messages()).toMatchObject([{ id: 1 }, { id: 2 }]);
  });
});

describe('a request of the 2026-07-28 revision', () => {
  it('streams progress where it is asked for, and answers with plain JSON where not', async () => {
    const { url } = await start();
    const counting = call(1, 'count', { to: 2, everyMs: 30 });
    const stream = await openRaw(url, modernRequest(withToken(counting, 'tok')));
    await stream.ended;
    expect(stream.messages()).toMatchObject([
      { method: 'notifications/progress', params: { progressToken: 'tok', progress: 1 } },
      { method: 'notifications/progress', params: { progressToken: 'tok', progress: 2 } },
      { id: 1, result: { resultType: 'complete', structuredContent: { counted: 2 } } },
    ]);
    const plain = await sendRaw(url, modernRequest(counting));
    expect(plain.headers['content-type']).toBe('application/json');
  });

  it('is cancelled at once when its connection is closed', async () => {
    const { url, fixtures } = await start({ limits: { resumeWindowMs: 60_000 } });
    const controller = new AbortController();
    const { headers, body } = modernRequest(call(1, 'wait', { label: 'a', ms: 60_000 }));
    const answer = fetch(url, {
      method: 'POST',
      headers: {
        ...(headers as Record<string, string>),
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(body),
      signal: controller.signal,
    });
    answer.catch(() => undefined);
    await fixtures.until('started a');
    controller.abort();
    await expect(fixtures.until('aborted a')).resolves.toBeUndefined();
  });

  it('is cancelled at once when its stream is closed', async () => {
    const { url, fixtures } = await start({ limits: { resumeWindowMs: 60_000 } });
    const stream = await openRaw(
      url,
      modernRequest(withToken(call(1, 'count', { to: 10_000, everyMs: 10 }), 'tok')),
    );
    await stream.until((text) => text.includes('"progress":1'));
    stream.drop();
    await expect(fixtures.until('aborted count')).resolves.toBeUndefined();
  });

  it('is answered 404 for an unknown method and -32602 for an unknown tool', async () => {
    const { url } = await start();
    expect(await sendRaw(url, modernRequest(request(1, 'nope')))).toMatchObject({
      status: 404,
      json: { error: { code: -32_601 } },
    });
    expect((await sendRaw(url, modernRequest(call(1, 'nope', {})))).json).toMatchObject({
      error: { code: -32_602, data: { name: 'ToolNotFound' } },
    });
  });
});
