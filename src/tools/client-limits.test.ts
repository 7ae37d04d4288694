/** No tool sends a client more than it is known to pass on, whatever was asked for, and every answer says how to go on. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Caller, createCaller } from '../../test/support/caller.ts';
import { createWorld, type World } from '../../test/support/world.ts';
import { listExecutionOutputs } from './list-execution-outputs.ts';
import { processGetExecution } from './process-get-execution.ts';
import { processList } from './process-list.ts';
import { readExecutionOutput } from './read-execution-output.ts';
import { shellExecute } from './shell-execute.ts';
import { terminalCreate } from './terminal-create.ts';
import { terminalGetOutput } from './terminal-get-output.ts';
import { terminalSendInput } from './terminal-send-input.ts';
import type { Answer, Tool } from './tool.ts';

let world: World;
let caller: Caller;
const made = { output_id: '', execution_id: '', terminal_id: '' };

const MIB = 1024 * 1024;
/** Few of its lines fill an answer, and as a command it would fill a row of a list. */
const COMMAND = `: ${'x'.repeat(30_000)}; seq 1 60000`;
const ROWS = 40;

beforeAll(async () => {
  world = createWorld();
  caller = createCaller(world);
  const { data } = await call(shellExecute, { command: COMMAND, execution_mode: 'foreground' });
  Object.assign(made, { output_id: data['output_id'], execution_id: data['execution_id'] });
  for (let row = 0; row < ROWS; row++)
    await call(shellExecute, { command: `: ${'y'.repeat(1500)}${row}`, execution_mode: 'foreground' });
  const terminal = await call(terminalCreate, { shell_type: 'sh' });
  made.terminal_id = String(terminal.data['terminal_id']);
  await call(terminalSendInput, { terminal_id: made.terminal_id, ...PRINTING });
}, 120_000);
afterAll(async () => {
  await caller.dispose();
  await world[Symbol.asyncDispose]();
});

/** The operator allows any amount. */
function call(tool: Tool, input: object, name = 'any'): Promise<Answer<Record<string, unknown>>> {
  const limits = { ...world.settings.limits, inlineOutputBytes: MIB };
  const modules = { ...caller.modules, settings: { ...world.settings, limits } };
  return caller.call(tool, input, { modules, client: { name, version: '1' } });
}

const PRINTING = { input: 'seq 100000 120000', execute: true, timeout_seconds: 60 };
const output = () => ({ output_id: made.output_id });
const terminal = () => ({ terminal_id: made.terminal_id });

const ASKED: readonly [string, Tool, () => object, RegExp][] = [
  ['a command', shellExecute, () => ({ command: 'seq 60000', max_output_size: MIB }), /offset \d+\]/],
  [
    'both streams',
    shellExecute,
    () => ({ command: 'seq 60000; seq 60000 >&2', max_output_size: MIB }),
    /offset/,
  ],
  ['an execution', processGetExecution, () => ({ execution_id: made.execution_id }), /offset \d+\]/],
  ['bytes', readExecutionOutput, () => ({ ...output(), size: MIB }), /go on with offset \d+/],
  [
    'base64',
    readExecutionOutput,
    () => ({ ...output(), size: MIB, encoding: 'base64' }),
    /go on with offset/,
  ],
  ['lines', readExecutionOutput, () => ({ ...output(), line_count: 10_000 }), /go on with start_line \d+/],
  [
    'matches',
    readExecutionOutput,
    () => ({ ...output(), pattern: '0', line_count: 10_000, context_lines: 20 }),
    /go on with offset \d+/,
  ],
  [
    'a scrollback',
    terminalGetOutput,
    () => ({ ...terminal(), start_line: 0, line_count: 10_000 }),
    /go on with start_line/,
  ],
  ['what was typed', terminalSendInput, () => ({ ...terminal(), ...PRINTING }), /start_line \d+/],
  ['executions', processList, () => ({ limit: 500 }), /\[\d+ of \d+ that match/],
  ['outputs', listExecutionOutputs, () => ({ limit: 1000 }), /\[\d+ of \d+/],
];

describe.each([
  ['claude-code', 50_000],
  ['codex-mcp-client', 12_700],
  ['gemini-cli-mcp-client', 40_000],
])('%s passes on %i characters', (client, most) => {
  test.each(ASKED)('%s', async (_, tool, input, goesOn) => {
    const { text } = await call(tool, input(), client);
    expect(text.length).toBeLessThan(most);
    expect(text).toMatch(goesOn);
  });
});

test('a list that does not fit goes on where it ended', async () => {
  const codex = 'codex-mcp-client';
  const first = await call(processList, { limit: 500 }, codex);
  const shown = first.data['processes'] as { execution_id: string }[];
  const [, offset] = /more: offset (\d+)/.exec(first.text) ?? [];
  expect(Number(offset)).toBe(shown.length);
  const second = await call(processList, { limit: 500, offset: Number(offset) }, codex);
  const next = second.data['processes'] as { execution_id: string }[];
  const all = (await call(processList, { limit: 500 })).data['processes'] as { execution_id: string }[];
  expect([...shown, ...next].map((row) => row.execution_id)).toEqual(
    all.slice(0, shown.length + next.length).map((row) => row.execution_id),
  );
});

test('another client gets what it asked for', async () => {
  const { data } = await call(readExecutionOutput, { ...output(), size: MIB });
  expect(data['is_truncated']).toBe(false);
});

test.each<[string, Tool, () => object, string]>([
  ['an output', readExecutionOutput, () => ({ ...output(), size: 2000 }), 'content'],
  ['lines', readExecutionOutput, () => ({ ...output(), line_count: 10 }), 'content'],
  ['a terminal', terminalGetOutput, terminal, 'output'],
  ['an input', terminalSendInput, () => ({ ...terminal(), ...PRINTING }), 'output'],
  ['a list', processList, () => ({}), 'processes'],
  ['outputs', listExecutionOutputs, () => ({}), 'outputs'],
])('what is needed to go on comes before the content of %s', async (_, tool, input, last) => {
  const { data } = await call(tool, input());
  expect(Object.keys(data).at(-1)).toBe(last);
});
