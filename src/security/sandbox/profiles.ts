/** The profiles of this host: built for an execution, and used again while what they are built from has not changed. */
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import type { SecuritySettings } from '../../base/settings.ts';
import { askpassDirectory, hasAskpass, makeAskpass } from '../askpass.ts';
import { watchedPaths } from './appeared.ts';
import { buildProfile, type ProfileInput } from './build-profile.ts';
import { cacheHomes } from './caches.ts';
import type { Domains } from './domains.ts';
import { findPrivatePaths, privateCandidates } from './find-private.ts';
import { findGitDirectories } from './git-directories.ts';
import { createGitLayouts } from './git-layout.ts';
import { type Separated, separateLinks } from './hard-links.ts';
import { isThere, stampOf } from './host-files.ts';
import { loginProfile } from './login-profile.ts';
import { obeyedBesidesDots, pathDirectoriesIn, pathEntriesIn } from './open-home.ts';
import { openings } from './openings.ts';
import type { Profile, WatchedPath } from './profile.ts';
import { createSignatures, isFresh, placesInHome, type Signed } from './profile-cache.ts';
import { NOTHING_WRITTEN, type Written } from './profile-input.ts';
import { apartIn, settingsIn } from './protected.ts';
import { redactFiles } from './redact.ts';
import { createRoots } from './roots.ts';
import type { SandboxOptions } from './sandbox-options.ts';
import { makeEmptyFile, makeTmp, ownPathsOf, surveyOf, tmpDirectoryOf } from './state-files.ts';
import { createSurvey } from './survey.ts';

export interface Built {
  readonly profile: Profile;
  readonly watched: readonly WatchedPath[];
}

/** Whom a profile is for: nobody where the sandbox is only probed, for whom nothing is written to the disk. */
export interface Resident {
  readonly principal: string | undefined;
  readonly security: SecuritySettings;
  /** The programs that exist inside, where only allowed ones do. */
  programs(): readonly string[];
}

interface Kept extends Signed {
  readonly built: Built;
  readonly security: SecuritySettings;
  /** What must have one name only. */
  readonly singles: readonly string[];
  /** It is too much to be looked at. */
  readonly isClosed: boolean;
}

const NOTHING_LINKED: Separated = { isAny: false, hasMore: false };

export function createProfiles(options: SandboxOptions, domains: Domains | undefined) {
  const host = createHostView(options);
  const { home, survey } = host;
  const cache = new Map<string, Kept>();

  async function build(around: Around, signature: string, resident: Resident): Promise<Built> {
    const { principal, security } = resident;
    const { git, besidesDots, opened } = around;
    const profile = buildProfile({
      ...inputOf(host, around, signature),
      systemRoot: host.roots.of(security.root, [
        ...(domains === undefined ? [] : ['socat']),
        options.shell,
        'bash',
        'sh',
        'env',
        ...resident.programs(),
      ]),
      ...(principal === undefined ? NOTHING_WRITTEN : await writtenFor(host, around, domains)),
    });
    const { writable } = profile;
    return { profile, watched: watchedPaths({ writable, git, homedir: home, besidesDots, opened }) };
  }

  return {
    async of(resident: Resident): Promise<Built> {
      const { principal, security } = resident;
      const around = await lookAround(host, resident);
      const { open } = around;
      const signature = signatureOf(host, around);
      const known = principal === undefined ? undefined : cache.get(principal);
      const isKnown = known?.security === security && isFresh(known, signature, security.root);
      const singles = isKnown ? known.singles : singlesOf(host, around);
      // A link that a program outside makes leaves no trace in the directory.
      const canSeparate = principal !== undefined && process.platform === 'linux';
      const places = [...open, ...host.gitDirectories];
      const links = canSeparate ? separateLinks(singles, places, around.apart) : NOTHING_LINKED;
      if (isKnown && !links.isAny && links.hasMore === known.isClosed) return known.built;
      const built = await build(links.hasMore ? closed(around, places) : around, signature, resident);
      const isClosed = links.hasMore;
      if (principal !== undefined)
        cache.set(principal, { built, security, signature, singles, isClosed, atMs: performance.now() });
      return built;
    },
    async forLogin(): Promise<Profile> {
      // Sockets that are bound now are known at once; nobody waits for the rest of the walk.
      const { specialFiles } = await survey.look(false);
      const { environment, security } = options.settings;
      return loginProfile({
        security,
        homedir: home,
        environment,
        ownPaths: host.ownPaths(),
        privatePaths: findPrivatePaths(home, environment),
        specialFiles,
      });
    },
    /** The PATH that the login shell has: what lies there is run by every shell of the user. */
    learnLoginPath(path: string): void {
      host.loginPath = path;
    },
    /** The next one is built anew. */
    forget(principal: string): void {
      cache.delete(principal);
      host.roots.forget();
    },
    dispose: survey.dispose,
  };
}

type HostView = ReturnType<typeof createHostView>;

