import { describe, expect, test } from 'vitest';
import { lacks } from '../../test/setup/needs.ts';
import { createWorld } from '../../test/support/world.ts';
import { PRESETS } from '../base/config/presets.ts';
import type { SandboxState } from '../security/security.ts';
import { limitEnforcement } from './limit-enforcement.ts';

const NOTHING = { memory: undefined, processes: undefined, cpu: undefined };
const security = (preset: 'development' | 'sandbox', workspace = ['/work']) => ({
  ...PRESETS[preset],
  workspace,
});
const UNSANDBOXED: readonly SandboxState['kind'][] = ['none', 'container', 'broken', 'seatbelt'];

describe.skipIf(lacks(process.platform !== 'linux', 'rlimits are asked for on Linux'))(
  'without cgroups',
  () => {
    test.for(UNSANDBOXED)('and with "%s" processes and /tmp are not enforced', (sandboxKind) => {
      for (const preset of ['development', 'sandbox'] as const) {
        expect(
          limitEnforcement({ held: NOTHING, sandboxKind, security: security(preset), isRoot: false }),
        ).toMatchObject({
          processes: 'not enforced',
          tmp_size: 'not enforced',
          memory: 'measured',
          file_size: 'rlimit',
        });
      }
    });

    test('the sandbox enforces processes of an ordinary user, and not those of root', () => {
      const processesOf = (isRoot: boolean): string =>
        limitEnforcement({ held: NOTHING, sandboxKind: 'bubblewrap', security: security('sandbox'), isRoot })
          .processes;
      expect(processesOf(false)).toBe('rlimit, in the sandbox');
      expect(processesOf(true)).toBe('not enforced');
    });
  },
);

test('a /tmp is held where it is memory, and not where it is on the disk', () => {
  const tmpOf = (...of: Parameters<typeof security>): string =>
    limitEnforcement({ held: NOTHING, sandboxKind: 'bubblewrap', security: security(...of) }).tmp_size;
  expect(tmpOf('sandbox')).toBe('tmpfs, in the sandbox');
  expect(tmpOf('sandbox', ['/work', '/tmp'])).toBe('not enforced');
  expect(tmpOf('development')).toBe('not enforced');
});

test('cgroups enforce with and without a sandbox', () => {
  const held = { memory: 'cgroup v2', processes: 'cgroup v2', cpu: 'cgroup v1' } as const;
  for (const sandboxKind of ['bubblewrap', 'none'] as const) {
    expect(limitEnforcement({ held, sandboxKind, security: security('development') })).toMatchObject({
      memory: 'cgroup v2',
      processes: 'cgroup v2',
      cpu_share: 'cgroup v1',
    });
  }
});

test('a principal is told what holds for its own commands', async () => {
  await using world = createWorld();
  expect(await world.executions.limitEnforcement('local')).toMatchObject({ tmp_size: 'not enforced' });
});
