/** What read_execution_output answers of output that was meant for a terminal. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Caller, createCaller } from '../../test/support/caller.ts';
import { createWorld, type World } from '../../test/support/world.ts';
import { readExecutionOutput } from './read-execution-output.ts';

const PRINTED = 'first\n10%\r50%\rdone 100%\n\u001b[31merror: x\u001b[0m\n';

let world: World;
let caller: Caller;
let outputId = '';
beforeAll(async () => {
  world = createWorld();
  caller = createCaller(world);
  const { execution } = await world.run(
    String.raw`printf 'first\n10%%\r50%%\rdone 100%%\n\033[31merror: x\033[0m\n'`,
  );
  outputId = execution.bundle.outputId('stdout') ?? '';
});
afterAll(async () => {
  await caller.dispose();
  await world[Symbol.asyncDispose]();
});

test.each([
  ['lines', { start_line: 1 }, 'first\ndone 100%\nerror: x\n'],
  ['one line', { start_line: 3, line_count: 1 }, 'error: x'],
  ['the end', { start_line: -2 }, 'done 100%\nerror: x\n'],
  ['matches', { pattern: 'done|error' }, '2: done 100%\n3: error: x'],
  [
    'a match with its neighbours',
    { pattern: 'done', context_lines: 1 },
    '1- first\n2: done 100%\n3- error: x',
  ],
  ['bytes, which are exact', {}, PRINTED],
  ['a range of bytes', { offset: 6, size: 8 }, '10%\r50%\r'],
  ['lines in an encoding of single bytes, which are exact', { start_line: 1, encoding: 'latin1' }, PRINTED],
  ['matches in one', { pattern: 'error', encoding: 'latin1' }, '3: \u001b[31merror: x\u001b[0m'],
])('%s', async (_, asked, content) => {
  const { data } = await caller.call(readExecutionOutput, { output_id: outputId, ...asked });
  expect(String(data['content']).trimEnd()).toBe(content.trimEnd());
});
