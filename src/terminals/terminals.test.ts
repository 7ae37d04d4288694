import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorld, type World } from '../../test/support/world.ts';
import type { Execution } from '../executions/executions.ts';
import { findProcess } from '../executions/processes.ts';
import type { Caller, SendResult, TerminalState } from './terminals.ts';

let world: World;
let mine: TerminalState;
beforeAll(async () => {
  world = createWorld();
  mine = (await world.terminals.create(request, caller('me'))).state;
});
afterAll(() => world[Symbol.asyncDispose]());

const caller = (principal: string, signal = new AbortController().signal, reader = ''): Caller => ({
  principal,
  reader,
  client: { name: 'test' },
  requestId: 'req_test',
  signal,
});
const request = {
  sessionName: 'shared name',
  shellType: 'bash',
  dimensions: { columns: 80, rows: 24 },
  workingDirectory: undefined,
  environment: {},
  autoSaves: false,
  command: undefined,
} as const;

const look = {
  view: 'screen',
  from: undefined,
  count: 1,
  withAnsi: false,
  withFront: false,
  maxBytes: 100_000,
  wait: undefined,
} as const;
const typed = { kind: 'text', text: 'x', isEntered: false } as const;

describe('another principal', () => {
  test('does not find a terminal, and cannot do anything with it', async () => {
    const { terminals } = world;
    const other = caller('other');
    const none = { code: 'RESOURCE_002', message: `There is no terminal "${mine.id}".` };
    await expect(terminals.get('other', mine.id)).rejects.toMatchObject(none);
    await expect(terminals.read(mine.id, look, other)).rejects.toMatchObject(none);
    const input = { typed, guard: undefined, wait: undefined };
    await expect(terminals.send(mine.id, input, other)).rejects.toMatchObject(none);
    await expect(terminals.resize('other', mine.id, { columns: 10, rows: 10 })).rejects.toMatchObject(none);
    await expect(terminals.close('other', mine.id, true)).rejects.toMatchObject(none);
    expect(await terminals.list('other')).toEqual([]);
    expect(await terminals.get('me', mine.id)).toMatchObject({ dimensions: { columns: 80, rows: 24 } });
  });

  test('has names of its own', async () => {
    const { state: theirs } = await world.terminals.create(request, caller('other'));
    expect(theirs.sessionName).toBe('shared name');
    await world.terminals.close('other', theirs.id, false);
  });
});

describe('a host that was stopped for a while', () => {
  /** From a moment after this call on. */
  async function stopHost({ record }: Execution, ms: number): Promise<void> {
    const pid = record.process?.wrapper?.pid ?? 0;
    await sleep(100);
    process.kill(pid, 'SIGSTOP');
    await sleep(ms);
    process.kill(pid, 'SIGCONT');
  }

  test.each([
    ['has ended in time', 'sleep 0.5; exit 4', { reason: 'exit', exitCode: 4 }],
    ['goes on', 'sleep 30', { reason: 'timeout' }],
  ])('has not ended by its time limit what %s', async (_, command, outcome) => {
    const timed = { ...request, sessionName: undefined, command, timeoutMs: 2000 };
    const { execution, state } = await world.terminals.create(timed, caller('other'));
    await stopHost(execution, 2500);
    expect(await execution.live?.finished).toMatchObject(outcome);
    await world.terminals.close('other', state.id, false);
  });

  test('reads what was written meanwhile before it calls a terminal quiet', async () => {
    const { terminals } = world;
    const { execution, state } = await terminals.create(request, caller('other'));
    const enter = (text: string, idleMs: number | undefined): Promise<SendResult> => {
      const wait = { pattern: undefined, idleMs, timeoutMs: 20_000 };
      const line = { kind: 'text', text, isEntered: true } as const;
      return terminals.send(state.id, { typed: line, guard: undefined, wait }, caller('other'));
    };
    await enter('true', undefined);
    const entering = enter('sleep 0.6; echo w""ritten', 800);
    await stopHost(execution, 1500);
    expect((await entering).waited).toMatchObject({ reason: 'command_done', commandOutput: 'written\n' });
    await terminals.close('other', state.id, false);
  });
});

describe('a call that is cancelled', () => {
  test('stops waiting, and leaves the terminal as it is', async () => {
    const controller = new AbortController();
    const wait = { pattern: 'never', idleMs: undefined, timeoutMs: 600_000 };
    const waiting = world.terminals.read(mine.id, { ...look, wait }, caller('me', controller.signal));
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    const state = await world.terminals.get('me', mine.id);
    expect(state.isIdle).toBe(true);
    expect(state).not.toHaveProperty('outcome');
  });

  test('before it began opens nothing', async () => {
    const before = await world.terminals.list('me');
    const cancelled = caller('me', AbortSignal.abort(new Error('enough')));
    await expect(world.terminals.create({ ...request, sessionName: 'never' }, cancelled)).rejects.toThrow(
      'enough',
    );
    expect((await world.terminals.list('me')).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  });

  test('while the shell starts leaves no shell behind', async () => {
    const home = join(world.directory, 'home');
    mkdirSync(home);
    writeFileSync(join(home, '.bashrc'), 'echo $$ > ~/started; sleep 300\n');
    const controller = new AbortController();
    const opening = world.terminals.create(
      { ...request, sessionName: 'slow', environment: { HOME: home } },
      caller('me', controller.signal),
    );
    const outcome = opening.catch((error: unknown) => error);
    const started = (): number => Number(readFileSync(join(home, 'started'), 'utf8'));
    await expect.poll(started, { timeout: 30_000 }).toBeGreaterThan(0);
    const pid = started();
    controller.abort(new Error('enough'));
    expect(await outcome).toMatchObject({ message: 'enough' });
    expect(findProcess(pid)?.isZombie ?? true).toBe(true);
    expect((await world.terminals.list('me')).map(({ id }) => id)).toEqual([mine.id]);
  });
});

describe('another reader', () => {
  const ended = { pattern: undefined, idleMs: undefined, timeoutMs: 20_000 };
  const matched = { ...ended, pattern: 'seen-2' };

  test.each([
    ['waits for its end', ended],
    ['waits for a text', matched],
    ['reads it', undefined],
  ])('that %s takes nothing from one that waits later', async (_, theirs) => {
    const { terminals } = world;
    const { state } = await terminals.create({ ...request, sessionName: 'read by two' }, caller('me'));
    const line = { kind: 'text', text: 'echo seen-$((1 + 1))', isEntered: true } as const;
    for (const [wait, reason] of [
      [ended, 'command_done'],
      [matched, 'matched'],
    ] as const) {
      await terminals.send(state.id, { typed: line, guard: undefined, wait: undefined }, caller('me'));
      const reader = caller('me', undefined, 'reader');
      // Until it has been drawn, there is nothing to be taken.
      await terminals.read(state.id, { ...look, wait: ended }, caller('me', undefined, 'another'));
      await terminals.read(state.id, { ...look, wait: theirs }, reader);
      const { waited } = await terminals.read(state.id, { ...look, wait }, caller('me'));
      expect(waited).toMatchObject({ reason });
    }
    await terminals.close('me', state.id, false);
  });
});
