/** What answers tell besides what was asked for, with real executions. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createCaller } from '../../test/support/caller.ts';
import { createValidatingDispatch } from '../../test/support/validating-dispatch.ts';
import { createWorld, type World } from '../../test/support/world.ts';
import { ALL_TOOLS } from '../all-tools.ts';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { createDispatch, type Dispatch, type ToolResult } from './dispatch.ts';
import { EVERYTHING } from './grants.ts';

let world: World;
let dispatch: Dispatch;
let disposeCaller: () => Promise<void>;
beforeEach(() => {
  world = createWorld();
  const caller = createCaller(world);
  disposeCaller = caller.dispose;
  dispatch = createValidatingDispatch({
    tools: ALL_TOOLS,
    modules: caller.modules,
    news: world.executions.news,
    log: silentLog,
    clock: systemClock,
  });
});
afterEach(async () => {
  await disposeCaller();
  await world[Symbol.asyncDispose]();
});

interface Answered {
  readonly text: string;
  readonly data: Record<string, unknown> & { events?: Record<string, unknown>[] };
}

async function call(name: string, args: object, about: object = {}): Promise<Answered> {
  const result = (await dispatch.call(name, args, {
    principal: 'local',
    grant: EVERYTHING,
    client: { name: 'test', version: '1' },
    signal: new AbortController().signal,
    ...about,
  })) as ToolResult;
  return { text: result.content[0]?.text ?? '', data: result.structuredContent };
}

let started = 0;

/** It ends after its start was answered, or that answer would tell of the end already. */
async function startAndEnd(command: string, about: object = {}): Promise<string> {
  started += 1;
  const { data } = await call(
    'shell_execute',
    { command: `until [ -e go${started} ]; do sleep 0.02; done; ${command}`, execution_mode: 'background' },
    about,
  );
  writeFileSync(join(world.settings.defaultWorkdir, `go${started}`), '');
  const id = String(data['execution_id']);
  await expect.poll(async () => (await world.executions.get('local', id)).record.outcome).toBeDefined();
  return id;
}

test('an end in the background is told with the next answer, once', async () => {
  const id = await startAndEnd('exit 3');
  const { text, data } = await call('process_list', { status_filter: 'running' });
  expect(text).toMatch(new RegExp(`\\[${id} finished: exit 3, [\\d.]+ s, until .* exit 3\\]`));
  expect(data.events).toMatchObject([
    { event: 'finished', execution_id: id, status: 'failed', exit_code: 3 },
  ]);
  expect((await call('shell_execute', { command: 'true' })).data.events).toBeUndefined();
});

test('an answer that fails tells it as well', async () => {
  const id = await startAndEnd('true');
  const { data, text } = await call('process_get_execution', { execution_id: 'exec_none' });
  expect(data['error']).toBeDefined();
  expect(text).toContain(`${id} finished: exit 0`);
});

test.each([
  ['process_get_execution', (id: string) => ({ execution_id: id })],
  ['process_get_execution', (id: string) => ({ execution_ids: [id] })],
  ['process_list', () => ({ status_filter: 'all' })],
])('what %s says itself is no news', async (tool, args) => {
  const id = await startAndEnd('exit 4');
  expect((await call(tool, args(id))).data.events).toBeUndefined();
  expect((await call('shell_execute', { command: 'true' })).data.events).toBeUndefined();
});

test('what was waited for is no news', async () => {
  await call('shell_execute', { command: 'exit 1' });
  await call('shell_execute', { command: 'exit 1', execution_mode: 'foreground' });
  await call('shell_execute', {
    command: 'exit 1',
    execution_mode: 'background',
    wait_for: [{ exit: true }],
  });
  expect((await call('process_list', { status_filter: 'running' })).data.events).toBeUndefined();
});

test('each session is told once, and one that is new has no past', async () => {
  await call('process_list', {}, { session: 'b' });
  const id = await startAndEnd('true', { session: 'a' });
  for (const session of ['a', 'b'])
    expect((await call('monitoring_get_stats', {}, { session })).data.events).toMatchObject([
      { execution_id: id },
    ]);
  for (const session of ['a', 'b', 'c'])
    expect((await call('monitoring_get_stats', {}, { session })).data.events).toBeUndefined();
});

test('news of another principal is not sent', async () => {
  await call('process_list', {}, { principal: 'bob' });
  await startAndEnd('echo of-local');
  const { text, data } = await call('monitoring_get_stats', {}, { principal: 'bob' });
  expect(data.events).toBeUndefined();
  expect(text).not.toContain('of-local');
});

test('of many ends, ten are told and the others counted', async () => {
  await call('process_list', {});
  for (let n = 0; n < 13; n++) await startAndEnd(`exit ${n}`, { session: 'other' });
  const { data, text } = await call('monitoring_get_stats', {});
  expect(data.events).toHaveLength(10);
  expect(data['more_events']).toBe(3);
  expect(text).toContain('[and 3 more before');
});

test('a secret in a command is masked, and its control characters are escaped', async () => {
  await startAndEnd('true --token=ghp_0123456789abcdefghijklmnopqrstuvwxyz \u001b[31m');
  const { text } = await call('monitoring_get_stats', {});
  expect(text).toContain('finished: exit 0');
  expect(text).not.toContain('ghp_0123456789abcdefghijklmnopqrstuvwxyz');
  expect(text).not.toContain('\u001b');
});

test('a tool that another interface defines answers with nothing besides', async () => {
  const id = await startAndEnd('true');
  expect((await call('shell_exec', { command: 'echo', args: ['x'] })).text).not.toContain(id);
  expect((await call('monitoring_get_stats', {})).text).toContain(id);
});

test('a background command that prints more than is kept', async () => {
  await world[Symbol.asyncDispose]();
  await disposeCaller();
  const { limits } = world.settings;
  world = createWorld({ settings: { limits: { ...limits, maxOutputBytes: 1024 } } });
  const caller = createCaller(world);
  disposeCaller = caller.dispose;
  dispatch = createDispatch({
    tools: ALL_TOOLS,
    modules: caller.modules,
    news: world.executions.news,
    log: silentLog,
    clock: systemClock,
  });
  await call('shell_execute', {
    command: 'seq 1000; exec sleep 1000',
    execution_mode: 'background',
  });
  await expect
    .poll(async () => (await call('monitoring_get_stats', {})).data.events)
    .toMatchObject([{ event: 'output_limit' }]);
  expect((await call('monitoring_get_stats', {})).data.events).toBeUndefined();
});

describe('a terminal', () => {
  test('that waits for a password is news, unless the answer shows it', async () => {
    const { data } = await call('terminal_create', {});
    const terminalId = String(data['terminal_id']);
    await call('terminal_send_input', {
      terminal_id: terminalId,
      input: 'read -rsp "Password: " x; echo thanks',
      execute: true,
      timeout_seconds: 0.1,
    });
    await expect
      .poll(async () => (await call('monitoring_get_stats', {})).text)
      .toContain(`[${terminalId} waits for a password`);
  });
});
