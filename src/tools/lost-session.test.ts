/** That a session was lost is said by the first answer that a client gets, whatever became of the calls before it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Caller, createCaller } from '../../test/support/caller.ts';
import { createWorld, type World } from '../../test/support/world.ts';
import { shellExecute } from './shell-execute.ts';

/** Calls before, each in a session of its own, and whether their answer has said it. */
const CALLS: readonly (readonly [string, object, boolean])[] = [
  ['one that is answered', { command: 'true' }, true],
  ['one that fails', { command: 'exit 3' }, true],
  ['one in the background', { command: 'sleep 0.1', execution_mode: 'background' }, true],
  ['one that outlasts the wait', { command: 'sleep 1.5', foreground_timeout_seconds: 1 }, true],
  ['one that waits for a condition', { command: 'echo up', wait_for: [{ output: 'up' }] }, true],
  [
    'one that runs out of time',
    { command: 'sleep 9', execution_mode: 'foreground', timeout_seconds: 1 },
    true,
  ],
  [
    'one that runs out of time and answers with an error',
    {
      command: 'sleep 9',
      execution_mode: 'foreground',
      timeout_seconds: 1,
      return_partial_on_timeout: false,
    },
    false,
  ],
  ['one that is denied', { command: 'rm -rf /' }, false],
  ['one whose directory is missing', { command: 'true', working_directory: '/nonexistent' }, false],
  ['one that is cancelled', { command: 'sleep 9', execution_mode: 'foreground' }, false],
  ['one that is cancelled before it begins', { command: 'true' }, false],
  [
    'one that is cancelled while it waits',
    { command: 'sleep 9', execution_mode: 'background', wait_for: [{ output: 'never' }] },
    false,
  ],
];

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = createWorld();
  caller = createCaller(world);
  for (const [name] of CALLS) await world.run('cd /', { sessionId: name });
  for (let count = 0; count < 500; count++) world.executions.sessions.get('local', `other ${count}`);
});
afterAll(async () => {
  await caller.dispose();
  await world[Symbol.asyncDispose]();
});

test.each(CALLS)('after %s', async (name, input, says) => {
  const cancelled = name.includes('before it begins')
    ? AbortSignal.abort()
    : name.includes('cancelled')
      ? AbortSignal.timeout(300)
      : new AbortController().signal;
  const asked = { ...input, session_id: name };
  const first = await caller.call(shellExecute, asked, { signal: cancelled }).catch(() => undefined);
  expect(first?.data['session_lost']).toBe(says ? true : undefined);
  const lost: unknown[] = [];
  for (let calls = 0; calls < 2; calls++) {
    const { data, text } = await caller.call(shellExecute, { command: 'pwd', session_id: name });
    expect(text.includes('was used before, but its directory and variables are gone')).toBe(
      data['session_lost'] === true,
    );
    lost.push(data['session_lost']);
  }
  expect(lost).toEqual([says ? undefined : true, undefined]);
});
