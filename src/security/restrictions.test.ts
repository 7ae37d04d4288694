import { expect, it } from 'vitest';
import { createWorld } from '../../test/support/world.ts';
import { PRESET_NAMES, type PresetName } from '../base/config/presets.ts';

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
