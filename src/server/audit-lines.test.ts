import { expect, test } from 'vitest';
import { earlierTools } from '../compat/earlier-names.ts';
import { maskText } from '../security/security.ts';
import { TOOLS } from '../tools/tools.ts';
import { callLine as lineOf, recordedInput } from './audit-lines.ts';
import type { CallEntry } from './dispatch.ts';

const callLine = (entry: CallEntry) => lineOf(entry, maskText);

const call = (tool: string, input: unknown): CallEntry => ({
  requestId: 'req_1',
  principal: 'local',
  client: { name: 'client', version: '1' },
  tool,
  calledAs: tool,
  input,
  startedAtMs: 0,
  durationMs: 5,
  outcome: 'answered',
});

test('a call is told with its input, of long texts the beginning', () => {
  expect(callLine(call('shell_execute', { command: 'x'.repeat(10_000), list: [1, 'two'] }))).toEqual({
    event: 'call',
    requestId: 'req_1',
    principal: 'local',
    client: 'client',
    tool: 'shell_execute',
    calledAs: 'shell_execute',
    input: { command: `${'x'.repeat(500)}…`, list: [1, 'two'] },
    startedAtMs: 0,
    durationMs: 5,
    outcome: 'answered',
  });
});

test('a secret is masked before it is cut', () => {
  const { input } = callLine(
    call('x', { text: `${' '.repeat(490)}AKIA${'Q'.repeat(16)} ${'y'.repeat(100)}` }),
  ) as {
    input: unknown;
  };
  expect(JSON.stringify(input)).not.toContain('AKIA');
});

test('input_data is masked, and what the variables of the call say is secret', () => {
  const { input } = callLine(
    call('shell_execute', {
      command: 'login --with hunter2222x',
      input_data: `password=hunter1111\nhunter2222${'y'.repeat(600)}`,
      environment_variables: { DEPLOY_TOKEN: 'hunter2222', STRIPE_KEY: 'hunter2222x', PLAIN: 'harmless' },
    }),
  ) as { input: Record<string, unknown> };
  expect(JSON.stringify(input)).not.toContain('hunter');
  expect(input).toMatchObject({
    command: 'login --with ***',
    input_data: expect.stringMatching(/^password=\*\*\*\n\*\*\*y+…$/),
    environment_variables: { PLAIN: 'harmless' },
  });
});

test.each(['terminal_send_input', 'terminal_input'])(
  'what is typed with %s is not told with the call, however it is spelled',
  (name) => {
    const tool = [...TOOLS, ...earlierTools(TOOLS)].find((each) => each.name === name);
    if (tool === undefined) throw new Error(name);
    for (const input of [
      { terminal_id: 'term_1', input: 'hunter2', execute: true },
      { terminal_id: 'term_1', keys: ['h', 'u', 'hunter2'] },
      { terminal_id: 'term_1', inputs: 'hunter2', text: 'hunter2', wait_for: 'hunter2' },
      'hunter2',
      ['hunter2'],
      null,
    ]) {
      expect(JSON.stringify({ told: recordedInput(input, tool) })).not.toContain('hunter2');
    }
    expect(recordedInput({ terminal_id: 'term_1', input: 'x', execute: true }, tool)).toEqual({
      terminal_id: 'term_1',
      execute: true,
    });
  },
);

test('of other tools everything is told', () => {
  expect(recordedInput({ command: 'ls' }, {})).toEqual({ command: 'ls' });
});
