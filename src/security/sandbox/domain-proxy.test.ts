import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { createServer as createHttpServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLog, silentLog } from '../../base/log.ts';
import { createDomainProxy, type DomainProxyOptions, type RefusedTarget } from './domain-proxy.ts';

const PUBLIC = '93.184.216.34';

let directory = '';
let cleanUps: (() => unknown)[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(realpathSync(tmpdir()), 'proxy-'));
  cleanUps = [];
});
afterEach(async () => {
  for (const cleanUp of cleanUps.toReversed()) await cleanUp();
  // Fails where something is left in it.
  rmdirSync(directory);
});

describe('the socket', () => {
  test('is its owner’s alone, and there until it is disposed of', async () => {
    const proxy = createDomainProxy({ directory: join(directory, 'new'), domains: [], log: silentLog });
    const [path, again] = await Promise.all([proxy.open(), proxy.open()]);
    expect(again).toBe(path);
    expect(statSync(path).isSocket()).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
    await Promise.all([proxy.dispose(), proxy.dispose()]);
    expect(existsSync(dirname(path))).toBe(false);
    await expect(proxy.open()).rejects.toMatchObject({ code: 'SYSTEM_002' });
    rmSync(join(directory, 'new'), { recursive: true });
  });

  test('is not made by a proxy that nobody opened', async () => {
    await createDomainProxy({ directory, domains: ['example.com'], log: silentLog }).dispose();
    expect(readdirSync(directory)).toEqual([]);
  });

  test('that would have too long a path is explained', async () => {
    const proxy = createDomainProxy({
      directory: join(directory, 'x'.repeat(100)),
      domains: [],
      log: silentLog,
    });
    await expect(proxy.open()).rejects.toMatchObject({
      code: 'SYSTEM_003',
      message: expect.stringMatching(/too long for the domain proxy's socket/),
    });
    await proxy.dispose();
  });

  test('is not made for a list with a mistake', () => {
    const create = () => createDomainProxy({ directory, domains: ['https://example.com'], log: silentLog });
    expect(create).toThrow(/^security\.allowed_domains: "https:\/\/example\.com" is not a domain/);
  });
});

describe('a tunnel', () => {
  test('carries bytes both ways, the first of them together with the request', async () => {
    const port = await startEcho();
    const { path } = await openProxy({ domains: [`127.0.0.1:${port}`] });
    const client = dial(path);
    client.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: elsewhere\r\n\r\nfirst `);
    expect(await readUntil(client, 'first ')).toBe('HTTP/1.1 200 Connection established\r\n\r\nfirst ');
    client.write('second');
    expect(await readUntil(client, 'second')).toBe('second');
  });

  test('stays open in one direction when the other has ended', async () => {
    // Answers only when it knows that all is there, as with `nc -N`.
    const port = await startTcp((socket) => {
      let text = '';
      socket.on('data', (chunk) => (text += chunk));
      socket.on('end', () => setTimeout(() => socket.end(`got ${text}`), 50));
    });
    const { path } = await openProxy({ domains: [`127.0.0.1:${port}`] });
    const client = await tunnelTo(path, `127.0.0.1:${port}`);
    client.end('all of it');
    expect(await readAll(client)).toBe('got all of it');
  });

  test('is one of fifty at once', async () => {
    const port = await startEcho();
    const { path } = await openProxy({ domains: [`127.0.0.1:${port}`] });
    const payloads = Array.from({ length: 50 }, () => randomBytes(200_000));
    const answers = await Promise.all(
      payloads.map(async (payload) => {
        const client = await tunnelTo(path, `127.0.0.1:${port}`);
        client.end(payload);
        return readBytes(client);
      }),
    );
    expect(answers.map(digest)).toEqual(payloads.map(digest));
  });

  test('ends with its target, and its target with the client', async () => {
    const targets: Socket[] = [];
    const port = await startTcp((socket) => void targets.push(socket));
    const { path } = await openProxy({ domains: [`127.0.0.1:${port}`] });
    const [one, two] = [await tunnelTo(path, `127.0.0.1:${port}`), await tunnelTo(path, `127.0.0.1:${port}`)];
    one.destroy();
    await closed(targets[0]);
    expect(two.destroyed).toBe(false);
    targets[1]?.resetAndDestroy();
    await closed(two);
  });

  test('does not lose what was sent just before the end', async () => {
    // In small pieces to a client that does not read yet: for one of the sizes the end comes while the kernel's buffer
    // is full and the last pieces are in the proxy's hands.
    const pieces = Array.from({ length: 40 }, (_, index) => 20 + 2 * index);
    const sendPieces = async (socket: Socket, count: number): Promise<void> => {
      for (let sent = 0; sent < count; sent += 1) {
        socket.write(Buffer.alloc(4096));
        await sleep(1);
      }
      socket.end();
    };
    const port = await startTcp((socket) => {
      socket.setNoDelay(true);
      socket.once('data', (count) => void sendPieces(socket, Number(count)));
    });
    const { path } = await openProxy({ domains: [`127.0.0.1:${port}`] });
    const clients = await Promise.all(
      pieces.map(async (count) => {
        const client = await tunnelTo(path, `127.0.0.1:${port}`);
        client.end(String(count));
        return client;
      }),
    );
    await sleep(1000);
    const received = await Promise.all(clients.map(readBytes));
    expect(received.map((bytes) => bytes.length / 4096)).toEqual(pieces);
  });

  test('on which nothing happens is closed', async () => {
    const targets: Socket[] = [];
    const port = await startTcp((socket) => void targets.push(socket));
    const { path } = await openProxy({ domains: [`127.0.0.1:${port}`], limits: { idleMs: 300 } });
    const client = await tunnelTo(path, `127.0.0.1:${port}`);
    await expect(Promise.all([closed(client), closed(targets[0])])).resolves.toHaveLength(2);
  });

  test('holds the sender back when the reader is slow', async () => {
    let sent = 0;
    const port = await startTcp((socket) => {
      const more = (): void => {
        sent += 65_536;
        if (!socket.destroyed) socket.write(Buffer.alloc(65_536), () => setImmediate(more));
      };
      more();
    });
    const { path } = await openProxy({ domains: [`127.0.0.1:${port}`] });
    const client = await tunnelTo(path, `127.0.0.1:${port}`);
    client.pause();
    await sleep(500);
    const after = sent;
    await sleep(300);
    expect(sent).toBe(after);
    client.destroy();
  });
});

describe('a request in absolute form', () => {
  test('reaches its target without what was meant for the proxy', async () => {
    const seen: unknown[] = [];
    const port = await startHttp((request, body) => {
      seen.push({ method: request.method, url: request.url, headers: request.rawHeaders, body });
      return { headers: ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'X-Hop', '1', 'Connection', 'x-hop'] };
    });
    const { path } = await openProxy({ domains: [`127.0.0.1:${port}`] });
    const answer = await exchange(
      path,
      `GET http://127.0.0.1:${port}/a//b/../c?q=1&r=%20 HTTP/1.1\r\nHost: internal.example\r\nhost: second\r\n` +
        'Proxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nX-One: 1\r\n' +
        'X-Secret: s\r\nConnection: close, X-Secret, Content-Length\r\nAccept: */*\r\n\r\n',
    );
    expect(seen).toEqual([
      {
        method: 'GET',
        url: '/a//b/../c?q=1&r=%20',
        headers: ['Host', `127.0.0.1:${port}`, 'X-One', '1', 'Accept', '*/*', 'Connection', 'close'],
        body: '',
      },
    ]);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n/);
    expect(answer).not.toMatch(/x-hop/i);
    expect(answer).toMatch(/\r\n\r\n.*hello/s);
  });

  test.each([
    ['content-length', 'Content-Length: 4\r\n\r\nbody', 'body', '4'],
    ['chunks', 'Transfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n', 'body', undefined],
    ['no body', '\r\n', '', '0'],
    ['a length that it disowns', 'Connection: content-length\r\nContent-Length: 4\r\n\r\nbody', 'body', '4'],
  ])('passes a body on with %s', async (_, rest, body, length) => {
    const seen: unknown[] = [];
    const port = await startHttp((request, text) => {
      seen.push([request.method, text, request.headers['content-length']]);
      return {};
    });
    const { path } = await openProxy({ domains: [`127.0.0.1:${port}`] });
    await exchange(path, `POST http://127.0.0.1:${port} HTTP/1.1\r\nConnection: close\r\n${rest}`);
    expect(seen).toEqual([['POST', body, length]]);
  });

  test('may have a large body, and a large answer', async () => {
    const payload = randomBytes(8_000_000);
    const port = await startHttpEcho();
    const { path } = await openProxy({ domains: [`127.0.0.1:${port}`] });
    const { status, body } = await send(path, 'PUT', `http://127.0.0.1:${port}/x`, payload);
    expect([status, digest(body)]).toEqual([200, digest(payload)]);
  });

  test('is judged by itself on a connection that served another', async () => {
    const port = await startHttp(() => ({}));
    const { path } = await openProxy({ domains: [`127.0.0.1:${port}`] });
    const answer = await exchange(
      path,
      `GET http://127.0.0.1:${port}/ HTTP/1.1\r\n\r\nGET http://evil.example/ HTTP/1.1\r\nConnection: close\r\n\r\n`,
    );
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 403']);
  });

  test('whose client asks first is answered by the target, or refused', async () => {
    const port = await startHttpEcho();
    const { path } = await openProxy({ domains: [`127.0.0.1:${port}`] });
    const ask = (url: string): string =>
      `POST ${url} HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\nConnection: close\r\n\r\n`;
    const client = dial(path);
    client.write(ask(`http://127.0.0.1:${port}/`));
    expect(await readUntil(client, '\r\n\r\n')).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    client.write('body');
    expect(await readAll(client)).toMatch(/^HTTP\/1\.1 200 OK.*body/s);
    expect(await exchange(path, ask('http://evil.example/'))).toMatch(
      /^HTTP\/1\.1 403 .*connection: close/is,
    );
  });

  test('is refused while its body is still coming, and the answer can be read', async () => {
    const { path } = await openProxy({ domains: [] });
    const { status } = await send(path, 'POST', 'http://evil.example/', randomBytes(5_000_000));
    expect(status).toBe(403);
  });

  test('whose target answers before it has the body gets that answer', async () => {
    const port = await startTcp((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end('HTTP/1.1 413 Too Much\r\nContent-Length: 2\r\n\r\nno'));
    });
    const { path } = await openProxy({ domains: [`127.0.0.1:${port}`] });
    const { status, body } = await send(path, 'POST', `http://127.0.0.1:${port}/`, randomBytes(5_000_000));
    expect([status, String(body)]).toEqual([413, 'no']);
    const head = `POST http://127.0.0.1:${port}/ HTTP/1.1\r\nContent-Length: 5000000\r\n\r\n`;
    const next = 'GET http://evil.example/ HTTP/1.1\r\nConnection: close\r\n\r\n';
    const answers = await exchange(path, `${head}${'x'.repeat(5_000_000)}${next}`);
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 403']);
  });

  test.each([
    ['says nothing', '', /^HTTP\/1\.1 502 .*127\.0\.0\.1 gave no answer/s],
    ['speaks no HTTP', 'SSH-2.0-x\r\n', /^HTTP\/1\.1 502 .*127\.0\.0\.1 gave no answer/s],
    ['has a status of its own', 'HTTP/1.1 099 No\r\n\r\n', /^HTTP\/1\.1 502 /],
    [
      'switches protocols unasked',
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
      /^HTTP\/1\.1 502 /,
    ],
  ])('to a target that %s is told so', async (_, bytes, expected) => {
    const port = await startTcp((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(bytes));
    });
    const { path } = await openProxy({ domains: [`127.0.0.1:${port}`] });
    const head = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nConnection: close\r\n\r\n`;
    expect(await exchange(path, head)).toMatch(expected);
  });

  test('whose answer is cut short is cut short', async () => {
    const port = await startTcp((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf')),
    );
    const { path } = await openProxy({ domains: [`127.0.0.1:${port}`] });
    await expect(send(path, 'GET', `http://127.0.0.1:${port}/`)).rejects.toThrow(
      /aborted|ECONNRESET|hang up/,
    );
  });

  test('ends at the target when the client is gone', async () => {
    const targets: Socket[] = [];
    const port = await startTcp((socket) => void targets.push(socket.resume()));
    const { path } = await openProxy({ domains: [`127.0.0.1:${port}`] });
    const client = dial(path);
    client.write(`GET http://127.0.0.1:${port}/ HTTP/1.1\r\n\r\n`);
    while (targets.length === 0) await sleep(5);
    client.destroy();
    await closed(targets[0]);
    expect(targets).toHaveLength(1);
  });
});

