/**
 * The sandbox around commands: whether there is one on this machine, and what it is for an execution. Fails closed: where
 * it is required and does not stand, nothing runs.
 */

import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { ShellServerError } from '../../base/errors.ts';
import { once } from '../../base/once.ts';
import type { SecuritySettings } from '../../base/settings.ts';
import { ASKPASS_PLACE, askpassDirectory, askpassProgram, hasAskpass, makeAskpass } from '../askpass.ts';
import { type WatchedPath, watchedPaths } from './appeared.ts';
import { buildProfile, type ProfileInput } from './build-profile.ts';
import { bwrapOptions } from './bwrap.ts';
import { cacheHomes, inOwnCache } from './caches.ts';
import { createDomains } from './domains.ts';
import { type Explanation, explainDenial, type Failed } from './explain.ts';
import { findPrivatePaths, privateCandidates } from './find-private.ts';
import { type Found, findSandbox, runsWithout, type SandboxState } from './find-sandbox.ts';
import { findGitDirectories } from './git-directories.ts';
import { createGitLayouts } from './git-layout.ts';
import { separateLinks } from './hard-links.ts';
import { isThere } from './host-files.ts';
import { loginProfile } from './login-profile.ts';
import { pathDirectoriesIn, pathEntriesIn } from './open-home.ts';
import { openings } from './openings.ts';
import { type Profile, type SandboxSpec, SCRIPTS_PLACE } from './profile.ts';
import { createSignatures, isFresh, placesInHome, type Signed } from './profile-cache.ts';
import { settingsIn } from './protected.ts';
import { OWN_CACHE } from './protected-paths.ts';
import { redactFiles } from './redact.ts';
import { createRoots } from './roots.ts';
import type { SandboxOptions } from './sandbox-options.ts';
import { seatbeltProfile } from './seatbelt.ts';
import { buildSeccompFilter } from './seccomp.ts';
import { makeCaches, makeEmptyFile, makeTmp, ownPathsOf, surveyOf, tmpDirectoryOf } from './state-files.ts';
import { createSurvey } from './survey.ts';

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
  /** What the sandbox had to do with a failure. */
  explain(failed: Failed & { readonly startedAtMs: number }, principal: string): Explanation | undefined;
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

interface Built {
  readonly profile: Profile;
  readonly watched: readonly WatchedPath[];
}

