import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { randomText } from '../../src/base/ids.ts';
import { hasEnvironmentEntry, listProcesses } from '../../src/executions/process-table.ts';
import { createPlace, type Place } from './support/product.ts';
import { type RawProcess, startRaw } from './support/raw-process.ts';

let place: Place;
beforeEach(() => {
  place = createPlace();
});
afterEach(() => place.remove());

/** Inside the sandbox a process has another number, so that it is found by a variable of its environment. */
const alive = (mark: string): number[] =>
  listProcesses()
    .filter(({ pid, isZombie }) => !isZombie && hasEnvironmentEntry(pid, `MARK=${mark}`))
    .map(({ pid }) => pid);

/** A server with work under way that does not want to end, and detached work that must go on. */
async function startBusy(mark: string): Promise<RawProcess> {
  const server = startRaw(place.command());
  const call = (id: number, args: object) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'shell_execute', arguments: args },
  });
  const initialize = {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'busy', version: '1' } },
  };
  server.say(initialize, { jsonrpc: '2.0', method: 'notifications/initialized' });
  await server.next();
  const stubborn = `trap '' TERM HUP INT; echo $$ > NAME; (setsid sh -c 'trap "" TERM; echo $$ > NAME-deep; while :; do sleep 0.2; done' &) ; while :; do sleep 0.2; done`;
  server.say(
    call(1, {
      command: stubborn.replaceAll('NAME', 'front'),
      execution_mode: 'foreground',
      timeout_seconds: 600,
      environment_variables: { MARK: mark },
    }),
    call(2, {
      command: stubborn.replaceAll('NAME', 'back'),
      execution_mode: 'background',
      environment_variables: { MARK: mark },
    }),
    call(3, {
      command: 'echo $$ > detached; exec sleep 60',
      execution_mode: 'detached',
      environment_variables: { MARK: `${mark}-detached` },
    }),
  );
  // A caller that leaves before it was answered has cancelled its call, and then nothing may go on.
  const answered = [await server.next(), await server.next()];
  expect(answered).toMatchObject([{ result: {} }, { result: {} }]);
  const names = ['front', 'front-deep', 'back', 'back-deep', 'detached'];
  const pidOf = (name: string): number => {
    const path = join(place.work, name);
    return existsSync(path) ? Number(readFileSync(path, 'utf8')) : 0;
  };
  await expect.poll(() => names.every((name) => pidOf(name) > 0)).toBe(true);
  return server;
}

describe('everything but detached work ends within 5 s', () => {
  const ways: { name: string; leave(server: RawProcess): void }[] = [
    { name: 'SIGTERM', leave: (server) => void server.child.kill('SIGTERM') },
    { name: 'SIGINT', leave: (server) => void server.child.kill('SIGINT') },
    { name: 'the end of stdin', leave: (server) => server.end() },
    {
      name: 'the end of stdin and SIGTERM a millisecond later',
      leave(server) {
        server.end();
        setTimeout(() => server.child.kill('SIGTERM'), 1);
      },
    },
    {
      name: 'SIGINT twice',
      leave(server) {
        server.child.kill('SIGINT');
        setTimeout(() => server.child.kill('SIGINT'), 5);
      },
    },
    {
      name: 'a client that does not read any more',
      leave(server) {
        server.child.stdout?.destroy();
        server.say({ jsonrpc: '2.0', id: 9, method: 'tools/list' });
      },
    },
  ];
  test.for(ways)('$name', async ({ leave }) => {
    const mark = randomText();
    const server = await startBusy(mark);
    expect(alive(mark).length).toBeGreaterThanOrEqual(4);
    leave(server);
    const { code, signal } = await server.rest(10_000);
    expect({ code, signal }).toEqual({ code: 0, signal: null });
    expect(alive(mark)).toEqual([]);
    const detached = alive(`${mark}-detached`);
    expect(detached).not.toEqual([]);
    for (const pid of detached) process.kill(pid, 'SIGKILL');
    await expect.poll(() => alive(`${mark}-detached`)).toEqual([]);
    await sleep(300);
  });
});