/** What is looked at on this host, and found out once or for a while. */
function createHostView(options: SandboxOptions) {
  const { settings } = options;
  const { environment } = settings;
  const home = realPathOf(homedir());
  const stateDirectory = realPathOf(settings.stateDir);
  return {
    options,
    environment,
    home,
    stateDirectory,
    loginPath: '',
    survey: createSurvey(surveyOf(options, home)),
    gitDirectories: findGitDirectories(settings.security.workspace),
    privatePaths: remembered(() => findPrivatePaths(home, environment)),
    besidesDots: remembered((searched) => {
      const entries = pathEntriesIn(home, searched.split('\0')[0] ?? '');
      return obeyedBesidesDots(home, pathDirectoriesIn(home, entries, environment['VIRTUAL_ENV']));
    }),
    privateParents: [...new Set(privateCandidates(home, environment).map((path) => dirname(path)))],
    ownPaths: () => ownPathsOf(settings, stateDirectory),
    roots: createRoots(),
    signatures: createSignatures(),
    gitLayouts: createGitLayouts(environment),
  };
}

type Around = Awaited<ReturnType<typeof lookAround>>;

/** What a profile depends on that commands change. */
async function lookAround(host: HostView, { principal, security }: Resident) {
  const { home, environment, stateDirectory, gitDirectories } = host;
  const surveyed = await host.survey.look(principal !== undefined);
  const { repositories, overflowing, unlisted } = surveyed;
  const open = [...security.workspace, ...security.writablePaths].map(realPathOf);
  const isHomeWritable = open.some((root) => isInside(home, root));
  const opened = security.writablePaths.map(realPathOf).filter((path) => !security.workspace.includes(path));
  const searched = [environment['PATH'], environment['ZDOTDIR'], host.loginPath].join(':');
  return {
    ...surveyed,
    security,
    /** What the operator exposes. */
    exposed: openings(security.expose, { homedir: home, environment }).paths,
    /** What can be written to. */
    open,
    /** What the operator named is theirs. */
    opened,
    apart: apartIn(open, opened),
    isHomeWritable,
    besidesDots: isHomeWritable ? host.besidesDots(`${searched}\0${stampOf(home)}`) : [],
    // Before it is looked at, or the next look would find that something was made.
    tmpDirectory:
      security.keepsTmp && principal !== undefined
        ? makeTmp(tmpDirectoryOf(stateDirectory, principal))
        : undefined,
    git: host.gitLayouts({ roots: open, repositories, gitDirectories, overflowing, unlisted, home }),
  };
}

/** What is there of all that a second name would open. */
const singlesOf = ({ home }: HostView, { git, open, besidesDots }: Around): string[] =>
  [...git.single, ...settingsIn(open, home, besidesDots)].filter(isThere);

/** Nobody knows which of its files have a second name: nothing can be written. */
const closed = (around: Around, places: readonly string[]): Around => ({
  ...around,
  git: { ...around.git, closed: places },
});

function signatureOf(host: HostView, around: Around): string {
  const { home, stateDirectory } = host;
  const { open, repositories, specialFiles, tmpDirectory, besidesDots } = around;
  return host.signatures({
    roots: open,
    repositories,
    others: [
      home,
      ...host.privateParents,
      ...host.gitDirectories.flatMap((path) => [path, join(path, 'modules'), join(path, 'worktrees')]),
      ...(tmpDirectory === undefined ? [] : [tmpDirectory]),
      ...cacheHomes(home, host.environment),
      ...(around.isHomeWritable ? [...placesInHome(home), ...besidesDots] : []),
    ],
    names: [
      ...specialFiles,
      '',
      ...repositories,
      around.git.key,
      ...besidesDots,
      '',
      ...around.exposed.filter(isThere),
      ...open.filter(isThere),
      isThere(stateDirectory) ? stateDirectory : '',
    ],
  });
}

function inputOf(
  host: HostView,
  { security, specialFiles, git, besidesDots, tmpDirectory }: Around,
  signature: string,
): Omit<ProfileInput, keyof Written | 'systemRoot'> {
  const { home, environment, gitDirectories } = host;
  return {
    security,
    homedir: home,
    environment,
    ownPaths: host.ownPaths(),
    installation: host.options.installation.map(realPathOf),
    privatePaths: host.privatePaths(signature),
    specialFiles,
    git,
    gitDirectories,
    besidesDots,
    tmpDirectory,
    isRoot: process.getuid?.() === 0,
  };
}

/** What there is for a command alone: files of the state directory, and sockets. */
async function writtenFor(
  { home, environment, stateDirectory, options }: HostView,
  { security, isHomeWritable, exposed }: Around,
  domains: Domains | undefined,
): Promise<Written> {
  const hasHome = security.root === 'host' || isHomeWritable;
  const redacted = join(stateDirectory, 'redacted');
  return {
    redacted: hasHome ? redactFiles(home, redacted, exposed, { isHomeWritable, environment }) : new Map(),
    emptyFile: makeEmptyFile(stateDirectory),
    copies: process.platform === 'linux' ? join(stateDirectory, 'roots') : undefined,
    proxySocket: security.network ? await domains?.open() : undefined,
    askpassDirectory:
      security.asksSecrets && hasAskpass() ? makeAskpass(askpassDirectory(options.runDirectory)) : undefined,
  };
}

/** Two hundred looks at the disk; credentials do not come and go with commands. */
const REMEMBERED_MS = 1000;

/** For a while, and as long as it is asked about the same. */
function remembered<Value>(make: (about: string) => Value): (about: string) => Value {
  let last: { readonly value: Value; readonly about: string; readonly atMs: number } | undefined;
  return (about) => {
    if (last?.about !== about || performance.now() - last.atMs > REMEMBERED_MS)
      last = { value: make(about), about, atMs: performance.now() };
    return last.value;
  };
}
