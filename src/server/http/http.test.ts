import { connect as connectSocket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFixtureFactory, createFixtureTools } from '../../../test/e2e/support/fixture-tools.ts';
import { modernRequest, type RawRequest, sendRaw } from '../../../test/e2e/support/raw-http.ts';
import { call, initialize, request } from '../../../test/e2e/support/raw-streams.ts';
import { LIMITS } from '../../base/limits.ts';
import { silentLog } from '../../base/log.ts';
import { createTokens } from '../auth.ts';
import { type HttpListener, type HttpOptions, serveHttp } from './http.ts';

const TOKEN = 'a-token-of-some-length';
const fixtures = createFixtureTools();

function start(options: Partial<HttpOptions> = {}): Promise<HttpListener> {
  return serveHttp({
    host: '127.0.0.1',
    port: 0,
    factory: createFixtureFactory(fixtures),
    tokens: createTokens([{ token: TOKEN, principal: 'alice' }]),
    log: silentLog,
    ...options,
  });
}

describe('the guard of the HTTP endpoint', () => {
  let listener: HttpListener;
  beforeAll(async () => {
    listener = await start();
  });
  afterAll(() => listener.close());

  const authorization = `Bearer ${TOKEN}`;
  const good = (): RawRequest => modernRequest(call(1, 'echo', { text: 'hi' }), TOKEN);

  it('lets a good request pass', async () => {
    expect(await sendRaw(listener.url, good())).toMatchObject({
      status: 200,
      json: { id: 1, result: { structuredContent: { text: 'hi', principal: 'alice', client: 'modern 7' } } },
    });
  });

  it.each<[string, number]>([
    ['localhost', 200],
    ['LOCALHOST', 200],
    ['127.0.0.1', 200],
    ['[::1]', 200],
    ['evil.example', 403],
    ['localhost.evil.example', 403],
    ['127.0.0.1.nip.io', 403],
    ['user@localhost', 403],
    ['localhost#', 403],
    ['[::1', 403],
    ['', 403],
  ])('takes the host %j as it should', async (host, status) => {
    const { headers, body } = good();
    const answer = await sendRaw(listener.url, {
      headers: { ...headers, host: `${host}:${listener.port}` },
      body,
    });
    expect(answer.status).toBe(status);
  });

  it('refuses a loopback host with another port, and none', async () => {
    for (const host of [`localhost:${listener.port + 1}`, 'localhost']) {
      const answer = await sendRaw(listener.url, { ...good(), headers: { ...good().headers, host } });
      expect(answer).toMatchObject({
        status: 403,
        json: { jsonrpc: '2.0', id: null, error: { code: -32_000 } },
      });
    }
  });

  it.each<[string, number]>([
    ['http://localhost:5173', 200],
    ['http://127.0.0.1:1', 200],
    ['https://[::1]', 200],
    ['http://evil.example', 403],
    ['http://localhost.evil.example', 403],
    ['null', 403],
    ['file://', 403],
    ['vscode-webview://localhost', 403],
    ['', 403],
    ['http://', 403],
  ])('takes the origin %j as it should', async (origin, status) => {
    const { headers, body } = good();
    expect((await sendRaw(listener.url, { headers: { ...headers, origin }, body })).status).toBe(status);
  });

  it.each<[string, string | undefined, string, string]>([
    ['none', undefined, 'AUTH_001', 'Bearer realm="mcp-shell-server"'],
    ['another scheme', 'Basic abc', 'AUTH_001', 'Bearer realm="mcp-shell-server"'],
    ['an empty one', 'Bearer ', 'AUTH_001', 'Bearer realm="mcp-shell-server"'],
    ['a wrong one', 'Bearer nope', 'AUTH_002', 'Bearer realm="mcp-shell-server", error="invalid_token"'],
    [
      'half of it',
      `Bearer ${TOKEN.slice(0, -1)}`,
      'AUTH_002',
      'Bearer realm="mcp-shell-server", error="invalid_token"',
    ],
    ['two in one', `Bearer ${TOKEN} ${TOKEN}`, 'AUTH_001', 'Bearer realm="mcp-shell-server"'],
  ])('answers %s as a token with 401', async (_, value, code, challenge) => {
    const { headers, body } = good();
    const answer = await sendRaw(listener.url, {
      headers: { ...headers, authorization: value },
      body,
    });
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toBe(challenge);
    expect(answer.json).toEqual({
      error: {
        code,
        message: expect.any(String),
        category: 'AUTH',
        details: { hint: expect.any(String) },
        timestamp: expect.stringMatching(/Z$/),
        request_id: expect.stringMatching(/^req_/),
      },
    });
  });

  it('takes the scheme of a token in any case', async () => {
    const { headers, body } = good();
    const answer = await sendRaw(listener.url, {
      headers: { ...headers, authorization: `bEARER  ${TOKEN}` },
      body,
    });
    expect(answer.status).toBe(200);
  });

  it.each<[string, RawRequest, number]>([
    ['another path', { path: '/', method: 'GET' }, 404],
    ['a path below', { path: '/mcp/x', method: 'GET' }, 404],
    ['a whole URL', { path: 'http://evil.example/mcp', method: 'GET' }, 404],
    ['PUT', { method: 'PUT', headers: { authorization }, body: {} }, 405],
    ['OPTIONS', { method: 'OPTIONS', headers: { authorization } }, 405],
    ['text', { headers: { authorization, 'content-type': 'text/plain' }, body: '{}' }, 415],
    [
      'a form',
      { headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' }, body: 'a=b' },
      415,
    ],
    ['no type', { headers: { authorization, 'content-type': '' }, body: '{}' }, 415],
    ['gzip', { headers: { authorization, 'content-encoding': 'gzip' }, body: '{}' }, 415],
    ['no JSON', { headers: { authorization }, body: '{' }, 400],
    ['nothing', { headers: { authorization }, body: '' }, 400],
    ['no UTF-8', { headers: { authorization }, body: Buffer.from([0x22, 0xff, 0x22]) }, 400],
    ['too deep', { headers: { authorization }, body: '['.repeat(100_000) }, 400],
    ['no message', { headers: { authorization }, body: { hello: 1 } }, 400],
    ['an empty batch', { headers: { authorization }, body: [] }, 400],
    ['no session', { headers: { authorization }, body: request(1, 'tools/list') }, 400],
    [
      'an unknown session',
      { headers: { authorization, 'mcp-session-id': 'x' }, body: request(1, 'tools/list') },
      404,
    ],
    ['a stream without a session', { method: 'GET', headers: { authorization } }, 405],
    ['the end of no session', { method: 'DELETE', headers: { authorization } }, 405],
    [
      'the end of an unknown session',
      { method: 'DELETE', headers: { authorization, 'mcp-session-id': 'x' } },
      404,
    ],
    [
      'a handshake that accepts no stream',
      { headers: { authorization, accept: 'application/json' }, body: initialize },
      406,
    ],
  ])('refuses %s', async (_, options, status) => {
    const answer = await sendRaw(listener.url, options);
    expect(answer.status).toBe(status);
    expect(answer.json).toMatchObject({ jsonrpc: '2.0', id: null, error: { message: expect.any(String) } });
  });

  it('refuses a body that is too large, announced or not, and the sender can read that', async () => {
    const announced = await sendRaw(listener.url, {
      headers: { authorization },
      body: Buffer.alloc(LIMITS.httpBodyBytes + 1, ' '),
    });
    expect(announced.status).toBe(413);
    const chunked = await sendRaw(listener.url, {
      headers: { authorization, 'transfer-encoding': 'chunked' },
      body: Buffer.alloc(LIMITS.httpBodyBytes + 1, ' '),
    });
    expect(chunked.status).toBe(413);
  });

  it('checks the token before it asks for the body', async () => {
    const answer = await new Promise<string>((resolve) => {
      const socket = connectSocket(listener.port, '127.0.0.1');
      socket.once('data', (data) => {
        resolve(data.toString());
        socket.destroy();
      });
      socket.write(
        `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${listener.port}\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n`,
      );
    });
    expect(answer).toMatch(/^HTTP\/1.1 401 /);
  });

  it('answers a client that waits to be asked for the body', async () => {
    const { headers, body } = good();
    const answer = await sendRaw(listener.url, { headers: { ...headers, expect: '100-continue' }, body });
    expect(answer.status).toBe(200);
  });
});

describe('the HTTP listener', () => {
  it('refuses to listen for others without a token', async () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.com', '', '::ffff:127.0.0.1']) {
      await expect(start({ host, tokens: undefined })).rejects.toMatchObject({ code: 'SYSTEM_003' });
    }
  });

  it('lets everybody in as the local principal on loopback without tokens', async () => {
    const listener = await start({ tokens: undefined, host: 'localhost' });
    expect(await sendRaw(listener.url, modernRequest(call(1, 'echo', { text: 'hi' })))).toMatchObject({
      status: 200,
      json: { result: { structuredContent: { principal: 'local' } } },
    });
    await listener.close();
  });

  it('takes the host and origin of its public URL', async () => {
    const listener = await start({ publicUrl: 'https://shell.example.com' });
    expect(listener.url).toBe('https://shell.example.com/mcp');
    const url = `http://127.0.0.1:${listener.port}/mcp`;
    const send = async (host: string, origin?: string): Promise<number> => {
      const { headers, body } = modernRequest(call(1, 'echo', { text: 'hi' }), TOKEN);
      const named = { ...headers, host, ...(origin !== undefined && { origin }) };
      return (await sendRaw(url, { headers: named, body })).status;
    };
    expect(await send('shell.example.com', 'https://shell.example.com')).toBe(200);
    expect(await send('shell.example.com:443')).toBe(200);
    expect(await send('shell.example.com:8080')).toBe(403);
    expect(await send('shell.example.com', 'https://other.example.com')).toBe(403);
    await listener.close();
    await expect(start({ publicUrl: 'shell.example.com' })).rejects.toMatchObject({ code: 'SYSTEM_003' });
  });

  it('takes any name for it where others can reach it, and says so about what is none', async () => {
    const listener = await start({ host: '0.0.0.0' });
    const url = `http://127.0.0.1:${listener.port}/mcp`;
    const { headers, body } = modernRequest(call(1, 'echo', { text: 'hi' }), TOKEN);
    for (const host of ['example.com', 'a_b:8080', '[2001:db8::1]:80', '10.0.0.7']) {
      expect((await sendRaw(url, { headers: { ...headers, host }, body })).status).toBe(200);
    }
    for (const host of ['a b', 'a/b', 'a@b', 'x:99999', '[::1', '[:::]', '%41', ':80']) {
      for (const sent of [body, initialize]) {
        expect(await sendRaw(url, { headers: { ...headers, host }, body: sent })).toMatchObject({
          status: 400,
          json: { error: { message: `The Host ${JSON.stringify(host)} is not a valid name or address` } },
        });
      }
    }
    await listener.close();
  });

  it('says what is wrong with an address', async () => {
    const listener = await start();
    await expect(start({ port: listener.port })).rejects.toMatchObject({
      code: 'SYSTEM_003',
      message: `The port ${listener.port} on 127.0.0.1 is in use.`,
    });
    await listener.close();
  });

  it('cancels what is under way when it closes, at once and with open connections', async () => {
    const listener = await start();
    const socket = connectSocket(listener.port, '127.0.0.1');
    const answer = sendRaw(
      listener.url,
      modernRequest(call(1, 'wait', { label: 'closing', ms: 60_000 }), TOKEN),
    );
    answer.catch(() => undefined);
    await fixtures.until('started closing');
    await Promise.all([listener.close(), listener.close()]);
    await fixtures.until('aborted closing');
    await expect(sendRaw(listener.url)).rejects.toThrow(/ECONNREFUSED/);
    socket.destroy();
    await sleep(10);
  });
});
