/** Which sandbox there can be on this machine, found out once. */
import { networkInterfaces } from 'node:os';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { messageOf } from '../../base/errors.ts';
import type { SecuritySettings, Settings } from '../../base/settings.ts';
import { canExecute } from './host-files.ts';
import {
  fixFor,
  installCommand,
  isInContainer,
  isPassing,
  type ProbeResult,
  probeSandbox,
  type RunHelper,
} from './probe.ts';
import type { SandboxSpec } from './profile.ts';

export interface SandboxState {
  /** `broken`: there could be one, but the one that the settings describe does not stand. */
  readonly kind: 'bubblewrap' | 'seatbelt' | 'container' | 'broken' | 'none';
  /** One sentence for people: what holds, or what is missing. */
  readonly summary: string;
  /** Why there is no sandbox where one was wanted, and what would give one. */
  readonly problem?: string;
  readonly fix?: string;
  /** The operator's settings let nothing run without what is missing. */
  readonly refuses?: true;
  /** The settings have the network off, nothing of ours keeps commands from it, and there is one: by these names. */
  readonly openNetwork?: readonly string[];
  readonly version?: string;
  /** What was tried from inside, and whether it was stopped. */
  readonly checks?: Readonly<Record<string, boolean>>;
}

export interface Found {
  readonly state: SandboxState;
  readonly program: string;
  readonly disablesUserns: boolean;
}

export interface FindOptions {
  readonly settings: Settings;
  readonly runHelper: RunHelper;
  readonly home: string;
  /** Something else that the settings ask for cannot be had. */
  readonly problem: string | undefined;
  sandboxSpecOf(program: string, disablesUserns: boolean): Promise<SandboxSpec>;
  /** Names of the networks that can be reached from here. */
  networks?: () => string[];
}

const BWRAP = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap', '/run/current-system/sw/bin/bwrap'];
const NEEDED = ['--args', '--size', '--json-status-fd', '--block-fd', '--perms', '--clearenv'];
const NEWEST = '--disable-userns';
const SEATBELT = '/usr/bin/sandbox-exec';

export async function findSandbox(options: FindOptions): Promise<Found> {
  const answer = await look(options);
  const { kind, problem } = answer.state;
  const refuses =
    kind === 'broken' ||
    (kind === 'none' && problem !== undefined && !runsWithout(options.settings.security));
  return refuses ? { ...answer, state: { ...answer.state, refuses } } : answer;
}

/** Whether commands run where there is no sandbox: what was asked for must not silently not apply. */
export function runsWithout(security: SecuritySettings): boolean {
  if (hasDomains(security)) return false;
  // An operator who switches it off was warned that the network is then available.
  return security.sandbox === 'off' || (security.sandbox === 'auto' && security.network);
}

const hasDomains = ({ network, allowedDomains }: SecuritySettings): boolean =>
  network && allowedDomains.length > 0;

async function look(options: FindOptions): Promise<Found> {
  const { security } = options.settings;
  const { sandbox } = security;
  if ((sandbox === 'off' || sandbox === 'container') && hasDomains(security)) {
    return missing(
      `security.allowed_domains needs a sandbox of this server, and security.sandbox is "${sandbox}"`,
      'Set security.sandbox to "auto" or "required", or take the domains out of the settings.',
    );
  }
  if (sandbox === 'off') return withNetwork('none', 'none (switched off in the settings)', options);
  if (sandbox === 'container') {
    if (isInContainer()) return withNetwork('container', 'the container around this server', options);
    return missing(
      'security.sandbox is "container", but this server does not run in one',
      'Start it in the container, or set security.sandbox to "auto" or "required".',
    );
  }
  if (process.platform === 'darwin') return findSeatbelt();
  if (process.platform !== 'linux') {
    return missing(
      `there is no sandbox for ${process.platform}`,
      'Run the server on Linux, macOS or in a container.',
    );
  }
  const program = BWRAP.find(canExecute);
  if (program === undefined)
    return missing('bubblewrap is not installed', `${installCommand('bubblewrap')}.`);
  if (options.problem !== undefined) return missing(options.problem, `${installCommand('socat')}.`);
  return tryBubblewrap(program, options);
}

