/**
 * A server that was stopped, with a signal or with its container, or that did not get its turn: its timers come before it
 * hears what happened meanwhile. What had ended by itself has not run out of time.
 */
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorld, type World } from '../../test/support/world.ts';
import type { ExecutionMode } from './record.ts';
import { createSpawner } from './spawner.ts';
import { hasEndedByItself } from './until-gone.ts';
import { waitForEnd } from './wait.ts';

let world: World;
beforeAll(() => {
  world = createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** As little happens in this process as in one that is stopped, after which timers come first. */
async function stopHere(ms: number): Promise<void> {
  await nextTurn();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const never = new AbortController().signal;

async function outcomeAfterStop(command: string, mode: ExecutionMode = 'background') {
  const execution = await world.start(command, { mode, timeoutMs: 1000 });
  const held = execution.record.process?.wrapper;
  if (held !== undefined) process.kill(held.pid, 'SIGSTOP');
  await stopHere(1500);
  if (held !== undefined) process.kill(held.pid, 'SIGCONT');
  const { record } = await world.executions.waitFor('local', execution.record.id, 10_000, never);
  const { status, reason, exitCode, signal, survivors } = record.outcome ?? {};
  return { status, reason, exitCode, signal, survivors };
}

describe.each<ExecutionMode>(['background', 'detached'])('%s', (mode) => {
  test.each([
    ['sleep 0.3', { status: 'completed', reason: 'exit', exitCode: 0 }],
    ['sleep 0.3; exit 4', { status: 'failed', reason: 'exit', exitCode: 4 }],
    ['sleep 0.3; kill -9 $$', { status: 'failed', reason: 'signal', exitCode: 137, signal: 'SIGKILL' }],
    ['sleep 0.3 & exec sleep 0.4', { status: 'completed', reason: 'exit', exitCode: 0 }],
    ['sleep 30', { status: 'timeout', reason: 'timeout', exitCode: 143, signal: 'SIGTERM' }],
    ['trap "exit 7" TERM; sleep 30 & wait', { status: 'timeout', reason: 'timeout', exitCode: 7 }],
  ])('%s', async (command, outcome) => {
    expect(await outcomeAfterStop(command, mode)).toEqual({ signal: undefined, ...outcome, survivors: [] });
  });
});

describe('who waits for one that has ended meanwhile learns of its end, not that it runs', () => {
  test.each([
    ['by its own time', { foregroundMs: 500, patienceMs: 60_000 }],
    ['by the patience of its client', { patienceMs: 500 }],
  ])('%s', async (_, limits) => {
    const { live } = await world.start('sleep 0.2; exit 3', { mode: 'background' });
    if (live === undefined) throw new Error('it has ended');
    const waited = waitForEnd(live, limits, never);
    await stopHere(1000);
    expect(await waited).toMatchObject({ kind: 'ended', outcome: { exitCode: 3 } });
  });

  test('and of a condition that came true', async () => {
    const execution = await world.start('sleep 0.2', { mode: 'background' });
    const waited = world.executions.waits.wait({
      targets: [
        {
          execution,
          conditions: [{ kind: 'exit' }],
          from: new Map(),
          refresh: () => world.executions.get('local', execution.record.id),
        },
      ],
      mode: 'any',
      timeoutMs: 500,
      signal: never,
      files: { hostPathOf: (path) => path, mayRead: () => true },
      thread: undefined,
    });
    await stopHere(1000);
    expect(await waited).toMatchObject({ result: 'met', verdicts: [{ sighting: { kind: 'met' } }] });
  });

  test('one that goes on is running', async () => {
    const { live } = await world.start('sleep 30', { mode: 'background' });
    if (live === undefined) throw new Error('it has ended');
    const waited = waitForEnd(live, { patienceMs: 200 }, never);
    await stopHere(500);
    expect(await waited).toEqual({ kind: 'running', why: 'wait_limit' });
    await live.end('terminated');
  });
});

describe('whether a process has ended', () => {
  test('without the forker, where it is a zombie until Node hears of it', async () => {
    const { identity, exited } = await createSpawner(join('/', 'none')).start({
      argv: ['/bin/true'],
      environment: {},
      directory: '/',
      descriptors: [],
      groups: [],
      mustJoin: false,
      limits: {},
    });
    await stopHere(300);
    expect(await hasEndedByItself({ leader: identity }, exited)).toBe(true);
  });

  test('one that cannot be seen, and of whose end nobody hears, counts as going on', async () => {
    const leader = { pid: 4_000_000_000, startTime: 1 };
    expect(await hasEndedByItself({ leader }, new Promise(() => undefined))).toBe(false);
  });
});