describe('a host', () => {
  test.each([
    ['CONNECT evil.example:443 HTTP/1.1', 'evil.example', 443],
    ['CONNECT 169.254.169.254:80 HTTP/1.1', '169.254.169.254', 80],
    ['CONNECT evil-example.com:443 HTTP/1.1', 'evil-example.com', 443],
    ['GET http://evil.example/?token=secret HTTP/1.1\r\nConnection: close', 'evil.example', 80],
    ['GET http://evil.example:8080 HTTP/1.1\r\nHost: example.com\r\nConnection: close', 'evil.example', 8080],
    ['GET HTTP://EVIL.example./ HTTP/1.0', 'evil.example', 80],
  ])('that is not on the list is neither resolved nor reached: %s', async (head, host, port) => {
    const lines: string[] = [];
    const log = createLog({ verbose: true, write: (line) => void lines.push(line) });
    const world = await openProxy({ domains: ['example.com'], log });
    const reason = `${host}:${port} is not in security.allowed_domains.`;
    const answer = await exchange(world.path, `${head}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    expect(answer.endsWith(`\r\n\r\n${reason}\n`)).toBe(true);
    expect(world.refused).toEqual([{ host, port, reason }]);
    expect([world.resolved, world.dialled]).toEqual([[], []]);
    expect(lines.join('')).toContain(host);
    expect(lines.join('')).not.toMatch(/secret|token/);
  });

  test('is resolved once, and what was checked is what is reached', async () => {
    const port = await startEcho();
    const answers = [[PUBLIC], ['127.0.0.1']];
    const { path, resolved, dialled, refused } = await openProxy({
      domains: ['rebinding.example'],
      resolve: async () => answers.shift() ?? [],
      port,
    });
    const client = await tunnelTo(path, 'REBINDING.example.:443');
    client.end('hello');
    expect(await readAll(client)).toBe('hello');
    expect([resolved, dialled]).toEqual([['rebinding.example'], [`${PUBLIC}:443`]]);

    const second = await exchange(path, 'CONNECT rebinding.example:443 HTTP/1.1\r\n\r\n');
    expect(second).toMatch(/403 .*rebinding\.example resolves to 127\.0\.0\.1, which is a loopback address/s);
    expect(dialled).toEqual([`${PUBLIC}:443`]);
    expect(refused).toHaveLength(1);
  });

  test('may have a private address that the operator named', async () => {
    const port = await startEcho();
    const { path, dialled } = await openProxy({
      domains: ['git.corp.example', '10.0.0.5'],
      resolve: async () => ['10.0.0.9', '10.0.0.5'],
      port,
    });
    (await tunnelTo(path, 'git.corp.example:443')).destroy();
    expect(dialled).toEqual(['10.0.0.5:443']);
  });

  test('beyond ASCII is asked for in its ASCII form', async () => {
    const port = await startHttp(() => ({}));
    const { path, resolved } = await openProxy({ domains: ['bücher.example'], port });
    const url = 'http://XN--BCHER-KVA.example/';
    expect(await exchange(path, `GET ${url} HTTP/1.1\r\nConnection: close\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 200 /,
    );
    expect(resolved).toEqual(['xn--bcher-kva.example']);
  });

  test('is resolved by the system where nothing else is said', async () => {
    const port = await startEcho();
    const proxy = createDomainProxy({ directory, domains: [`localhost:${port}`], log: silentLog });
    cleanUps.push(() => proxy.dispose());
    const client = await tunnelTo(await proxy.open(), `localhost:${port}`);
    client.end('hello');
    expect(await readAll(client)).toBe('hello');
  });

  test('is reached at its next address where one does not answer', async () => {
    const port = await startEcho();
    const { path, dialled } = await openProxy({
      domains: ['example.com'],
      resolve: async () => ['2606:4700::1', '1.1.1.1', PUBLIC],
      port,
      unreachable: ['2606:4700::1', '1.1.1.1'],
    });
    (await tunnelTo(path, 'example.com:443')).destroy();
    expect(dialled).toEqual(['2606:4700::1:443', '1.1.1.1:443', `${PUBLIC}:443`]);
  });

  test.each([
    [
      'that is unknown',
      async () => Promise.reject(Object.assign(new Error('x'), { code: 'ENOTFOUND' })),
      'example.com could not be resolved: ENOTFOUND.',
    ],
    ['without an address', async () => [], 'example.com could not be resolved: it has no address.'],
    [
      'that takes too long to resolve',
      async () => sleep(2000, []),
      'example.com could not be resolved: no answer within 300 ms.',
    ],
    [
      'that cannot be reached',
      async () => ['1.1.1.1'],
      'example.com:443 could not be reached: ECONNREFUSED.',
    ],
  ])('%s is a bad gateway', async (_, resolve: () => Promise<string[]>, reason) => {
    const { path, refused } = await openProxy({
      domains: ['example.com'],
      resolve,
      unreachable: ['1.1.1.1'],
      limits: { resolveMs: 300 },
    });
    const answer = await exchange(path, 'CONNECT example.com:443 HTTP/1.1\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n/);
    expect(answer.endsWith(`\r\n\r\n${reason}\n`)).toBe(true);
    expect(refused).toEqual([]);
  });
});

describe('a client that sends', () => {
  test.each([
    ['GET / HTTP/1.1\r\nHost: example.com', 400],
    ['GET //example.com/ HTTP/1.1', 400],
    ['GET http:/example.com/ HTTP/1.1', 400],
    ['GET http:example.com HTTP/1.1', 400],
    ['GET http:/// HTTP/1.1', 400],
    ['GET https://example.com/ HTTP/1.1', 400],
    ['GET ws://example.com/ HTTP/1.1', 400],
    ['GET ftp://example.com/ HTTP/1.1', 400],
    ['GET http://user:password@example.com/ HTTP/1.1', 400],
    ['GET http://example.com@evil.example/ HTTP/1.1', 400],
    ['GET http://example.com\\@evil.example/ HTTP/1.1', 400],
    ['GET http://example.com#@evil.example/ HTTP/1.1', 400],
    ['GET http://example.com:/ HTTP/1.1', 400],
    ['GET http://0x7f.1/ HTTP/1.1', 400],
    ['GET http://exa%6dple.com/ HTTP/1.1', 400],
    ['OPTIONS * HTTP/1.1', 400],
    ['CONNECT example.com HTTP/1.1', 400],
    ['CONNECT http://example.com:443/ HTTP/1.1', 400],
    ['CONNECT example.com:443/path HTTP/1.1', 400],
    ['CONNECT user@example.com:443 HTTP/1.1', 400],
    ['CONNECT 2130706433:80 HTTP/1.1', 400],
    ['CONNECT b\u00fccher.example:443 HTTP/1.1', 400],
    ['GET http://b\u00c3\u00bccher.example/ HTTP/1.1', 400],
    ['GET http://example.com/ HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket', 400],
    ['POST http://example.com/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked', 400],
    ['POST http://example.com/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked', 400],
    ['POST http://example.com/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2', 400],
    ['GET http://example.com/ HTTP/1.1\r\nno header', 400],
    ['GET http://example.com/ HTTP/9.9', 400],
    ['PRI * HTTP/2.0', 400],
    ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['\x05\x01\x00', 400],
    ['\0\0\0\0', 400],
  ])('%j gets %i', async (head, status) => {
    const { path, resolved, refused } = await openProxy({ domains: ['example.com', '*.example.com'] });
    const client = dial(path);
    client.end(Buffer.from(`${head}\r\n\r\n`, 'latin1'));
    expect((await readAll(client)).slice(0, 12)).toBe(`HTTP/1.1 ${status}`);
    expect([resolved, refused]).toEqual([[], []]);
  });

  test('a head without end is cut off', async () => {
    const { path } = await openProxy({ domains: ['example.com'] });
    const answer = await exchange(path, `GET http://example.com/ HTTP/1.1\r\nX: ${'x'.repeat(100_000)}`);
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
  });

  test.each(['', 'GET http://example.com/ HTTP/1.1\r\nX-Slow: '])(
    '%j and then nothing is cut off',
    async (head) => {
      const { path } = await openProxy({ domains: ['example.com'], limits: { headersMs: 300 } });
      const client = dial(path);
      client.write(head);
      const drip = setInterval(() => client.write(head === '' ? '' : 'x'), 50);
      await expect(closed(client)).resolves.toBeUndefined();
      clearInterval(drip);
    },
  );

  test('a request and CONNECT at once does not upset the proxy', async () => {
    const port = await startHttpEcho();
    const { path } = await openProxy({ domains: [`127.0.0.1:${port}`] });
    const get = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\n\r\n`;
    for (const next of [`127.0.0.1:${port}`, 'evil.example:443']) {
      const client = dial(path);
      client.write(`${get}${get}CONNECT ${next} HTTP/1.1\r\n\r\n`);
      await readUntil(client, '\r\n\r\n');
      client.destroy();
    }
    expect((await send(path, 'GET', `http://127.0.0.1:${port}/`)).status).toBe(200);
  });

  test('from too many connections waits for one to end', async () => {
    const port = await startEcho();
    const { path } = await openProxy({ domains: [`127.0.0.1:${port}`], limits: { connections: 3 } });
    const clients = await Promise.all([1, 2, 3].map(() => tunnelTo(path, `127.0.0.1:${port}`)));
    expect(await exchange(path, `CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`)).toBe('');
    clients[0]?.destroy();
    const again = () => tunnelTo(path, `127.0.0.1:${port}`).then(Boolean, () => false);
    await expect.poll(again).toBe(true);
  });

  test('many requests on one connection opens no more than as many to the outside', async () => {
    const targets: Socket[] = [];
    const port = await startTcp((socket) => void targets.push(socket.resume()));
    const { path } = await openProxy({ domains: [`127.0.0.1:${port}`], limits: { connections: 5 } });
    const client = dial(path);
    client.write(`GET http://127.0.0.1:${port}/ HTTP/1.1\r\n\r\n`.repeat(40));
    await expect.poll(() => targets.length).toBe(5);
    await sleep(100);
    expect(targets).toHaveLength(5);
    client.destroy();
    await Promise.all(targets.map(closed));
  });
});

test('dispose cuts whatever is open or under way', async () => {
  const targets: Socket[] = [];
  const port = await startTcp((socket) => void targets.push(socket.resume()));
  let answerLate: (addresses: string[]) => void = () => undefined;
  const { path, proxy, dialled } = await openProxy({
    domains: [`127.0.0.1:${port}`, 'late.example'],
    resolve: () => new Promise((resolve) => (answerLate = resolve)),
  });
  const idle = dial(path);
  const tunnel = await tunnelTo(path, `127.0.0.1:${port}`);
  const waiting = dial(path);
  waiting.write(`GET http://127.0.0.1:${port}/ HTTP/1.1\r\n\r\n`);
  const resolving = dial(path);
  resolving.write('CONNECT late.example:443 HTTP/1.1\r\n\r\n');
  while (targets.length < 2) await sleep(5);
  await proxy.dispose();
  answerLate([PUBLIC]);
  await Promise.all([idle, tunnel, waiting, resolving, ...targets].map(closed));
  expect(existsSync(dirname(path))).toBe(false);
  expect(dialled).toEqual([`127.0.0.1:${port}`, `127.0.0.1:${port}`]);
});

interface World {
  readonly proxy: ReturnType<typeof createDomainProxy>;
  readonly path: string;
  readonly resolved: string[];
  readonly dialled: string[];
  readonly refused: RefusedTarget[];
}

type WorldOptions = Partial<DomainProxyOptions> & {
  /** Where every connection goes instead, on loopback. */
  readonly port?: number;
  readonly unreachable?: readonly string[];
};

async function openProxy(options: WorldOptions): Promise<World> {
  const [resolved, dialled, refused]: [string[], string[], RefusedTarget[]] = [[], [], []];
  const proxy = createDomainProxy({
    directory,
    domains: options.domains ?? [],
    log: options.log ?? silentLog,
    limits: options.limits ?? {},
    resolve: (host) => {
      resolved.push(host);
      return options.resolve?.(host) ?? Promise.resolve([PUBLIC]);
    },
    connect: (address, port) => {
      dialled.push(`${address}:${port}`);
      // Nothing listens on port 1.
      const real = options.unreachable?.includes(address) === true ? 1 : (options.port ?? port);
      return connect({ host: '127.0.0.1', port: real, allowHalfOpen: true });
    },
    onRefused: (what) => void refused.push(what),
  });
  cleanUps.push(() => proxy.dispose());
  return { proxy, path: await proxy.open(), resolved, dialled, refused };
}

async function listenOn(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  cleanUps.push(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function startTcp(serve: (socket: Socket) => void): Promise<number> {
  return listenOn(createServer({ allowHalfOpen: true }, serve));
}

function startEcho(): Promise<number> {
  return startTcp((socket) => void socket.pipe(socket));
}

function startHttpEcho(): Promise<number> {
  return listenOn(createHttpServer((request, response) => void request.pipe(response)));
}

function startHttp(
  serve: (request: IncomingMessage, body: string) => { headers?: string[] },
): Promise<number> {
  return listenOn(
    createHttpServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => response.writeHead(200, serve(request, body).headers ?? []).end('hello'));
    }),
  );
}

