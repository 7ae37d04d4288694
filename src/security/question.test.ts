import { describe, expect, test } from 'vitest';
import { createWorld } from '../../test/support/world.ts';
import { ApprovalNeeded } from './decisions.ts';
import { createPolicy } from './policy/policy.ts';
import { type Asked, questionFor } from './question.ts';

const { judge } = createPolicy({ mode: 'permissive', askCommands: ['git push'] });

function ask(command: string, about: Partial<Asked> = {}): string {
  const asked: Asked = {
    command,
    directory: '/proj',
    inputData: undefined,
    callerEnvironment: {},
    sessionEnvironment: new Map(),
    inherited: { LANG: 'C', HOME: '/home/me' },
    ...about,
  };
  const result = questionFor(asked, judge(command, { directory: '/proj', home: '/home/me' }));
  return 'question' in result ? result.question : `too long: ${result.tooLong}`;
}

const HEAD =
  '"git push" needs your agreement (ask: git push).\n\nAn agent wants to run this in /proj:\n\n    git push';

describe('a question shows', () => {
  test('the rule first, then the command', () => {
    expect(ask('git push')).toBe(HEAD);
  });

  test('variables of the call and of its session that differ from the server’s, with their values', () => {
    const question = ask('git push', {
      callerEnvironment: { HOME: '/tmp/evil', GIT_SSH_COMMAND: 'sh -c x' },
      sessionEnvironment: new Map([
        ['HOME', '/shadowed'],
        ['LANG', undefined],
        ['PATH', '/tmp/bin:/bin'],
        ['NOT_THERE', undefined],
        ['API_TOKEN', 'abcdefghijkl'],
      ]),
    });
    expect(question).toBe(
      `${HEAD}

With variables of the call:

    GIT_SSH_COMMAND=sh -c x
    HOME=/tmp/evil

With variables of its session:

    API_TOKEN=***
    LANG is not set
    PATH=/tmp/bin:/bin`,
    );
  });

  test.each([
    ['a line end', { A: 'x\n\n"ls" needs no agreement' }, 'A=x\\n\\n"ls" needs no agreement'],
    ['a direction', { A: '\u202ex' }, 'A=\\u{202e}x'],
    ['many blanks', { A: `x${' '.repeat(50)}y` }, 'A=x [50 blanks] y'],
    ['other blanks', { A: `x${'\u3000'.repeat(20)}y` }, 'A=x [20 blanks] y'],
    ['much text', { A: `true ${'a'.repeat(500)}; evil` }, `A=true ${'a'.repeat(500)}; evil`],
    ['a text behind a secret’s name', { A: 'TOKEN="$(evil)"' }, 'A=TOKEN="$(evil)"'],
    ['a text with a secret’s name', { API_TOKEN: 'true; evil' }, 'API_TOKEN=true; evil'],
    ['a secret', { A: 'https://me:pass@example.org/', API_KEY: 'abcdefgh' }, 'A=https://me:***@example.org/'],
    ['a long PATH', { PATH: `${'/x:'.repeat(100)}/evil` }, `PATH=${'/x:'.repeat(100)}/evil`],
  ])('%s in a variable as what it is', (_, callerEnvironment, shown) => {
    expect(ask('git push', { callerEnvironment })).toContain(`\n    ${shown}`);
  });

  test('a command with long blanks in it', () => {
    expect(ask(`git push${' '.repeat(3000)}; rm important`)).toContain(
      '    git push [3000 blanks] ; rm important',
    );
  });

  test.each([
    [
      'at the beginning of a line',
      `git push\n${' '.repeat(3000)}; evil`,
      '    git push\n    [3000 blanks] ; evil',
    ],
    ['at the beginning', `${' '.repeat(3000)}git push; evil`, '    [3000 blanks] git push; evil'],
    ['at the end', `git push${' '.repeat(50)}\nevil`, '    git push [50 blanks] \n    evil'],
    ['of tabs', `git push\n${'\t'.repeat(3000)}evil`, '    [3000 blanks] evil'],
    ['of braille blanks', `git push ${'\u2800'.repeat(1500)}; evil`, '    git push [1501 blanks] ; evil'],
    ['of fillers', `git push ${'\u3164'.repeat(1500)}; evil`, '    git push [1501 blanks] ; evil'],
    [
      'of characters without width',
      `git push ${'\u200b'.repeat(500)}; evil`,
      '    git push [501 blanks] ; evil',
    ],
    ['of control characters', `git push ${'\v'.repeat(50)}; evil`, '    git push [51 blanks] ; evil'],
    ['of several kinds', `git push${' \u2800\t'.repeat(5)}; evil`, '    git push [15 blanks] ; evil'],
    ['of empty lines', `git push${'\n'.repeat(58)}evil`, '    git push\n    [57 empty lines]\n    evil'],
    ['of lines of blanks', `git push${'\n \u2800'.repeat(20)}\nevil`, '    [20 empty lines]\n    evil'],
    [
      'an indent stays',
      `git push\n${' '.repeat(12)}x\n\n\ny`,
      '    git push\n                x\n    \n    \n    y',
    ],
  ])('a command with a blank %s', (_, command, shown) => {
    expect(ask(command)).toContain(shown);
  });

  test('a variable with a blank at its beginning', () => {
    const callerEnvironment = { A: `${' '.repeat(2900)}evil`, B: `x${'\n'.repeat(50)}evil` };
    const question = ask('git push', { callerEnvironment });
    expect(question).toContain('    A=[2900 blanks] evil');
    expect(question).toContain('    B=x [50 blanks] evil');
  });

  test('a secret whose value the command may run', () => {
    const callerEnvironment = { API_TOKEN: './evil.sh' };
    expect(ask('git push; eval "$API_TOKEN"', { callerEnvironment })).toContain('\n    API_TOKEN=./evil.sh');
    expect(ask('git push; $API_TOKEN', { callerEnvironment })).toContain('\n    API_TOKEN=./evil.sh');
  });

  test('the whole input', () => {
    const question = ask('git push', { inputData: `a\n${'b'.repeat(700)}; evil` });
    expect(question).toBe(
      `${HEAD}\n\nWith this input of 708 characters:\n\n    a\n    ${'b'.repeat(700)}; evil`,
    );
  });
});

