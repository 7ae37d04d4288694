import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ShellServerError } from '../base/errors.ts';
import { type Answerer, type Channel, createChannel } from './channel.ts';

let directory: string;
let server: Server;
let raw: Promise<Socket>;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'channel-'));
});
afterEach(async () => {
  (await raw).destroy();
  await new Promise((resolve) => server.close(resolve));
  rmSync(directory, { recursive: true, force: true });
});

const nothing: Answerer = async () => ({});

/** Two ends of a socket; the first is a channel, the second what `raw` is. */
async function connect(answer: Answerer): Promise<Channel> {
  const path = join(directory, 's');
  const { promise, resolve } = withResolvers<Socket>();
  raw = promise;
  server = createServer(resolve);
  await new Promise<void>((listening) => server.listen(path, listening));
  const socket = createConnection(path);
  await promise;
  return createChannel(socket, answer);
}

function withResolvers<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => undefined;
  const promise = new Promise<Value>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

test('questions and answers find each other, in whatever order they come', async () => {
  const one = await connect(nothing);
  const waits = withResolvers<void>();
  createChannel(await raw, async (method, params) => {
    if (method === 'slow') await waits.promise;
    return { method, params };
  });
  const slow = one.ask('slow', 'é\n😀');
  expect(await one.ask('fast', 'x'.repeat(300_000))).toEqual({ method: 'fast', params: 'x'.repeat(300_000) });
  waits.resolve();
  expect(await slow).toEqual({ method: 'slow', params: 'é\n😀' });
});

test('an error keeps its code, sentence, hint and details; another keeps its text', async () => {
  const one = await connect(nothing);
  createChannel(await raw, async (method) => {
    if (method === 'bug') throw new Error('oops');
    throw new ShellServerError('RESOURCE_002', 'Not there.', { hint: 'Look.', details: { id: 7 } });
  });
  await expect(one.ask('x', {})).rejects.toMatchObject({
    code: 'RESOURCE_002',
    message: 'Not there.',
    hint: 'Look.',
    details: { id: 7 },
  });
  await expect(one.ask('bug', {})).rejects.toMatchObject({ code: 'SYSTEM_001' });
});

test('an answerer that throws at once is an answer too', async () => {
  const one = await connect(nothing);
  createChannel(await raw, () => {
    throw new ShellServerError('SYSTEM_001', 'Unknown.');
  });
  await expect(one.ask('x', {})).rejects.toMatchObject({ message: 'Unknown.' });
});

test('a cancelled question is cancelled at the other side', async () => {
  const one = await connect(nothing);
  const cancelled = withResolvers<void>();
  createChannel(await raw, async (method, _params, { signal }) => {
    if (method === 'other') return 'here';
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    cancelled.resolve();
    return 'late';
  });
  const controller = new AbortController();
  const asked = one.ask('x', {}, { signal: controller.signal });
  controller.abort(new Error('enough'));
  await expect(asked).rejects.toThrow('enough');
  await cancelled.promise;
  // What comes too late is nobody's.
  expect(await one.ask('other', {})).toBe('here');
  const never = AbortSignal.abort(new Error('before'));
  await expect(one.ask('x', {}, { signal: never })).rejects.toThrow('before');
});

test('what is noted comes before all that is said later', async () => {
  const one = await connect(nothing);
  const other = createChannel(await raw, async (method, _params, { note }) => {
    if (method === 'quiet') return 'quiet';
    note();
    other.tell({ event: 'after' });
    return 'answered';
  });
  const heard: unknown[] = [];
  one.onEvent((event) => heard.push(event));
  const onNoted = (): void => void heard.push('noted');
  heard.push(await one.ask('x', {}, { onNoted }), await one.ask('quiet', {}, { onNoted }));
  expect(heard).toEqual(['noted', { event: 'after' }, 'answered', 'quiet']);
});

test('when the other side is gone, waiting requests fail, and running ones are cancelled', async () => {
  const arrived = withResolvers<void>();
  const cancelled = withResolvers<void>();
  const one = await connect((_method, _params, { signal }) => {
    signal.addEventListener('abort', () => cancelled.resolve());
    arrived.resolve();
    return new Promise(() => undefined);
  });
  const closed = withResolvers<void>();
  one.onClose(() => closed.resolve());
  const other = createChannel(await raw, () => new Promise(() => undefined));
  const asked = Promise.allSettled([one.ask('x', {}), other.ask('x', {})]);
  await arrived.promise;
  (await raw).destroy();
  const told = { status: 'rejected', reason: { code: 'SYSTEM_001' } };
  expect(await asked).toMatchObject([told, told]);
  await cancelled.promise;
  await closed.promise;
  await expect(one.ask('x', {})).rejects.toMatchObject({ code: 'SYSTEM_001' });
  await one.end();
});

test.each(['no json\n', '{"half":\n', 'null\n', '7\n', '\n', '{"id":1}\n{"cancel":9}\nx\n'])(
  'garbage ends the connection, and nothing else: %j',
  async (text) => {
    const one = await connect(nothing);
    const closed = withResolvers<void>();
    one.onClose(() => closed.resolve());
    (await raw).write(text);
    await closed.promise;
    await expect(one.ask('x', {})).rejects.toMatchObject({ code: 'SYSTEM_001' });
  },
);

test('events come in order, in whatever pieces', async () => {
  const one = await connect(nothing);
  const heard: unknown[] = [];
  const all = withResolvers<void>();
  one.onEvent((event) => {
    heard.push(event);
    if (heard.length === 3) all.resolve();
  });
  const socket = await raw;
  const bytes = Buffer.from('{"event":"a"}\n{"event":"é"}\n{"event":"c","x":1}\n');
  for (const byte of bytes) {
    socket.write(Buffer.of(byte));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await all.promise;
  expect(heard).toEqual([{ event: 'a' }, { event: 'é' }, { event: 'c', x: 1 }]);
});
