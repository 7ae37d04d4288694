/**
 * The wall around commands: whether there is one on this machine, and what it is for an execution. Fails closed: where
 * it is required and does not stand, nothing runs.
 */
import { createHash } from 'node:crypto';
import { accessSync, constants, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { ShellServerError } from '../../base/errors.ts';
import { makePrivateDirectory, writeFileWhole } from '../../base/files.ts';
import type { Log } from '../../base/log.ts';
import { once } from '../../base/once.ts';
import type { Settings } from '../../base/settings.ts';
import { buildProfile, type ProfileInput } from './build-profile.ts';
import { bwrapOptions } from './bwrap.ts';
import { createDomains } from './domains.ts';
import { type Explanation, explainDenial, type Failed } from './explain.ts';
import { kindOf } from './look.ts';
import { openings } from './openings.ts';
import { CACHES_TO_MAKE, PRIVATE_IN_SYSTEM } from './private-paths.ts';
import { fixFor, installCommand, isInContainer, probeWall, type RunHelper } from './probe.ts';
import type { Profile, Wall } from './profile.ts';
import { redactFiles } from './redact.ts';
import { seatbeltProfile } from './seatbelt.ts';
import { buildSeccompFilter } from './seccomp.ts';
import { createSurvey } from './survey.ts';

export interface SandboxState {
  readonly kind: 'bubblewrap' | 'seatbelt' | 'container' | 'none';
  /** One sentence for people: what holds, or what is missing. */
  readonly summary: string;
  /** Why there is no wall where one was wanted, and what would give one. */
  readonly problem?: string;
  readonly fix?: string;
  readonly version?: string;
  /** What was tried from inside, and whether it was stopped. */
  readonly checks?: Readonly<Record<string, boolean>>;
}

export interface Sandbox {
  /** Found out once, by real attempts. */
  state(): Promise<SandboxState>;
  /** For one execution; undefined where there is none and none is required. Throws SECURITY_003 otherwise. */
  wallFor(principal: string): Promise<Wall | undefined>;
  /** The argv with the relay to the proxy before it, where only some domains can be reached. */
  relayed(argv: readonly string[]): readonly string[];
  readonly proxyVariables: Readonly<Record<string, string>>;
  /** What the wall had to do with a failure. */
  explain(failed: Failed & { readonly startedAtMs: number }): Explanation | undefined;
  /** The host's directory that a principal's commands see as this one. */
  hostPathOf(path: string, principal: string): string;
  dispose(): Promise<void>;
}

export interface SandboxOptions {
  readonly settings: Settings;
  readonly runHelper: RunHelper;
  /** The server's own program and what it loads. */
  readonly installation: readonly string[];
  /** The shell that runs commands: it is there even where only allowed programs are. */
  readonly shell: string;
  /** Private, and gone with the server. */
  readonly runDirectory: string;
  readonly log: Log;
}

const BWRAP_PLACES = [
  '/usr/bin/bwrap',
  '/usr/local/bin/bwrap',
  '/bin/bwrap',
  '/run/current-system/sw/bin/bwrap',
];
const SEATBELT = '/usr/bin/sandbox-exec';

export function createSandbox(options: SandboxOptions): Sandbox {
  const { settings } = options;
  const { security } = settings;
  const home = realPathOf(homedir());
  const stateDirectory = realPathOf(settings.stateDir);
  const survey = createSurvey(surveyOf(options, home));
  const domains = createDomains(options);
  const prepareHome = once(() => makeCaches(options, home));
  let found: Promise<Found> | undefined;

  async function profileFor(principal: string | undefined): Promise<Profile> {
    const { specialFiles, repositories } = await survey.look();
    const opened = openings(security.expose, { homedir: home, environment: settings.environment });
    const input: ProfileInput = {
      security,
      homedir: home,
      environment: settings.environment,
      ownPaths: ownPathsOf(settings, stateDirectory),
      installation: options.installation.map(realPathOf),
      specialFiles,
      repositories,
      tmpDirectory:
        security.keepsTmp && principal !== undefined
          ? makeTmp(tmpDirectoryOf(stateDirectory, principal))
          : undefined,
      redacted:
        security.root === 'host'
          ? redactFiles(home, join(stateDirectory, 'redacted'), opened.paths)
          : new Map(),
      programs: [options.shell, 'bash', 'sh', 'env', 'prlimit', ...programsOf(settings)],
      emptyFile: principal === undefined ? undefined : makeEmptyFile(stateDirectory),
      isRoot: process.getuid?.() === 0,
      proxySocket: principal === undefined ? undefined : await domains?.open(),
    };
    return buildProfile(input);
  }

  async function find() {
    const wanted = security.sandbox;
    const none = (problem: string, fix: string) => ({
      state: { kind: 'none', summary: `none (${problem})`, problem, fix } satisfies SandboxState,
      program: '',
      disablesUserns: false,
    });
    const plain = (kind: SandboxState['kind'], summary: string) => ({
      state: { kind, summary } satisfies SandboxState,
      program: '',
      disablesUserns: false,
    });
    if (wanted === 'off') return plain('none', 'none (switched off in the settings)');
    if (wanted === 'container') {
      if (isInContainer()) return plain('container', 'the container around this server');
      return none(
        'security.sandbox is "container", but this server does not run in one',
        'Start it in the container, or set security.sandbox to "auto" or "required".',
      );
    }
    if (process.platform === 'darwin') return findSeatbelt(plain, none);
    if (process.platform !== 'linux') {
      return none(
        `there is no sandbox for ${process.platform}`,
        'Run the server on Linux, macOS or in a container.',
      );
    }
    const program = BWRAP_PLACES.find(isExecutable);
    if (program === undefined) return none('bubblewrap is not installed', `${installCommand('bubblewrap')}.`);
    if (domains?.problem !== undefined) return none(domains.problem, `${installCommand('socat')}.`);
    return probe(program, none);
  }

  async function probe(program: string, none: (problem: string, fix: string) => Found): Promise<Found> {
    const help = await options.runHelper({ argv: [program, '--help'] });
    const { stdout: version } = await options.runHelper({ argv: [program, '--version'] });
    for (const needed of ['--args', '--size', '--json-status-fd', '--block-fd', '--perms']) {
      if (!help.stdout.includes(needed))
        return none(
          `${version.trim()} does not know ${needed}`,
          `Update it: ${installCommand('bubblewrap')}.`,
        );
    }
    const disablesUserns = help.stdout.includes('--disable-userns');
    const profile = await profileFor(undefined);
    const wall = bubblewrap(program, { ...profile, network: security.network }, disablesUserns);
    const isHomeShown =
      security.root === 'host' && !security.workspace.some((path) => isInside(home, realPathOf(path)));
    const result = await probeWall(wall, options.runHelper, {
      triesHome: isHomeShown ? home : undefined,
      triesNetwork: !security.network,
      shell: '/bin/sh',
    });
    const { checks } = result;
    if (!result.holds) {
      const problem = result.problem ?? 'it does not hold';
      const { state, ...rest } = none(problem, fixFor(problem));
      return { ...rest, state: { ...state, checks, version: version.trim() } };
    }
    const summary = `${version.trim()}, ${security.preset} preset, network ${networkOf(settings)}`;
    return {
      state: { kind: 'bubblewrap', summary, version: version.trim(), checks },
      program,
      disablesUserns,
    };
  }

  function bubblewrap(program: string, profile: Profile, disablesUserns: boolean): Wall {
    const seccomp = buildSeccompFilter(process.arch, { allowsPtrace: security.allowsPtrace });
    return {
      kind: 'bubblewrap',
      program,
      options: bwrapOptions(profile, { features: { disablesUserns }, hasSeccomp: seccomp !== undefined }),
      seccomp: seccomp === undefined ? undefined : Buffer.from(seccomp).toString('base64'),
      pinned: profile.pinned,
      lastMount: profile.mounts.at(-1)?.path ?? '/dev/shm',
    };
  }

  let known: SandboxState | undefined;
  async function ask(): Promise<Found> {
    const answer = await (found ??= find());
    known = answer.state;
    return answer;
  }

  return {
    state: async () => (await ask()).state,
    async wallFor(principal) {
      const { state, program, disablesUserns } = await ask();
      if (state.kind === 'container') return undefined;
      if (state.kind === 'none') {
        if (state.problem === undefined) return undefined;
        // What was asked for in the settings must not silently not apply.
        if (security.sandbox === 'auto' && security.network && domains === undefined) return undefined;
        throw unavailable(state);
      }
      prepareHome();
      const profile = await profileFor(principal);
      if (state.kind === 'seatbelt') return { kind: 'seatbelt', program, profile: seatbeltProfile(profile) };
      return bubblewrap(program, profile, disablesUserns);
    },
    relayed: (argv) => domains?.relayed(argv) ?? argv,
    proxyVariables: domains?.variables ?? {},
    explain: (failed) => domains?.explain(failed) ?? explainDenial(failed, security),
    hostPathOf(path, principal) {
      if (!security.keepsTmp || known?.kind !== 'bubblewrap') return path;
      const directory = tmpDirectoryOf(stateDirectory, principal);
      const isReal = security.workspace.some((root) => isInside(path, realPathOf(root)));
      if (isReal) return path;
      if (isInside(path, '/tmp')) return join(directory, 'tmp', path.slice('/tmp'.length));
      return isInside(path, '/var/tmp') ? join(directory, 'var-tmp', path.slice('/var/tmp'.length)) : path;
    },
    async dispose() {
      survey.dispose();
      await domains?.dispose();
    },
  };
}

type Found = { state: SandboxState; program: string; disablesUserns: boolean };

function findSeatbelt(
  plain: (kind: SandboxState['kind'], summary: string) => Found,
  none: (problem: string, fix: string) => Found,
): Found {
  if (!isExecutable(SEATBELT)) return none('sandbox-exec is not there', 'It is a part of macOS.');
  return { ...plain('seatbelt', 'Seatbelt (its profile was never tried by the authors)'), program: SEATBELT };
}

function unavailable({ problem, fix }: SandboxState): ShellServerError {
  return new ShellServerError(
    'SECURITY_003',
    `Nothing runs: the settings require a sandbox, and there is none here (${problem ?? 'unknown'}).`,
    { hint: `${fix ?? ''} Only the operator can change security.sandbox.`.trim(), details: { problem, fix } },
  );
}

function surveyOf({ settings }: SandboxOptions, home: string): Parameters<typeof createSurvey>[0] {
  const { security } = settings;
  const workspace = security.workspace.map(realPathOf);
  const hidden = [
    '/proc',
    '/sys',
    '/dev',
    '/run',
    '/tmp',
    '/var/tmp',
    '/usr',
    '/nix',
    '/gnu',
    '/snap',
    '/lib',
    '/bin',
  ];
  return {
    roots: security.root === 'host' ? [home, '/', ...ancestors(workspace)] : [],
    workspace,
    skip: [
      ...hidden,
      ...PRIVATE_IN_SYSTEM.filter((path) => !isInside(home, path)),
      settings.stateDir,
      ...workspace,
    ],
  };
}

/** What lies beside the workspace is the nearest to it. */
function ancestors(workspace: readonly string[]): string[] {
  return [...new Set(workspace.map((path) => join(path, '..')))].filter((path) => path !== '/tmp');
}

function ownPathsOf(settings: Settings, stateDirectory: string): string[] {
  return [...settings.files.map(realPathOf), stateDirectory];
}

function tmpDirectoryOf(stateDirectory: string, principal: string): string {
  const name = createHash('sha256').update(principal).digest('hex').slice(0, 16);
  return join(stateDirectory, 'tmp', name);
}

function makeTmp(directory: string): string {
  makePrivateDirectory(directory);
  for (const name of ['tmp', 'var-tmp']) mkdirSync(join(directory, name), { recursive: true, mode: 0o700 });
  return directory;
}

function makeEmptyFile(stateDirectory: string): string {
  const path = join(stateDirectory, 'empty');
  if (kindOf(path) !== 'file') {
    makePrivateDirectory(stateDirectory);
    writeFileWhole(path, '');
  }
  return path;
}

/** As npm and others would on their first use; inside they could not. */
function makeCaches({ settings, log }: SandboxOptions, home: string): void {
  if (!settings.security.hasToolCaches || kindOf(home) !== 'directory') return;
  for (const name of CACHES_TO_MAKE) {
    try {
      if (kindOf(join(home, name)) === undefined) mkdirSync(join(home, name));
    } catch {
      log.debug('a cache directory could not be made', { name });
    }
  }
}

function programsOf(_settings: Settings): readonly string[] {
  return [];
}

function networkOf({ security }: Settings): string {
  if (!security.network) return 'off';
  return security.allowedDomains.length === 0 ? 'on' : `to ${security.allowedDomains.join(', ')}`;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
