import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createWorld } from '../../test/support/world.ts';
import { PRESET_NAMES, type PresetName, tightenTo } from '../base/config/presets.ts';
import type { SecuritySettings } from '../base/settings.ts';
import { readAudit } from './audit/read.ts';
import { isLooserPreset } from './tighten.ts';

/** What a token says its principal starts with, over what the operator's settings say. */
const STARTS: readonly (readonly [operator: PresetName, token: PresetName | undefined, holds: PresetName])[] =
  [
    ['development', undefined, 'development'],
    ['development', 'development', 'development'],
    ['development', 'sandbox', 'sandbox'],
    ['development', 'production', 'production'],
    ['development', 'minimal', 'minimal'],
    ['sandbox', 'development', 'sandbox'],
    ['sandbox', 'production', 'production'],
    ['production', 'development', 'production'],
    ['production', 'sandbox', 'production'],
    ['production', 'minimal', 'minimal'],
    ['minimal', 'sandbox', 'minimal'],
  ];

it.each(STARTS)('%s with a token for %s is %s, for its principal alone', async (preset, token, holds) => {
  await using world = createWorld({ settings: { security: { preset } } });
  const { security } = world;
  for (let request = 0; request < 3; request++) security.admit('agent', token);
  expect(security.restrictions.of('agent').security.preset).toBe(holds);
  expect(security.restrictions.of('other').security.preset).toBe(preset);
});

it('what a principal has tightened is not loosened by its token', async () => {
  await using world = createWorld();
  const { security } = world;
  const caller = { principal: 'agent', requestId: 'req_test', client: { name: 'test' } };
  security.admit('agent', 'sandbox');
  security.tighten(caller, { preset: 'production', blockedCommands: ['uname'] });
  for (const preset of PRESET_NAMES) {
    security.admit('agent', preset);
    const { restrictions } = security.restrictions.of('agent');
    expect(restrictions.blockedCommands).toContain('uname');
    expect(['production', 'minimal']).toContain(restrictions.preset);
  }
  expect(() => security.tighten(caller, { preset: 'sandbox' })).toThrow(
    expect.objectContaining({ code: 'AUTH_003' }),
  );
});

it('directories that are allowed twice are writable once', async () => {
  const lists = { allowedDirectories: ['/', '/etc', '/etc/'], workspace: ['/opt', '/etc'] };
  await using world = createWorld({ settings: { security: lists } });
  expect(world.security.restrictions.of('agent').security.workspace).toEqual(['/opt', '/etc']);
});

const PAIRS = PRESET_NAMES.slice(1).flatMap((first) =>
  PRESET_NAMES.map((second) => [first, second] as const),
);

it.each(PAIRS)('nothing of the preset %s is lost by asking for %s after it', async (first, second) => {
  await using world = createWorld({ settings: { security: { sandbox: 'auto' } } });
  const { security } = world;
  const held = () => security.restrictions.of('agent').security;
  security.admit('agent', first);
  const before = held();
  const caller = { principal: 'agent', requestId: 'req_test', client: { name: 'test' } };
  if (!isLooserPreset(before.preset, second)) security.tighten(caller, { preset: second });
  expect(tightenTo(held(), first)).toEqual(held());
  expect(PRESET_NAMES.indexOf(held().preset)).toBeGreaterThanOrEqual(PRESET_NAMES.indexOf(before.preset));
});

it('production and a token for minimal keep what both allow', async () => {
  await using world = createWorld({ settings: { security: { preset: 'production' } } });
  const { security } = world;
  security.admit('agent', 'minimal');
  const { policy } = security.restrictions.of('agent');
  const before = security.restrictions.of('other').policy;
  const context = {
    directory: '/',
    home: '/root',
    realPath: (path: string) => path,
    environment: {},
    protectedProcesses: [],
  };
  for (const command of ['ls', 'cat x', 'grep a b', 'git status', 'find .', 'sort x']) {
    const wasDenied = before.judge(command, context).decision === 'deny';
    expect(wasDenied && policy.judge(command, context).decision === 'allow').toBe(false);
  }
});

const LISTS: readonly (readonly [
  what: string,
  settings: Partial<SecuritySettings>,
  allowed: readonly string[],
  denied: readonly string[],
])[] = [
  [
    'a table takes the place of the one of minimal',
    { preset: 'minimal', allowedArguments: { make: ['test'] } },
    ['make test', 'make test > f'],
    ['npm test', 'cat f', 'make install'],
  ],
  [
    'a table extends that of minimal',
    { preset: 'minimal', extendsAllowed: true, allowedArguments: { make: ['test'], git: ['diff'], ls: [] } },
    ['make test', 'npm test', 'git diff', 'git status', 'cat f', 'ls -R', 'ls -la'],
    ['make install', 'git push', 'rm f', 'echo x > f', 'cp a b'],
  ],
  [
    'a table extends the reading commands',
    { preset: 'production', extendsAllowed: true, allowedArguments: { npm: ['test'] } },
    ['npm test', 'grep x y', 'git status'],
    ['npm publish', 'rm f', 'echo x > f', 'sed -i p f'],
  ],
  [
    'commands extend the reading commands',
    { mode: 'restrictive', extendsAllowed: true, allowedCommands: ['make'], allowWrites: true },
    ['make', 'grep x y', 'echo x > f', 'sed -i p f'],
    ['rm f'],
  ],
  [
    'lists extend the reading commands where there was no list',
    { preset: 'development', extendsAllowed: true, allowedCommands: ['tee'] },
    ['ls', 'grep x y'],
    ['rm f', 'tee f', 'echo x > f'],
  ],
  [
    'a list of one’s own writes in the workspace alone',
    { allowedCommands: ['echo', 'tee'] },
    ['echo x > f', 'tee f', 'tee /tmp/f'],
    ['echo x > /etc/f', 'tee /etc/f', 'tee .git/config'],
  ],
];

it.each(LISTS)('%s', async (_, security, allowed, denied) => {
  await using world = createWorld({ settings: { security } });
  const { policy } = world.security.restrictions.of('local');
  const decide = (command: string) =>
    policy.judge(command, { directory: world.settings.defaultWorkdir, home: '/home/me' }).decision;
  expect(allowed.filter((command) => decide(command) !== 'allow')).toEqual([]);
  expect(denied.filter((command) => decide(command) !== 'deny')).toEqual([]);
});

it('a restriction keeps its id until the next change, and the audit log has it', async () => {
  await using world = createWorld();
  const { security } = world;
  const caller = { principal: 'agent', requestId: 'req_test', client: { name: 'test' } };
  const idOf = (wish: Parameters<typeof security.tighten>[1]) =>
    security.tighten(caller, wish).effective.restriction?.id;
  expect(idOf({})).toBeUndefined();
  const first = idOf({ blockedCommands: ['uname'] });
  expect(first).toMatch(/^rst_/);
  expect(idOf({})).toBe(first);
  expect(idOf({ blockedCommands: ['uname'] })).toBe(first);
  const second = idOf({ blockedCommands: ['touch'] });
  expect(second).not.toBe(first);
  expect(() => idOf({ blockedCommands: [] })).toThrow('only be tightened');
  expect(security.restrictions.of('agent').restriction?.id).toBe(second);
  expect(security.restrictions.of('other').restriction).toBeUndefined();
  const ids = [...readAudit(join(world.settings.stateDir, 'audit'))]
    .filter(({ fields }) => fields['event'] === 'restrictions_tightened')
    .map(({ fields }) => fields['restrictionId'] ?? fields['restriction_id']);
  expect(ids).toEqual([undefined, first, first, first, second]);
});