describe('no question is put where it could not be seen', () => {
  test.each([
    ['a long command', `git push; ${'x'.repeat(4000)}`, {}],
    ['a command of many lines', `git push${'\n'.repeat(100)}rm x`, {}],
    [
      'many variables',
      'git push',
      { callerEnvironment: Object.fromEntries(Array.from({ length: 41 }, (_, n) => [`A${n}`, 'x'])) },
    ],
    [
      'many variables of a session',
      'git push',
      {
        sessionEnvironment: new Map(
          Array.from({ length: 41 }, (_, n): [string, undefined] => [`A${n}`, undefined]),
        ),
        inherited: Object.fromEntries(Array.from({ length: 41 }, (_, n) => [`A${n}`, 'x'])),
      },
    ],
    ['a name without end', 'git push', { callerEnvironment: { ['A'.repeat(4000)]: 'x' } }],
    ['a long input', 'git push', { inputData: 'x'.repeat(5000) }],
    ['an input of many lines', 'git push', { inputData: 'a\n'.repeat(100) }],
    ['a value without end', 'git push', { callerEnvironment: { A: 'x'.repeat(4000) } }],
    ['a PATH without end', 'git push', { callerEnvironment: { PATH: '/x:'.repeat(2000) } }],
  ])('%s', (_, command, about) => {
    expect(ask(command, about)).toMatch(/^too long: /);
  });
});

test('what a session exported is in the question of the next command', async () => {
  await using world = createWorld({ settings: { security: { askCommands: ['git push'] } } });
  await world.run('export GIT_SSH_COMMAND="touch x"; unset LANG', { sessionId: 's' });
  const asked = await world.run('git push', { sessionId: 's' }).catch((error: unknown) => error);
  expect(asked).toBeInstanceOf(ApprovalNeeded);
  expect((asked as ApprovalNeeded).question).toContain(
    'With variables of its session:\n\n    GIT_SSH_COMMAND=touch x',
  );
});
