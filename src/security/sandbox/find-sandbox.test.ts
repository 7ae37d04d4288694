import { describe, expect, test } from 'vitest';
import { needs } from '../../../test/setup/needs.ts';
import type { SecuritySettings, Settings } from '../../base/settings.ts';
import { findSandbox, runsWithout } from './find-sandbox.ts';
import { isInContainer, type RunHelper } from './probe.ts';
import type { SandboxSpec } from './profile.ts';
import { securityOf } from './sandbox.fixture.ts';

const SANDBOX_SPEC: SandboxSpec = { kind: 'seatbelt', program: '/none', profile: '' };
const HELP = [
  '--args',
  '--size',
  '--json-status-fd',
  '--block-fd',
  '--perms',
  '--clearenv',
  '--disable-userns',
];
const SHUT = ['write', 'kernel', 'processes', 'privileges', 'network']
  .map((name) => `${name} shut\n`)
  .join('');

interface Machine {
  readonly help?: readonly string[];
  /** What the attempt from inside answers. */
  readonly inside?: { readonly code: number; readonly stdout?: string; readonly stderr?: string };
  /** Whether the plainest namespace can be had, or why not. */
  readonly hasPlain?: boolean | string;
  /** Where bwrap does not even say what it can do. */
  readonly silent?: 'killed' | 'not started';
  readonly networks?: string[];
}

/** bwrap as another machine may have it. */
function find(
  machine: Machine = {},
  security: Partial<SecuritySettings> = {},
  problem?: string,
): {
  readonly found: ReturnType<typeof findSandbox>;
  readonly tried: string[];
  readonly environments: unknown[];
  /** Where writing was tried. */
  readonly places: string[];
} {
  const { help = HELP, inside = { code: 0, stdout: SHUT }, hasPlain = true, silent } = machine;
  const tried: string[] = [];
  const environments: unknown[] = [];
  const places: string[] = [];
  /** By what is tried at the moment. */
  let needed: readonly string[] = [];
  const runHelper: RunHelper = async ({ argv, sandboxSpec, environment }) => {
    const empty = { stdout: '', stderr: '' };
    if (silent === 'not started') throw new Error('spawn bwrap EAGAIN');
    if (silent === 'killed') return { code: null, ...empty };
    if (sandboxSpec !== undefined) {
      const unknown = needed.find((option) => !help.includes(option));
      if (unknown !== undefined) return { code: 1, ...empty, stderr: `bwrap: Unknown option ${unknown}\n` };
      tried.push('sandbox');
      environments.push(environment);
      places.push(...argv.slice(4));
      return { ...empty, ...inside };
    }
    if (argv.includes('--help')) return { code: 0, ...empty, stdout: help.join('\n') };
    if (argv.includes('--version')) return { code: 0, ...empty, stdout: 'bubblewrap 1.2.3\n' };
    tried.push('plain');
    return {
      code: hasPlain === true ? 0 : 1,
      ...empty,
      stderr: typeof hasPlain === 'string' ? hasPlain : '',
    };
  };
  const found = findSandbox({
    settings: {
      security: securityOf('development', {
        workspace: ['/home/me/project'],
        sandbox: 'required',
        ...security,
      }),
    } as Settings,
    runHelper,
    home: '/home/me',
    problem,
    networks: () => machine.networks ?? ['eth0', 'wlan0'],
    sandboxSpecOf: async (program, disablesUserns) => {
      needed = HELP.slice(0, disablesUserns ? undefined : -1);
      tried.push(`${program} ${disablesUserns}`);
      return SANDBOX_SPEC;
    },
  });
  return { found, tried, environments, places };
}

describe('without a look at the machine', () => {
  test('there is none where it is switched off', async () => {
    const { found, tried } = find({}, { sandbox: 'off' });
    expect(await found).toEqual({
      state: { kind: 'none', summary: 'none (switched off in the settings)' },
      program: '',
      disablesUserns: false,
    });
    expect(tried).toEqual([]);
  });

  test('a container is the sandbox where there is one, and only there', async () => {
    const { found, tried } = find({}, { sandbox: 'container' });
    const { state } = await found;
    expect(state.kind).toBe(isInContainer() ? 'container' : 'none');
    expect(state.problem === undefined).toBe(isInContainer());
    expect(tried).toEqual([]);
  });
});

