import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lacks } from '../../test/setup/needs.ts';
import { createWorld, type World } from '../../test/support/world.ts';
import type { SecuritySettings } from '../base/settings.ts';
import { judgedShell } from './shells.ts';

/** Literal forms of other shells that run `touch`, and that bash reads as something else. */
const FORMS = {
  zsh: [
    '=touch M',
    'noglob touch M',
    'repeat 1 touch M',
    'repeat 1 { touch M }',
    'nocorrect touch M',
    '- touch M',
    'for x (1) touch M',
    '(( 1 )) && =touch M',
    'echo =(touch M)',
    'foreach x (1); touch M; end',
  ],
  fish: [
    'not touch M',
    'echo (touch M)',
    'begin; touch M; end',
    'and touch M',
    'false; or touch M',
    'if true; touch M; end',
  ],
  dash: ["echo $'\\'; touch M #'"],
} as const;

const LISTS: readonly [string, Partial<SecuritySettings>][] = [
  ['a block-list', { blockedCommands: ['touch'] }],
  ['an ask-list', { askCommands: ['touch'] }],
  ['an allow-list', { mode: 'custom', allowedCommands: ['echo', 'true'] }],
];

function worldOf(shell: string, security: Partial<SecuritySettings>): World {
  return createWorld({ settings: { shell, security } });
}

describe.each(['zsh', 'fish', 'dash'] as const)('%s as the command shell', (shell) => {
  const forms = FORMS[shell];
  describe.skipIf(lacks(!existsSync(`/usr/bin/${shell}`), `${shell} is not installed`))(
    'where it is installed',
    () => {
      test.each(LISTS)('%s meets forms that only this shell knows, since bash runs', async (_, lists) => {
        await using world = worldOf(`/usr/bin/${shell}`, lists);
        for (const form of forms) {
          const ran = await world.run(form).then(
            ({ outcome }) => outcome.exitCode !== undefined,
            () => false,
          );
          expect({ form, made: readdirSync(world.settings.defaultWorkdir), ran }).toMatchObject({ made: [] });
        }
      });

      test('without a list the shell is the configured one', async () => {
        await using world = worldOf(`/usr/bin/${shell}`, {});
        const made = join(world.settings.defaultWorkdir, 'M');
        for (const form of forms) {
          await world.run(form);
          expect({ form, isMade: existsSync(made) }).toEqual({ form, isMade: true });
          rmSync(made);
        }
        expect(world.security.shellNotice({ principal: 'local' })).toBeUndefined();
      });

      test('a session keeps its state, and the notice is given once to each caller', async () => {
        await using world = worldOf(`/usr/bin/${shell}`, { blockedCommands: ['touch'] });
        await world.run('export KEPT=$((40 + 2)); cd /', { sessionId: 's' });
        const { stdout } = await world.run('echo "$KEPT $PWD ${BASH_VERSION:+bash}"', { sessionId: 's' });
        expect(stdout).toBe('42 / bash\n');
        expect(world.security.shellNotice({ principal: 'local' })).toMatch(
          /^Commands run in \/bin\/bash rather than /,
        );
        expect(world.security.shellNotice({ principal: 'local' })).toBeUndefined();
        expect(world.security.shellNotice({ principal: 'another' })).toBeDefined();
      });
    },
  );
});

describe('the shell that is judged', () => {
  const lists = { hasAllowList: false, hasLists: true };
  test.each([
    ['/bin/zsh', { hasAllowList: false, hasLists: false }, '/bin/zsh'],
    ['/bin/zsh', lists, '/bin/bash'],
    ['/bin/sh', lists, '/bin/bash'],
    ['/opt/homebrew/bin/bash', lists, '/opt/homebrew/bin/bash'],
    ['/opt/homebrew/bin/bash', { hasAllowList: true, hasLists: true }, '/bin/bash'],
  ])('%s under %o', (shell, policy, expected) => {
    expect(judgedShell(shell, policy)).toBe(expected);
  });

  test.each([
    ['zsh', false],
    ['fish', false],
    ['bash', true],
    ['sh', true],
  ] as const)('a terminal with %s under a block-list: %s', async (shellType, isAllowed) => {
    await using world = worldOf('/bin/bash', { blockedCommands: ['touch'] });
    const request = (executionId: string) =>
      world.security.authorize({
        principal: 'local',
        client: 'test',
        requestId: 'req',
        executionId,
        command: '',
        mode: 'terminal',
        sessionId: undefined,
        workingDirectory: undefined,
        defaultDirectory: world.settings.defaultWorkdir,
        callerEnvironment: {},
        sessionEnvironment: new Map(),
        path: '/usr/bin:/bin',
        terminal: {
          shell: shellType,
          scripts: '/tmp',
          start: () => ({ argv: [shellType], environment: {} }),
        },
      });
    const code = await request('term_1').then(
      () => undefined,
      (error: unknown) => (error as { code?: string }).code,
    );
    expect(code).toBe(isAllowed ? undefined : 'SECURITY_003');
  });

  test('a terminal without a shell of its own runs bash under a list', async () => {
    await using listed = worldOf('/usr/bin/zsh', { askCommands: ['git push'] });
    expect(listed.security.terminalShellFor('local')).toBe('/bin/bash');
    await using free = worldOf('/usr/bin/zsh', {});
    expect(free.security.terminalShellFor('local')).toBe('/usr/bin/zsh');
  });
});
