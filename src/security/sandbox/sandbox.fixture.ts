/** A host on a real disk (a home, a workspace, a state directory) and the settings of a preset, for the tests of this folder. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { PRESETS, type PresetName } from '../../base/config/presets.ts';
import type { SecuritySettings } from '../../base/settings.ts';
import { buildProfile, type ProfileInput } from './build-profile.ts';
import { bwrapOptions } from './bwrap.ts';
import { findPrivatePaths } from './find-private.ts';
import { findGitLayout, type GitLayout, type GitPlaces } from './git-layout.ts';
import type { BubblewrapSpec, Mount, Profile } from './profile.ts';
import { createRoots } from './roots.ts';

/** Somewhere that no mount covers: /tmp is another inside, and tests have theirs in there. */
export const UNCOVERED = '/dev/shm';

export function securityOf(
  preset: PresetName,
  changes: Partial<SecuritySettings> & Pick<SecuritySettings, 'workspace'>,
): SecuritySettings {
  return {
    ...PRESETS[preset],
    preset,
    mode: undefined,
    allowedCommands: undefined,
    blockedCommands: [],
    askCommands: [],
    allowedArguments: undefined,
    extendsAllowed: false,
    allowWrites: undefined,
    allowedDomains: [],
    allowedEnvironment: [],
    masksOutput: false,
    asksSecrets: false,
    allowedDirectories: undefined,
    readablePaths: [],
    writablePaths: [],
    expose: [],
    maxCpuPercent: undefined,
    maxCpuSeconds: undefined,
    ...changes,
  };
}

export interface Host {
  readonly root: string;
  readonly home: string;
  readonly workspace: string;
  readonly state: string;
  /** Writes a file below the root, with its directories, and answers with its path. */
  write(path: string, text?: string): string;
  makeDirectory(path: string): string;
  link(path: string, target: string): string;
  /** A repository with a git directory as `git init` leaves it. */
  makeRepository(path: string): string;
  /** Of the workspace, where nothing else is said. */
  git(places?: Partial<GitPlaces>): GitLayout;
  profile(changes?: HostChanges): Profile;
}

export type HostChanges = Omit<Partial<ProfileInput>, 'security'> & {
  readonly preset?: PresetName;
  readonly repositories?: readonly string[];
  readonly overflowing?: readonly string[];
  readonly security?: Partial<SecuritySettings>;
};

/** Below `parent`; the workspace is `home/project`. */
export function createHost(parent: string = tmpdir()): Host {
  const root = realpathSync(mkdtempSync(join(parent, 'host-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const at = (path: string): string => {
    const full = join(root, path);
    mkdirSync(dirname(full), { recursive: true });
    return full;
  };
  const host: Host = {
    root,
    home: join(root, 'home'),
    workspace: join(root, 'home/project'),
    state: join(root, 'state'),
    write(path, text = '') {
      const full = at(path);
      writeFileSync(full, text);
      return full;
    },
    makeDirectory(path) {
      mkdirSync(at(path), { recursive: true });
      return join(root, path);
    },
    link(path, target) {
      const full = at(path);
      symlinkSync(target, full);
      return full;
    },
    makeRepository(path) {
      for (const name of ['HEAD', 'config', 'description', 'info/exclude', 'hooks/pre-commit.sample'])
        host.write(`${path}/.git/${name}`);
      return join(root, path);
    },
    git: (places = {}) =>
      findGitLayout({
        roots: [host.workspace],
        repositories: [],
        gitDirectories: [],
        overflowing: [],
        home: host.home,
        ...places,
      }),
    profile({ preset = 'development', security, repositories = [], overflowing = [], ...changes } = {}) {
      return buildProfile({
        security: securityOf(preset, { workspace: [host.workspace], ...security }),
        homedir: host.home,
        environment: {},
        privatePaths: findPrivatePaths(changes.homedir ?? host.home, changes.environment ?? {}),
        gitDirectories: [],
        pathDirectories: [],
        ownPaths: [],
        installation: [],
        specialFiles: [],
        git: host.git({
          roots: [...(security?.workspace ?? [host.workspace]), ...(security?.writablePaths ?? [])],
          repositories,
          gitDirectories: changes.gitDirectories ?? [],
          overflowing,
        }),
        tmpDirectory: undefined,
        redacted: new Map(),
        systemRoot: createRoots().of(PRESETS[preset].root, []),
        emptyFile: undefined,
        copies: undefined,
        isRoot: false,
        proxySocket: undefined,
        askpassDirectory: undefined,
        ...changes,
      });
    },
  };
  host.makeDirectory('home/project');
  host.makeDirectory('state');
  return host;
}

/** Around a command on this host, without a filter of system calls. */
export function sandboxSpecOf(host: Host, changes: HostChanges = {}): BubblewrapSpec {
  const isRoot = process.getuid?.() === 0;
  const profile = host.profile({ ownPaths: [host.state], isRoot, ...changes });
  return {
    kind: 'bubblewrap',
    program: '/usr/bin/bwrap',
    options: bwrapOptions(profile, { features: { disablesUserns: false }, hasSeccomp: false }),
    seccomp: undefined,
    pinned: profile.pinned,
    kept: profile.kept,
    watched: [],
  };
}

/**
 * What is found at a path once all mounts are made: the last mount on it or around it decides. A file of the host's
 * is named by where it lies there.
 */
export function viewOf({ mounts, root }: Pick<Profile, 'mounts' | 'root'>, path: string): string {
  const decides = mounts.findLast((mount) => path === mount.path || path.startsWith(`${mount.path}/`));
  if (decides === undefined) return root === 'host' ? `readable ${path}` : 'nothing';
  const rest = path.slice(decides.path.length);
  switch (decides.kind) {
    case 'readable':
    case 'writable':
      return `${decides.kind} ${decides.from ?? decides.path}${rest}`;
    case 'memory':
    case 'empty':
      return rest === '' ? decides.kind : 'nothing';
    case 'blank':
      return 'blank';
    case 'link':
      return `link to ${decides.target}`;
  }
}

/** Mounts as short lines, those below a directory only. */
export function linesOf(mounts: readonly Mount[], below: string): string[] {
  const short = (path: string): string => (path.startsWith(below) ? path.slice(below.length + 1) : path);
  return mounts
    .filter(({ path }) => path.startsWith(`${below}/`))
    .map((mount) => {
      const source = 'from' in mount && mount.from !== undefined ? ` from ${short(mount.from)}` : '';
      return `${mount.kind} ${short(mount.path)}${source}`;
    });
}
