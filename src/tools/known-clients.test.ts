import { describe, expect, test } from 'vitest';
import { ALL_TOOLS } from '../all-tools.ts';
import { answersInText, fitQuestion } from './known-clients.ts';

const HEAD = '"git push" needs your agreement (ask: git push).';
const WHERE = 'An agent wants to run this in /proj:';
const NOTE = 'Only a part fits here. Decline unless you have read the whole call.';
const ask = (...command: string[]): string =>
  [HEAD, WHERE, command.map((line) => `    ${line}`).join('\n')].join('\n\n');

const claude = { name: 'claude-code', version: '2.1.325' };

describe('a question for a client that shows three lines of it', () => {
  test.each([
    ['a command that fits', ask('git push'), [HEAD, WHERE, '    git push']],
    ['one as wide as a line', ask('x'.repeat(72)), [HEAD, WHERE, `    ${'x'.repeat(72)}`]],
    ['a wider one', ask('x'.repeat(73)), [HEAD, NOTE, `    ${'x'.repeat(72)}`, '    x', WHERE]],
    ['one of two lines', ask('git push', 'ls'), [HEAD, NOTE, '    git push', '    ls', WHERE]],
    ['one with a blank line', ask('git push', ''), [HEAD, NOTE, '    git push', '    ', WHERE]],
    [
      'one with variables',
      `${ask('git push')}\n\nWith variables of the call:\n\n    A=1`,
      [HEAD, NOTE, '    git push', 'With variables of the call:', '    A=1', WHERE],
    ],
    [
      'a long part',
      ask('git push').replace('git push', `git push ${'x'.repeat(40)}`),
      [HEAD.replace('git push', `git push ${'x'.repeat(40)}`), NOTE, '    git push', WHERE],
    ],
  ])('%s', (_, question, lines) => {
    expect(fitQuestion(question, claude).split('\n')).toEqual(lines);
  });

  test('others get it as it is', () => {
    expect(fitQuestion(ask('git push', 'ls'), { name: 'codex-mcp-client', version: '1' })).toBe(
      ask('git push', 'ls'),
    );
  });
});

test.each([
  ['shell_execute', 'claude-code', 'auto', true],
  ['process_list', 'codex-mcp-client', 'auto', true],
  ['shell_execute', 'gemini-cli-mcp-client', 'auto', false],
  ['shell_execute', 'my-claude-code', 'auto', false],
  ['shell_execute', '', 'auto', false],
  ['shell_execute', '', 'text', true],
  ['shell_execute', 'claude-code', 'both', false],
  ['shell_exec', 'claude-code', 'auto', false],
  ['shell_allowed', '', 'text', false],
  ['shell', 'codex-mcp-client', 'text', false],
] as const)('%s answers %s in text alone, where the setting is %s: %s', (called, name, answers, expected) => {
  const tool = ALL_TOOLS.find((each) => each.name === called);
  if (tool === undefined) throw new Error(`there is no ${called}`);
  expect(answersInText(tool, { name, version: '1' }, answers)).toBe(expected);
});