describe('a network that nothing of ours keeps', () => {
  const stateOf = async (security: Partial<SecuritySettings>, machine: Machine = {}): Promise<unknown> =>
    (await find(machine, security).found).state;

  const specs = [
    ['off', 'none', 'none (switched off in the settings)'],
    ...(isInContainer() ? [['container', 'container', 'the container around this server'] as const] : []),
  ] as const;

  test.for(specs)(
    'is warned of where the settings have it off and it is there: %s',
    async ([sandbox, kind, summary]) => {
      expect(await stateOf({ sandbox, network: false })).toEqual({
        kind,
        summary: `${summary}, WARNING: the settings have the network off, but commands can reach it (eth0, wlan0)`,
        openNetwork: ['eth0', 'wlan0'],
        fix: expect.stringContaining('security.enable_network'),
      });
      expect(await stateOf({ sandbox, network: false }, { networks: [] })).toEqual({
        kind,
        summary: `${summary}, no network to reach`,
      });
      expect(await stateOf({ sandbox, network: true })).toEqual({ kind, summary });
    },
  );

  test.for(['off', 'container'] as const)(
    'cannot be held to domains with "%s": nothing runs',
    async (sandbox) => {
      expect(await stateOf({ sandbox, allowedDomains: ['example.com'] })).toMatchObject({
        kind: 'none',
        problem: `security.allowed_domains needs a sandbox of this server, and security.sandbox is "${sandbox}"`,
        refuses: true,
      });
      // With the network off they say nothing.
      expect(await stateOf({ sandbox, network: false, allowedDomains: ['example.com'] })).not.toHaveProperty(
        'refuses',
      );
    },
  );
});

test.for<[Partial<SecuritySettings>, boolean]>([
  [{ sandbox: 'auto' }, true],
  [{ sandbox: 'auto', network: false }, false],
  [{ sandbox: 'auto', allowedDomains: ['example.com'] }, false],
  [{ sandbox: 'required' }, false],
  [{ sandbox: 'container' }, false],
  [{ sandbox: 'off' }, true],
  [{ sandbox: 'off', network: false }, true],
  [{ sandbox: 'off', allowedDomains: ['example.com'] }, false],
])('%j without a sandbox: commands run is %s', ([security, runs]) => {
  expect(runsWithout(securityOf('development', { workspace: ['/work'], ...security }))).toBe(runs);
});

