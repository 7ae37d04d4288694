import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import {
  call,
  connectStreams,
  initialize,
  type Message,
  modern,
  request,
  textOf,
} from '../../test/e2e/support/raw-streams.ts';
import { LIMITS } from '../base/limits.ts';
import type { StdioConnection } from './stdio.ts';

const opened: StdioConnection[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((connection) => connection.close()));
});

function connect() {
  const streams = connectStreams();
  opened.push(streams.connection);
  return streams;
}

describe('a stdio connection', () => {
  it('shakes hands, lists and calls', async () => {
    const { say, next } = connect();
    say(initialize, { jsonrpc: '2.0', method: 'notifications/initialized' });
    expect(await next()).toMatchObject([
      {
        id: 0,
        result: {
          protocolVersion: '2025-06-18',
          serverInfo: { name: 'mcp-shell-server', title: 'Shell', version: '0.0.0-test' },
          capabilities: { tools: {} },
          instructions: 'Fixture tools.',
        },
      },
    ]);
    say(request('list', 'tools/list'), call('call', 'echo', { text: 'hi' }));
    const [list, answer] = await next(2);
    expect(list).toMatchObject({ id: 'list', result: { tools: [{ name: 'echo' }, {}, {}, {}] } });
    expect(answer).toMatchObject({
      id: 'call',
      result: { structuredContent: { text: 'hi', client: 'raw 9' } },
    });
  });

  it('serves the stateless revision and knows its client', async () => {
    const { say, next } = connect();
    say(modern(request(1, 'server/discover')), modern(call(2, 'echo', { text: 'hi' })));
    const [discovered, answer] = await next(2);
    expect(discovered).toMatchObject({ id: 1, result: { supportedVersions: ['2026-07-28'] } });
    expect(answer).toMatchObject({
      id: 2,
      result: { resultType: 'complete', structuredContent: { client: 'modern 7', principal: 'local' } },
    });
    say(modern(request(3, 'tools/list')));
    expect(await next()).toMatchObject([{ result: { ttlMs: LIMITS.toolsTtlMs, cacheScope: 'public' } }]);
  });

  it('answers an unknown tool with a protocol error and the nearest name', async () => {
    const { say, next } = connect();
    say(call(1, 'ehco', {}));
    expect(await next()).toEqual([
      {
        jsonrpc: '2.0',
        id: 1,
        error: {
          code: -32602,
          message: 'Unknown tool "ehco". Did you mean "echo"?',
          data: { name: 'ToolNotFound', tool: 'ehco', suggestion: 'echo' },
        },
      },
    ]);
  });

  it.each<[string, string, number, unknown]>([
    ['text', 'hello', -32700, null],
    ['half an object', '{"jsonrpc":"2.0","id":1', -32700, null],
    ['a control character in a string', '{"jsonrpc":"2.0","id":"\u0001","method":"ping"}', -32700, null],
    ['a number', '5', -32600, null],
    ['null', 'null', -32600, null],
    ['an empty object', '{}', -32600, null],
    ['no version', '{"id":1,"method":"ping"}', -32600, 1],
    ['a wrong version', '{"jsonrpc":"1.0","id":"a","method":"ping"}', -32600, 'a'],
    ['a method that is no string', '{"jsonrpc":"2.0","id":1,"method":5}', -32600, 1],
    ['a null id', '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, null],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, null],
    ['a fraction for an id', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, null],
    ['a list for params', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32600, 1],
    ['members nobody knows', '{"jsonrpc":"2.0","id":1,"method":"ping","extra":1}', -32600, 1],
    ['an empty batch', '[]', -32600, null],
    ['brackets without end', '['.repeat(200_000), -32600, null],
    [
      'objects without end',
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'{"a":'.repeat(65)}1${'}'.repeat(66)}`,
      -32600,
      null,
    ],
    ['an unknown method', '{"jsonrpc":"2.0","id":1,"method":"nope"}', -32601, 1],
    [
      'a method of the protocol that is not there',
      '{"jsonrpc":"2.0","id":1,"method":"prompts/list"}',
      -32601,
      1,
    ],
    ['a handshake without parameters', '{"jsonrpc":"2.0","id":1,"method":"initialize"}', -32602, 1],
    [
      'a handshake without a client',
      '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}',
      -32602,
      1,
    ],
    ['a call without a name', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', -32602, 1],
    [
      'arguments that are a list',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":[]}}',
      -32602,
      1,
    ],
  ])('answers %s and goes on', async (_, line, code, id) => {
    const { input, say, next } = connect();
    input.write(`${line}\n`);
    expect(await next()).toMatchObject([{ jsonrpc: '2.0', id, error: { code } }]);
    say(call('after', 'echo', { text: 'still here' }));
    expect(textOf((await next())[0])).toBe('still here');
  });

  it('refuses bytes that are not UTF-8 and goes on', async () => {
    const { input, say, next } = connect();
    input.write(
      Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'), Buffer.from([0xff, 0xfe, 0x0a])]),
    );
    expect(await next()).toMatchObject([
      { id: null, error: { code: -32700, message: expect.stringContaining('UTF-8') } },
    ]);
    say(call(1, 'echo', { text: 'ü€😀' }));
    expect(textOf((await next())[0])).toBe('ü€😀');
  });

  it('refuses a line that is too long without keeping it, and reads the next', async () => {
    const { input, say, next, received } = connect();
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    for (let sent = 0; sent <= LIMITS.stdioLineBytes; sent += chunk.length) {
      if (!input.write(chunk)) await new Promise((resolve) => input.once('drain', resolve));
    }
    expect(await next()).toMatchObject([
      { id: null, error: { code: -32600, message: expect.stringContaining('too large') } },
    ]);
    input.write(chunk);
    input.write('\n');
    say(call(1, 'echo', { text: 'next' }));
    expect(textOf((await next())[0])).toBe('next');
    expect(received).toEqual([]);
  });

  it('puts chunks, CRLF, blank lines and a byte order mark together', async () => {
    const { input, next } = connect();
    const bytes = Buffer.from(`\r\n  \n\uFEFF${JSON.stringify(call(1, 'echo', { text: '😀' }))}\r\n\n`);
    for (const byte of bytes) input.write(Buffer.from([byte]));
    expect(textOf((await next())[0])).toBe('😀');
  });

  it('ignores answers that nobody asked for', async () => {
    const { say, next } = connect();
    say(
      { jsonrpc: '2.0', id: 99, result: {} },
      { jsonrpc: '2.0', error: { code: -32600, message: 'huh' } },
      { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'huh' } },
      call(1, 'echo', { text: 'hi' }),
    );
    expect(await next()).toMatchObject([{ id: 1 }]);
  });

  it('answers a batch as one array, what is wrong in it included', async () => {
    const { say, next, received } = connect();
    say([
      call(1, 'echo', { text: 'a' }),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      5,
      call(2, 'wait', { label: 'b', ms: 30 }),
    ]);
    const [batch] = await next();
    expect(batch).toHaveLength(3);
    expect(batch).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: 1 }),
        expect.objectContaining({ id: 2 }),
        expect.objectContaining({ id: null, error: expect.objectContaining({ code: -32600 }) }),
      ]),
    );
    say([{ jsonrpc: '2.0', method: 'notifications/initialized' }]);
    say(Array.from({ length: LIMITS.batchMessages + 1 }, (_, id) => request(id, 'ping')));
    expect(await next()).toMatchObject([{ id: null, error: { code: -32600 } }]);
    expect(received).toEqual([]);
  });

  it('answers the rest of a batch when one of it is cancelled', async () => {
    const { say, next, fixtures } = connect();
    say([call(1, 'wait', { label: 'a', ms: 60_000 }), call(2, 'echo', { text: 'b' })]);
    await fixtures.until('started a');
    say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await fixtures.until('aborted a');
    expect(await next()).toMatchObject([[{ id: 2 }]]);
  });

  it('refuses an id that is in use', async () => {
    const { say, next, fixtures } = connect();
    say(call(1, 'wait', { label: 'a', ms: 200 }));
    await fixtures.until('started a');
    say(call(1, 'echo', { text: 'b' }), call('1', 'echo', { text: 'another id' }));
    const [refused, other, first] = await next(3);
    expect(refused).toMatchObject({ id: 1, error: { code: -32600 } });
    expect(other).toMatchObject({ id: '1', result: {} });
    expect(first).toMatchObject({ id: 1, result: { structuredContent: { waited: 200 } } });
  });

  it.each(['legacy', 'modern'])('cancels a call in the %s era and answers it no more', async (era) => {
    const { say, next, fixtures, received } = connect();
    const waiting = call(7, 'wait', { label: 'a', ms: 60_000 });
    say(era === 'modern' ? modern(waiting) : waiting);
    await fixtures.until('started a');
    say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7, reason: 'enough' } });
    await fixtures.until('aborted a');
    const again = call(7, 'echo', { text: 'the id is free again' });
    say(era === 'modern' ? modern(again) : again);
    expect(textOf((await next())[0])).toBe('the id is free again');
    expect(received).toEqual([]);
  });

  it('sends progress before the answer, only to who asked, and never after', async () => {
    const { say, next, received } = connect();
    say(call(1, 'count', { to: 3 }));
    expect(await next()).toMatchObject([{ id: 1, result: { structuredContent: { reported: false } } }]);
    const asked = call(2, 'count', { to: 1000 });
    say({ ...asked, params: { ...(asked['params'] as Message), _meta: { progressToken: 'tok' } } });
    const [first, second, answer] = await next(3);
    expect(first).toMatchObject({
      method: 'notifications/progress',
      params: { progressToken: 'tok', progress: 1, message: '1\n' },
    });
    expect(second).toMatchObject({ params: { progress: 2, message: expect.stringMatching(/1000\n$/) } });
    expect(answer).toMatchObject({ id: 2, result: {} });
    await sleep(60);
    expect(received).toEqual([]);
  });
});
