import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createWorld, type World } from '../../test/support/world.ts';
import { silentLog } from '../base/log.ts';
import type { Settings } from '../base/settings.ts';
import { leftByCalls } from '../commands/left-by-calls.ts';
import { createCompat } from '../compat/compat.ts';
import type { ExtraRules } from './security.ts';

const COMMANDS = [
  'ls',
  '',
  '   ',
  'x'.repeat(200_000),
  'rm -rf /',
  'touch x',
  'git push',
  'cat /etc/hostname',
  'p=/etc/x; cat $p',
  'cd -',
  'echo x > f',
  'dd if=a',
  '$(echo ls)',
  'ls | xargs cat',
  'a\0b',
];

const SETTINGS: readonly [string, WorldSettings][] = [
  ['nothing', {}],
  ['a block-list', { security: { blockedCommands: ['touch'] } }],
  ['an ask-list', { security: { askCommands: ['git push'] } }],
  ['an allow-list', { security: { mode: 'custom', allowedCommands: ['ls', 'echo'] } }],
  ['the reading commands', { security: { mode: 'restrictive' } }],
  ['rules of a tool', { shellTool: { blockedCommands: ['dd', 'ls -R'] } }],
];

interface WorldSettings {
  readonly security?: Partial<Settings['security']>;
  readonly shellTool?: Partial<Settings['shellTool']>;
}

function worldOf({ security = {}, shellTool = {} }: WorldSettings): World {
  return createWorld({
    settings: {
      security,
      shellTool: {
        defaultTimeoutSeconds: 1,
        maxTimeoutSeconds: 1,
        allowedDirectories: undefined,
        maxOutputBytes: 1000,
        blockedCommands: [],
        logsCommands: false,
        abortFile: undefined,
        ...shellTool,
      },
    },
  });
}

/** Of both, what a caller is told: nothing, or the code and the rule. */
async function compare(world: World, command: string, about: About): Promise<[unknown, unknown]> {
  const request = {
    principal: 'local',
    client: 'test',
    requestId: 'req',
    executionId: 'exec_x',
    command,
    mode: 'foreground',
    sessionId: undefined,
    defaultDirectory: world.settings.defaultWorkdir,
    callerEnvironment: {},
    sessionEnvironment: new Map<string, string>(),
    path: '/usr/bin:/bin',
    ...about,
  };
  const told = (error: unknown) => {
    const { code, details } = error as { code?: string; details?: { rule?: string } };
    return { code, rule: details?.rule };
  };
  const decided = await world.security.authorize(request).then(() => 'allow', told);
  const explained = await world.security.explain(request).then((judgement) => {
    if (judgement?.decision === 'allow') return 'allow';
    return { code: judgement?.code ?? 'SECURITY_003', rule: judgement?.rule };
  }, told);
  return [explained, decided];
}

interface About {
  readonly workingDirectory: string | undefined;
  readonly rules?: ExtraRules;
}

describe('what is explained is what is decided', () => {
  test.each(SETTINGS)('under %s', async (_, settings) => {
    await using world = worldOf(settings);
    const { rulesOf } = createCompat(world.settings, silentLog);
    for (const tool of [undefined, 'shell'])
      for (const command of COMMANDS) {
        const rules = rulesOf(tool);
        const [explained, decided] = await compare(world, command, {
          workingDirectory: undefined,
          ...(rules !== undefined && { rules }),
        });
        expect({ command: command.slice(0, 40), tool, told: explained }).toEqual({
          command: command.slice(0, 40),
          tool,
          told: decided,
        });
      }
  });

  test.each(['inner', 'missing', '/', '..', 'x'.repeat(5000)])(
    'in the directory %s',
    async (workingDirectory) => {
      await using outer = createWorld();
      const inner = join(outer.settings.defaultWorkdir, 'inner');
      mkdirSync(inner);
      await using world = createWorld({
        settings: {
          defaultWorkdir: outer.settings.defaultWorkdir,
          security: { allowedDirectories: [inner] },
        },
      });
      const [explained, decided] = await compare(world, 'ls', { workingDirectory });
      expect(explained).toEqual(decided);
      const [asDefault] = await compare(world, 'ls', { workingDirectory: undefined });
      expect(asDefault).toMatchObject({ code: 'SECURITY_002' });
    },
  );

  test('with what the principal has tightened, found again in the audit log', async () => {
    await using world = createWorld();
    const caller = (principal: string) => ({ principal, requestId: 'req', client: { name: 'test' } });
    world.security.tighten(caller('agent'), { blockedCommands: ['touch'] });
    world.security.tighten(caller('agent'), { allowedDirectories: [world.settings.defaultWorkdir] });
    world.security.tighten(caller('other'), { blockedCommands: ['ls'] });
    const { tightened: wishes } = leftByCalls('agent', world.settings.stateDir);
    expect(wishes).toEqual([
      { blockedCommands: ['touch'] },
      { allowedDirectories: [world.settings.defaultWorkdir] },
    ]);
    await using another = createWorld();
    for (const wish of wishes) another.security.retighten('agent', wish);
    const { restrictions } = another.security.restrictions.of('agent');
    expect(restrictions).toMatchObject({
      blockedCommands: ['touch'],
      allowedDirectories: [world.settings.defaultWorkdir],
    });
    expect(leftByCalls('nobody', world.settings.stateDir).tightened).toEqual([]);
    expect(leftByCalls('agent', join(world.settings.stateDir, 'missing')).tightened).toEqual([]);
  });

  test('a server that has ended tightens nothing any more', async () => {
    const world = createWorld({ directory: (await import('node:fs')).mkdtempSync('/tmp/world-ended-') });
    world.security.tighten(
      { principal: 'agent', requestId: 'req', client: { name: 'test' } },
      { blockedCommands: ['touch'] },
    );
    await world[Symbol.asyncDispose]();
    expect(leftByCalls('agent', world.settings.stateDir).tightened).toEqual([]);
    (await import('node:fs')).rmSync(world.directory, { recursive: true });
  });
});