async function tryBubblewrap(program: string, options: FindOptions): Promise<Found> {
  const { settings, runHelper, home } = options;
  const { security } = settings;
  const attempt = (...args: readonly string[]): ReturnType<RunHelper> =>
    runHelper({ argv: [program, ...args] }).catch((error: unknown) => ({
      code: null,
      stdout: '',
      stderr: messageOf(error),
    }));
  const open = [...security.workspace, ...security.writablePaths].map(realPathOf);
  const places = ['/', '/usr', '/etc', ...(security.root === 'host' ? [home] : [])].filter(
    // What the operator opened is no proof of anything.
    (place) => !open.some((path) => isInside(place, path)),
  );
  const probe = async (disablesUserns: boolean): Promise<ProbeResult> =>
    probeSandbox(await options.sandboxSpecOf(program, disablesUserns), runHelper, {
      places,
      triesNetwork: !security.network,
    });
  const told = attempt('--version');
  let disablesUserns = true;
  // Who knows that option knows all that are older, so that nobody waits for the list of them.
  let result = await probe(disablesUserns);
  const version = (await told).stdout.trim();
  if (!result.holds) {
    const { code: answered, stdout: help, stderr } = await attempt('--help');
    if (answered !== 0) return broken(stderr.trim() || 'bubblewrap did not answer', PASSING);
    const unknown = NEEDED.find((option) => !help.includes(option));
    if (unknown !== undefined)
      return missing(`${version} does not know ${unknown}`, `Update it: ${installCommand('bubblewrap')}.`);
    disablesUserns = help.includes(NEWEST);
    if (!disablesUserns) result = await probe(disablesUserns);
  }
  // What was to be mounted may have gone in between.
  for (let again = 0; again < 2 && !result.holds && result.isIncomplete === true; again++)
    result = await probe(disablesUserns);
  const { holds, checks, problem = 'it does not hold' } = result;
  if (holds) {
    const summary = `${version}, ${security.preset} preset, network ${networkOf(settings)}`;
    return { state: { kind: 'bubblewrap', summary, version, checks }, program, disablesUserns };
  }
  // Where a plain one can be had, this one is not missing but broken, perhaps by what a command left: that is no reason
  // to go without. Nor is a machine that has no room for it just now, which a command can bring about too.
  const plain = await attempt(...PLAIN, '/bin/true');
  if (plain.code === null || isPassing(plain.stderr)) return broken(problem, PASSING, { checks, version });
  if (plain.code !== 0) return found({ ...missing(problem, fixFor(problem)).state, checks, version });
  const fix = 'Look at the settings of [security], and at links in the home directory and the workspace.';
  return broken(problem, fix, { checks, version });
}

const PASSING = 'Call again: the machine had no room for another process, or did not answer in time.';

/** Where nothing of ours keeps the network: off in the settings and there all the same is worth a warning. */
function withNetwork(
  kind: 'none' | 'container',
  summary: string,
  { settings, networks = networkNames }: FindOptions,
): Found {
  if (settings.security.network) return found({ kind, summary });
  const openNetwork = networks();
  if (openNetwork.length === 0) return found({ kind, summary: `${summary}, no network to reach` });
  const fix =
    kind === 'container'
      ? 'Start the container without a network (docker run --network none), or set security.enable_network to true.'
      : 'Set security.sandbox to "required", or security.enable_network to true.';
  return found({
    kind,
    summary: `${summary}, WARNING: the settings have the network off, but commands can reach it (${openNetwork.join(', ')})`,
    openNetwork,
    fix,
  });
}

/** Interfaces with an address that others could answer on. */
function networkNames(): string[] {
  return Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
    addresses?.some(({ internal }) => !internal) === true ? [name] : [],
  );
}

const PLAIN = ['--unshare-user', '--unshare-pid', '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev'];

function findSeatbelt(): Found {
  if (!canExecute(SEATBELT)) return missing('sandbox-exec is not there', 'It is a part of macOS.');
  const summary = 'Seatbelt (its profile was never tried by the authors)';
  return { state: { kind: 'seatbelt', summary }, program: SEATBELT, disablesUserns: false };
}

function missing(problem: string, fix: string): Found {
  return found({ kind: 'none', summary: `none (${problem})`, problem, fix });
}

function broken(problem: string, fix: string, more: Pick<SandboxState, 'checks' | 'version'> = {}): Found {
  return found({ kind: 'broken', summary: `broken (${problem})`, problem, fix, ...more });
}

const found = (state: SandboxState): Found => ({ state, program: '', disablesUserns: false });

function networkOf({ security }: Settings): string {
  if (!security.network) return 'off';
  return security.allowedDomains.length === 0 ? 'on' : `to ${security.allowedDomains.join(', ')}`;
}
