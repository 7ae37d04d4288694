/**
 * The sandbox around commands: whether there is one on this machine, and what it is for an execution. Fails closed: where
 * it is required and does not stand, nothing runs.
 */
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { ShellServerError } from '../../base/errors.ts';
import { once } from '../../base/once.ts';
import type { SecuritySettings, Settings } from '../../base/settings.ts';
import { ASKPASS_PLACE, askpassProgram } from '../askpass.ts';
import { bwrapOptions } from './bwrap.ts';
import { inOwnCache } from './caches.ts';
import { createDomains } from './domains.ts';
import { type FindOptions, type Found, findSandbox, runsWithout, type SandboxState } from './find-sandbox.ts';
import { type Profile, type SandboxSpec, SCRIPTS_PLACE } from './profile.ts';
import { type Built, createProfiles } from './profiles.ts';
import { OWN_CACHE } from './protected-paths.ts';
import type { SandboxOptions } from './sandbox-options.ts';
import { seatbeltProfile } from './seatbelt.ts';
import { buildSeccompFilter } from './seccomp.ts';
import { makeCaches, tmpDirectoryOf } from './state-files.ts';

export type { SandboxState } from './find-sandbox.ts';
export type { SandboxOptions } from './sandbox-options.ts';

export interface Sandbox {
  /** Found out once, by real attempts. */
  state(): Promise<SandboxState>;
  /**
   * For one execution; undefined where there is none and none is required. Throws SECURITY_003 otherwise. With the
   * directory of a terminal's scripts, those are inside too.
   */
  prepare(principal: string, scripts?: string): Promise<PreparedSandbox | undefined>;
  /**
   * For the login shell that is asked for its PATH: nothing can be written, and there is no network. Without a sandbox where
   * commands have none either; undefined where it must not run, or nobody would use its answer.
   */
  prepareForLogin(): Promise<{ readonly sandboxSpec: SandboxSpec | undefined } | undefined>;
  /** The PATH that the login shell has: what lies there is run by every shell of the user. */
  learnLoginPath(path: string): void;
  /** The next sandbox is built anew: with the last one something was wrong. */
  forget(principal: string): void;
  /** Hosts that the proxy for security.allowed_domains refused since then, to any command. */
  refusedSince(sinceMs: number): readonly string[];
  /** The host's directory that a principal's commands see as this one. */
  hostPathOf(path: string, principal: string): string;
  /** Says what holds for principals. Until then only `state` can be asked. */
  bind(rules: SandboxRules): void;
  dispose(): Promise<void>;
}

export interface SandboxRules {
  /** What holds for a principal: it may have tightened what the operator set. */
  securityOf(principal: string): SecuritySettings;
  /** The programs that exist inside, where only allowed ones do. */
  programsOf(principal: string): readonly string[];
}

export interface PreparedSandbox {
  readonly sandboxSpec: SandboxSpec;
  /** The argv with the relay to the proxy before it, where only some domains can be reached. */
  relayed(argv: readonly string[]): readonly string[];
  /** By which programs find the proxy. */
  readonly variables: Readonly<Record<string, string>>;
  /** Where the scripts of a terminal are found from inside. */
  readonly scripts: string | undefined;
  /** The program that asks the operator for a password, as it is found from inside. */
  readonly askpass: string | undefined;
}

export function createSandbox(options: SandboxOptions): Sandbox {
  const { settings } = options;
  const home = realPathOf(homedir());
  const stateDirectory = realPathOf(settings.stateDir);
  const domains = createDomains(options);
  const profiles = createProfiles(options, domains);
  const specOf = createSpecs();
  const prepareHome = once(() => makeCaches(options, home));
  let rules: SandboxRules = { securityOf: unbound, programsOf: unbound };
  const states = createStates(options, domains?.problem, async (program, disablesUserns) => {
    const { security } = settings;
    const { network, allowsPtrace } = security;
    const { profile } = await profiles.of({ principal: undefined, security, programs: () => [] });
    const built = { profile: { ...profile, network }, watched: [] };
    return specOf({ kind: 'bubblewrap', program, disablesUserns }, built, allowsPtrace);
  });

  return {
    state: async () => (await states.ask()).state,
    async prepare(principal, scripts) {
      const { state, ...found } = await states.ask();
      const { kind } = state;
      const security = rules.securityOf(principal);
      if (kind === 'container') return undefined;
      // The operator's domains also apply to a principal that tightened the rest.
      if (kind === 'none' && domains === undefined && runsWithout(security)) return undefined;
      if (kind === 'broken' || kind === 'none') throw unavailable(state);
      prepareHome();
      const programs = (): readonly string[] => rules.programsOf(principal);
      const { profile: built, watched } = await profiles.of({ principal, security, programs });
      const profile = scripts === undefined ? built : withScripts(built, scripts);
      const isRelayed = domains !== undefined && security.network;
      const hasAskpass = kind === 'bubblewrap' && built.mounts.some(({ path }) => path === ASKPASS_PLACE);
      return {
        sandboxSpec: specOf({ kind, ...found }, { profile, watched }, security.allowsPtrace),
        relayed: (argv) => (isRelayed ? domains.relayed(argv) : argv),
        variables: isRelayed ? domains.variables : {},
        scripts: profile === built ? scripts : SCRIPTS_PLACE,
        askpass: hasAskpass ? askpassProgram(ASKPASS_PLACE) : undefined,
      };
    },
    async prepareForLogin() {
      const { state, ...found } = await states.ask();
      const { kind, refuses } = state;
      if (kind !== 'bubblewrap' && kind !== 'seatbelt')
        return refuses === true ? undefined : { sandboxSpec: undefined };
      // Without the home directory commands have the system's PATH.
      if (settings.security.root !== 'host') return undefined;
      const built = { profile: await profiles.forLogin(), watched: [] };
      return { sandboxSpec: specOf({ kind, ...found }, built, false) };
    },
    refusedSince: (sinceMs) => domains?.refusedSince(sinceMs) ?? [],
    hostPathOf(path, principal) {
      const security = rules.securityOf(principal);
      if (!security.keepsTmp || states.known()?.kind !== 'bubblewrap') return path;
      return pathOnHost(path, tmpDirectoryOf(stateDirectory, principal), security, { settings, home });
    },
    learnLoginPath: profiles.learnLoginPath,
    forget: profiles.forget,
    bind(given) {
      rules = given;
    },
    async dispose() {
      profiles.dispose();
      await domains?.dispose();
    },
  };
}