function dial(path: string): Socket {
  const socket = connect({ path, allowHalfOpen: true });
  socket.on('error', () => undefined);
  cleanUps.push(() => socket.destroy());
  return socket;
}

async function tunnelTo(path: string, target: string): Promise<Socket> {
  const client = dial(path);
  client.write(`CONNECT ${target} HTTP/1.1\r\n\r\n`);
  expect(await readUntil(client, '\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 Connection established\r\n\r\n/);
  return client;
}

function readUntil(socket: Socket, end: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const onData = (chunk: Buffer): void => {
      text += chunk.toString('latin1');
      if (!text.includes(end)) return;
      socket.off('data', onData);
      socket.pause();
      resolve(text);
    };
    socket.on('data', onData);
    socket.resume();
    socket.once('close', () => reject(new Error(`closed after ${JSON.stringify(text)}`)));
  });
}

async function readBytes(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => void chunks.push(chunk));
  await closed(socket);
  return Buffer.concat(chunks);
}

async function readAll(socket: Socket): Promise<string> {
  return (await readBytes(socket)).toString('latin1');
}

async function exchange(path: string, text: string): Promise<string> {
  const client = dial(path);
  client.write(text);
  return readAll(client);
}

/** Not `once` of node:events, for which an error comes first. */
function closed(socket: Socket | undefined): Promise<void> {
  if (socket === undefined) throw new Error('There is no such socket');
  return new Promise((resolve) => {
    socket.resume();
    if (socket.readableEnded) socket.end();
    else socket.once('end', () => socket.end());
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });
}

function send(
  path: string,
  method: string,
  url: string,
  body?: Buffer,
): Promise<{ status: number; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ socketPath: path, path: url, method, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => void chunks.push(chunk));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks) }));
      answer.on('error', reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}

function digest(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