describe.skipIf(needs('bwrap') || process.platform !== 'linux')('bubblewrap', () => {
  test('is the sandbox where it holds', async () => {
    const { found, tried } = find();
    expect(await found).toEqual({
      state: {
        kind: 'bubblewrap',
        summary: 'bubblewrap 1.2.3, development preset, network on',
        version: 'bubblewrap 1.2.3',
        checks: { write: true, kernel: true, processes: true, privileges: true },
      },
      program: expect.stringMatching(/\/bwrap$/),
      disablesUserns: true,
    });
    expect(tried).toEqual([expect.stringMatching(/bwrap true$/), 'sandbox']);
  });

  test('says what network there is', async () => {
    const summaryOf = async (security: Partial<SecuritySettings>): Promise<string> =>
      (await find({}, security).found).state.summary;
    expect(await summaryOf({ network: false })).toMatch(/network off$/);
    expect(await summaryOf({ allowedDomains: ['a.example', 'b.example'] })).toMatch(
      /network to a\.example, b\.example$/,
    );
  });

  test('tries the network where it must be off, and the home directory where it must not be written to', async () => {
    const triedOf = async (security: Partial<SecuritySettings>): Promise<unknown> => {
      const { found, environments, places } = find({}, security);
      await found;
      return { network: (environments[0] as Record<string, string>)['NETWORK_TRIED'], places };
    };
    const system = ['/', '/usr', '/etc'];
    expect(await triedOf({})).toEqual({ network: '0', places: [...system, '/home/me'] });
    expect(await triedOf({ network: false })).toMatchObject({ network: '1' });
    for (const workspace of ['/home/me', '/home'])
      expect(await triedOf({ workspace: [workspace] })).toMatchObject({ places: system });
    expect(await triedOf({ root: 'minimal' })).toMatchObject({ places: system });
  });

  test.for(['/usr', '/etc'])(
    'does not try to write where the operator lets commands write: %s',
    async (path) => {
      for (const security of [{ workspace: [path] }, { writablePaths: [path] }]) {
        const { found, places } = find({}, security);
        await found;
        expect(places).not.toContain(path);
        expect(places).toContain('/');
      }
    },
  );

  test('of an older version goes without what it does not know', async () => {
    const { found } = find({ help: HELP.filter((option) => option !== '--disable-userns') });
    expect(await found).toMatchObject({ state: { kind: 'bubblewrap' }, disablesUserns: false });
  });

  test.for(HELP.slice(0, -1))('of a version without %s is none', async (option) => {
    const { found, tried } = find({ help: HELP.filter((other) => other !== option) });
    expect(await found).toMatchObject({
      state: { kind: 'none', problem: `bubblewrap 1.2.3 does not know ${option}`, fix: /^Update it: / },
      program: '',
    });
    expect(tried).not.toContain('sandbox');
  });

  const OPEN = { code: 0, stdout: SHUT.replace('kernel shut', 'kernel open') };
  test('that can be escaped is broken, not missing: nothing may run without it', async () => {
    const { found, tried } = find({ inside: OPEN });
    expect(await found).toEqual({
      state: {
        kind: 'broken',
        summary: 'broken (a command could escape it: kernel)',
        problem: 'a command could escape it: kernel',
        fix: expect.stringContaining('[security]'),
        refuses: true,
        version: 'bubblewrap 1.2.3',
        checks: { write: true, kernel: false, processes: true, privileges: true },
      },
      program: '',
      disablesUserns: false,
    });
    expect(tried.at(-1)).toBe('plain');
  });

  test('that fails where a plain one works is broken', async () => {
    const inside = { code: 1, stderr: "bwrap: Can't find source path /x: No such file or directory\n" };
    const { state } = await find({ inside }).found;
    expect(state).toMatchObject({
      kind: 'broken',
      problem: "bwrap: Can't find source path /x: No such file or directory",
    });
  });

  test('that fails where no plain one works either is missing', async () => {
    const inside = { code: 1, stderr: 'bwrap: setting up uid map: Permission denied\n' };
    const { state } = await find({ inside, hasPlain: false }).found;
    expect(state).toMatchObject({ kind: 'none', problem: 'bwrap: setting up uid map: Permission denied' });
    expect(state.fix).toBeDefined();
  });

  test.for<Machine>([
    { silent: 'killed' },
    { silent: 'not started' },
    {
      inside: { code: 1 },
      hasPlain: 'bwrap: Creating new namespace failed: Resource temporarily unavailable',
    },
    { inside: { code: 1 }, hasPlain: "bwrap: Can't fork: Cannot allocate memory" },
  ])('that this machine has no room for just now is no reason to go without: %j', async (machine) => {
    const { state } = await find(machine, { sandbox: 'auto' }).found;
    expect(state).toMatchObject({
      kind: 'broken',
      refuses: true,
      fix: expect.stringContaining('Call again'),
    });
  });

  test('that could not be set up is tried again, since what was to be mounted may have gone', async () => {
    const { found, tried } = find({ inside: { code: 1 } });
    expect(await found).toMatchObject({ state: { kind: 'broken' } });
    expect(tried.filter((what) => what === 'sandbox')).toHaveLength(3);
    const open = find({ inside: OPEN });
    await open.found;
    expect(open.tried.filter((what) => what === 'sandbox')).toHaveLength(1);
  });

  test('is not enough where something else is missing that the settings ask for', async () => {
    const { found, tried } = find({}, {}, 'security.allowed_domains needs socat');
    expect(await found).toMatchObject({
      state: { kind: 'none', problem: 'security.allowed_domains needs socat', refuses: true },
    });
    expect(tried).toEqual([]);
  });
});