/** Whether there is a sandbox, found out once, and again where it was broken. */
function createStates(
  { settings, runHelper }: SandboxOptions,
  problem: string | undefined,
  sandboxSpecOf: FindOptions['sandboxSpecOf'],
): { ask(): Promise<Found>; known(): SandboxState | undefined } {
  let asked: Promise<Found> | undefined;
  let known: SandboxState | undefined;
  return {
    known: () => known,
    async ask() {
      const asking = (asked ??= findSandbox({
        settings,
        runHelper,
        home: realPathOf(homedir()),
        problem,
        sandboxSpecOf,
      }));
      // What broke it may be gone the next time.
      const again = (): void => {
        if (asked === asking) asked = undefined;
      };
      const answer = await asking.catch((error: unknown) => {
        again();
        throw error;
      });
      known = answer.state;
      if (known.kind === 'broken') again();
      return answer;
    },
  };
}

/** From profiles to what is started. The same object as long as it is the same, so that nobody has to compare. */
function createSpecs(): (
  found: Omit<Found, 'state'> & Pick<SandboxState, 'kind'>,
  built: Built,
  allowsPtrace: boolean,
) => SandboxSpec {
  const specs = new WeakMap<Profile, SandboxSpec>();
  const filterOf = { traced: once(() => encodedFilter(true)), plain: once(() => encodedFilter(false)) };
  return ({ kind, program, disablesUserns }, { profile, watched }, allowsPtrace) => {
    if (kind === 'seatbelt') return { kind: 'seatbelt', program, profile: seatbeltProfile(profile) };
    const known = specs.get(profile);
    if (known !== undefined) return known;
    const seccomp = allowsPtrace ? filterOf.traced() : filterOf.plain();
    const { pinned, kept } = profile;
    const options = bwrapOptions(profile, { disablesUserns, hasSeccomp: seccomp !== undefined });
    const sandboxSpec = { kind: 'bubblewrap', program, options, seccomp, pinned, kept, watched } as const;
    specs.set(profile, sandboxSpec);
    return sandboxSpec;
  };
}

/** The host's path of what commands of a principal see as this one: a /tmp and a `~/.cache` of its own. */
function pathOnHost(
  path: string,
  /** For the principal, in the state directory. */
  directory: string,
  security: SecuritySettings,
  { settings, home }: { readonly settings: Settings; readonly home: string },
): string {
  const around = security.workspace.map(realPathOf).filter((root) => isInside(path, root));
  if (around.some((root) => !isInside(home, root))) return path;
  const cached = security.hasToolCaches ? inOwnCache(path, home, settings.environment) : undefined;
  if (cached !== undefined) return join(directory, OWN_CACHE, cached);
  if (around.length > 0) return path;
  if (isInside(path, '/tmp')) return join(directory, 'tmp', path.slice('/tmp'.length));
  return isInside(path, '/var/tmp') ? join(directory, 'var-tmp', path.slice('/var/tmp'.length)) : path;
}

function unbound(): never {
  throw new Error('the sandbox was asked about a principal before it knew the rules');
}

/** It takes a millisecond, and is the same for every execution. */
function encodedFilter(allowsPtrace: boolean): string | undefined {
  const filter = buildSeccompFilter(process.arch, { allowsPtrace });
  return filter === undefined ? undefined : Buffer.from(filter).toString('base64');
}

/** In a directory that is there in every root of ours, wherever the server is installed. */
function withScripts(profile: Profile, from: string): Profile {
  if (!profile.mounts.some(({ kind, path }) => kind === 'empty' && path === dirname(SCRIPTS_PLACE)))
    return profile;
  return { ...profile, mounts: [...profile.mounts, { kind: 'readable', path: SCRIPTS_PLACE, from }] };
}

function unavailable({ problem, fix }: SandboxState): ShellServerError {
  return new ShellServerError(
    'SECURITY_003',
    `Nothing runs: the sandbox is unavailable (${problem ?? 'unknown'}), and the settings require one.`,
    { hint: `${fix ?? ''} Only the operator can change security.sandbox.`.trim(), details: { problem, fix } },
  );
}