export function createSandbox(options: SandboxOptions): Sandbox {
  const { settings } = options;
  const { environment } = settings;
  const home = realPathOf(homedir());
  const stateDirectory = realPathOf(settings.stateDir);
  const survey = createSurvey(surveyOf(options, home));
  const domains = createDomains(options);
  const prepareHome = once(() => makeCaches(options, home));
  const gitDirectories = findGitDirectories(settings.security.workspace);
  const privatePaths = remembered(PRIVATE_MS, () => findPrivatePaths(home, settings.environment));
  const pathEntries = remembered(PRIVATE_MS, (path) => pathEntriesIn(home, path));
  const privateParents = parentsOf(privateCandidates(home, settings.environment));
  const roots = createRoots();
  const askpass = askpassDirectory(options.runDirectory);
  const signatureOf = createSignatures();
  const gitLayoutOf = createGitLayouts();
  const filters = new Map<boolean, string | undefined>();
  /** The same object as long as it is the same, so that nobody has to compare. */
  const specs = new WeakMap<Profile, SandboxSpec>();
  const cache = new Map<string, Signed & { readonly built: Built; readonly security: SecuritySettings }>();
  let found: Promise<Found> | undefined;
  let rules: SandboxRules = UNBOUND;
  let loginPath = '';

  async function profileFor(principal: string | undefined): Promise<Built> {
    const security = principal === undefined ? settings.security : rules.securityOf(principal);
    const { specialFiles, repositories, overflowing } = await survey.look(principal !== undefined);
    const opened = openings(security.expose, { homedir: home, environment: settings.environment });
    const open = [...security.workspace, ...security.writablePaths].map(realPathOf);
    const isHomeWritable = open.some((root) => isInside(home, root));
    const searched = [environment['PATH'], environment['ZDOTDIR'], loginPath].join(':');
    const pathDirectories = isHomeWritable ? pathDirectoriesIn(home, pathEntries(searched)) : [];
    // Before it is looked at, or the next look would find that something was made.
    const tmpDirectory =
      security.keepsTmp && principal !== undefined
        ? makeTmp(tmpDirectoryOf(stateDirectory, principal))
        : undefined;
    const git = gitLayoutOf({ roots: open, repositories, gitDirectories, overflowing, home });
    const signature = signatureOf({
      roots: open,
      repositories,
      others: [
        home,
        ...privateParents,
        ...gitDirectories.flatMap((path) => [path, join(path, 'modules'), join(path, 'worktrees')]),
        ...(tmpDirectory === undefined ? [] : [tmpDirectory]),
        ...cacheHomes(home, settings.environment),
        ...(isHomeWritable ? [...placesInHome(home), ...pathDirectories] : []),
      ],
      names: [
        ...specialFiles,
        '',
        ...repositories,
        git.key,
        ...pathDirectories,
        '',
        ...opened.paths.filter(isThere),
        ...open.filter(isThere),
        isThere(stateDirectory) ? stateDirectory : '',
      ],
    });
    const known = principal === undefined ? undefined : cache.get(principal);
    if (known !== undefined && known.security === security && isFresh(known, signature, security.root))
      return known.built;
    if (principal !== undefined && process.platform === 'linux')
      separateLinks([...git.single, ...settingsIn(open, home)], open);
    const input: ProfileInput = {
      security,
      homedir: home,
      environment: settings.environment,
      ownPaths: ownPathsOf(settings, stateDirectory),
      installation: options.installation.map(realPathOf),
      privatePaths: privatePaths(signature),
      specialFiles,
      git,
      gitDirectories,
      pathDirectories,
      tmpDirectory,
      redacted:
        principal !== undefined && (security.root === 'host' || isHomeWritable)
          ? redactFiles(home, join(stateDirectory, 'redacted'), opened.paths, {
              isHomeWritable,
              environment: settings.environment,
            })
          : new Map(),
      systemRoot: roots.of(security.root, [
        ...(domains === undefined ? [] : ['socat']),
        options.shell,
        'bash',
        'sh',
        'env',
        ...(principal === undefined ? [] : rules.programsOf(principal)),
      ]),
      emptyFile: principal === undefined ? undefined : makeEmptyFile(stateDirectory),
      copies:
        principal === undefined || process.platform !== 'linux' ? undefined : join(stateDirectory, 'roots'),
      isRoot: process.getuid?.() === 0,
      proxySocket: principal === undefined || !security.network ? undefined : await domains?.open(),
      askpassDirectory:
        principal !== undefined && security.asksSecrets && hasAskpass() ? makeAskpass(askpass) : undefined,
    };
    const profile = buildProfile(input);
    const watched = watchedPaths({
      writable: profile.writable,
      git,
      homedir: home,
      pathDirectories,
      opened: security.writablePaths.map(realPathOf).filter((path) => !security.workspace.includes(path)),
    });
    const built = { profile, watched };
    if (principal !== undefined)
      cache.set(principal, { built, security, signature, atMs: performance.now() });
    return built;
  }

  /** As a command's, but without what is written to the disk for one. */
  async function probedSpec(program: string, disablesUserns: boolean): Promise<SandboxSpec> {
    const { profile } = await profileFor(undefined);
    const { network, allowsPtrace } = settings.security;
    return bubblewrap(program, { ...profile, network }, { disablesUserns, watched: [], allowsPtrace });
  }

  function bubblewrap(
    program: string,
    profile: Profile,
    extra: { disablesUserns: boolean; watched: readonly WatchedPath[]; allowsPtrace: boolean },
  ): SandboxSpec {
    const { disablesUserns, watched, allowsPtrace } = extra;
    const known = specs.get(profile);
    if (known !== undefined) return known;
    if (!filters.has(allowsPtrace)) filters.set(allowsPtrace, encodedFilter(allowsPtrace));
    const seccomp = filters.get(allowsPtrace);
    const sandboxSpec: SandboxSpec = {
      kind: 'bubblewrap',
      program,
      options: bwrapOptions(profile, { features: { disablesUserns }, hasSeccomp: seccomp !== undefined }),
      seccomp,
      pinned: profile.pinned,
      kept: profile.kept,
      watched,
    };
    specs.set(profile, sandboxSpec);
    return sandboxSpec;
  }

  let known: SandboxState | undefined;
  async function ask(): Promise<Found> {
    const asking = (found ??= findSandbox({
      settings,
      runHelper: options.runHelper,
      home,
      problem: domains?.problem,
      sandboxSpecOf: probedSpec,
    }));
    // What broke it may be gone the next time.
    const again = (): void => {
      if (found === asking) found = undefined;
    };
    const answer = await asking.catch((error: unknown) => {
      again();
      throw error;
    });
    known = answer.state;
    if (answer.state.kind === 'broken') again();
    return answer;
  }

  return {
    state: async () => (await ask()).state,
    async prepare(principal, scripts) {
      const { state, program, disablesUserns } = await ask();
      const security = rules.securityOf(principal);
      if (state.kind === 'container') return undefined;
      if (state.kind === 'broken') throw unavailable(state);
      if (state.kind === 'none') {
        // The operator's domains also apply to a principal that tightened the rest.
        if (domains === undefined && runsWithout(security)) return undefined;
        throw unavailable(state);
      }
      prepareHome();
      const { profile: built, watched } = await profileFor(principal);
      const profile = scripts === undefined ? built : withScripts(built, scripts);
      const isRelayed = domains !== undefined && security.network;
      return {
        sandboxSpec:
          state.kind === 'seatbelt'
            ? { kind: 'seatbelt', program, profile: seatbeltProfile(profile) }
            : bubblewrap(program, profile, { disablesUserns, watched, allowsPtrace: security.allowsPtrace }),
        relayed: (argv) => (isRelayed ? domains.relayed(argv) : argv),
        variables: isRelayed ? domains.variables : {},
        scripts: profile === built ? scripts : SCRIPTS_PLACE,
        askpass:
          state.kind === 'bubblewrap' && built.mounts.some(({ path }) => path === ASKPASS_PLACE)
            ? askpassProgram(ASKPASS_PLACE)
            : undefined,
      };
    },
    async prepareForLogin() {
      const { state, program, disablesUserns } = await ask();
      const { security } = settings;
      if (state.kind === 'container') return { sandboxSpec: undefined };
      if (state.kind === 'broken' || state.kind === 'none')
        return state.refuses === true ? undefined : { sandboxSpec: undefined };
      // Without the home directory commands have the system's PATH.
      if (security.root !== 'host') return undefined;
      // Sockets that are bound now are known at once; nobody waits for the rest of the walk.
      const { specialFiles } = await survey.look(false);
      const profile = loginProfile({
        security,
        homedir: home,
        environment: settings.environment,
        ownPaths: ownPathsOf(settings, stateDirectory),
        privatePaths: findPrivatePaths(home, settings.environment),
        specialFiles,
      });
      return {
        sandboxSpec:
          state.kind === 'seatbelt'
            ? { kind: 'seatbelt', program, profile: seatbeltProfile(profile) }
            : bubblewrap(program, profile, { disablesUserns, watched: [], allowsPtrace: false }),
      };
    },
    explain(failed, principal) {
      return (
        domains?.explain(failed) ?? explainDenial(failed, rules.securityOf(principal), settings.environment)
      );
    },
    hostPathOf(path, principal) {
      const security = rules.securityOf(principal);
      if (!security.keepsTmp || known?.kind !== 'bubblewrap') return path;
      const directory = tmpDirectoryOf(stateDirectory, principal);
      const around = security.workspace.map(realPathOf).filter((root) => isInside(path, root));
      if (around.some((root) => !isInside(home, root))) return path;
      const cached = security.hasToolCaches ? inOwnCache(path, home, settings.environment) : undefined;
      if (cached !== undefined) return join(directory, OWN_CACHE, cached);
      if (around.length > 0) return path;
      if (isInside(path, '/tmp')) return join(directory, 'tmp', path.slice('/tmp'.length));
      return isInside(path, '/var/tmp') ? join(directory, 'var-tmp', path.slice('/var/tmp'.length)) : path;
    },
    learnLoginPath(path) {
      loginPath = path;
    },
    forget(principal) {
      cache.delete(principal);
      roots.forget();
    },
    bind(given) {
      rules = given;
    },
    async dispose() {
      survey.dispose();
      await domains?.dispose();
    },
  };
}

const UNBOUND: SandboxRules = {
  securityOf: unbound,
  programsOf: unbound,
};

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

/** Two hundred looks at the disk; credentials do not come and go with commands. */
const PRIVATE_MS = 1000;

/** For a while, and as long as it is asked about the same. */
function remembered<Value>(forMs: number, make: (about: string) => Value): (about: string) => Value {
  let last: { readonly value: Value; readonly about: string; readonly atMs: number } | undefined;
  return (about) => {
    if (last?.about !== about || performance.now() - last.atMs > forMs)
      last = { value: make(about), about, atMs: performance.now() };
    return last.value;
  };
}

const parentsOf = (paths: readonly string[]): string[] => [...new Set(paths.map((path) => dirname(path)))];

function unavailable({ problem, fix }: SandboxState): ShellServerError {
  return new ShellServerError(
    'SECURITY_003',
    `Nothing runs: the sandbox is unavailable (${problem ?? 'unknown'}), and the settings require one.`,
    { hint: `${fix ?? ''} Only the operator can change security.sandbox.`.trim(), details: { problem, fix } },
  );
}
