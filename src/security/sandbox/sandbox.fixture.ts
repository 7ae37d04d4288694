/** A host on a real disk (a home, a workspace, a state directory) and the settings of a preset, for the tests of this folder. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { defaultSettings } from '../../base/config/defaults.fixture.ts';
import { PRESETS, type PresetName } from '../../base/config/presets.ts';
import type { SecuritySettings } from '../../base/settings.ts';
import { buildProfile, type ProfileInput } from './build-profile.ts';
import { bwrapOptions } from './bwrap.ts';
import { findPrivatePaths } from './find-private.ts';
import { createGitLayouts, type GitLayout, type GitPlaces } from './git-layout.ts';
import { obeyedBesidesDots } from './open-home.ts';
import type { BubblewrapSpec, Mount, Profile } from './profile.ts';
import { NOTHING_WRITTEN } from './profile-input.ts';
import { createRoots } from './roots.ts';

/** Somewhere that no mount covers: /tmp is another inside, and tests have theirs in there. */
export const UNCOVERED = '/dev/shm';

export function securityOf(
  preset: PresetName,
  changes: Partial<SecuritySettings> & Pick<SecuritySettings, 'workspace'>,
): SecuritySettings {
  return {
    ...defaultSettings('/').security,
    ...PRESETS[preset],
    preset,
    mode: undefined,
    ...changes,
  };
}

export type Host = ReturnType<typeof createHost>;

export type HostChanges = Omit<Partial<ProfileInput>, 'security'> & {
  readonly preset?: PresetName;
  readonly repositories?: readonly string[];
  readonly overflowing?: readonly string[];
  readonly security?: Partial<SecuritySettings>;
};

/** Below `parent`; the workspace is `home/project`. */
export function createHost(parent: string = tmpdir()) {
  const root = realpathSync(mkdtempSync(join(parent, 'host-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const at = (path: string): string => {
    const full = join(root, path);
    mkdirSync(dirname(full), { recursive: true });
    return full;
  };
  function makeDirectory(path: string): string {
    mkdirSync(at(path), { recursive: true });
    return join(root, path);
  }
  const home = join(root, 'home');
  const workspace = makeDirectory('home/project');
  /** Writes a file below the root, with its directories, and answers with its path. */
  function write(path: string, text = ''): string {
    const full = at(path);
    writeFileSync(full, text);
    return full;
  }
  function link(path: string, target: string): string {
    const full = at(path);
    symlinkSync(target, full);
    return full;
  }
  /** A repository with a git directory as `git init` leaves it. */
  function makeRepository(path: string): string {
    for (const name of ['HEAD', 'config', 'description', 'info/exclude', 'hooks/pre-commit.sample'])
      write(`${path}/.git/${name}`);
    return join(root, path);
  }
  /** Of the workspace, where nothing else is said. */
  function git(places: Partial<GitPlaces> = {}): GitLayout {
    const none = { repositories: [], gitDirectories: [], overflowing: [], unlisted: [] };
    return createGitLayouts()({ roots: [workspace], home, ...none, ...places });
  }
  function profile(asked: HostChanges = {}): Profile {
    const { preset = 'development', security, repositories = [], overflowing = [], ...changes } = asked;
    return buildProfile({
      ...NOTHING_WRITTEN,
      security: securityOf(preset, { workspace: [workspace], ...security }),
      homedir: home,
      environment: {},
      privatePaths: findPrivatePaths(changes.homedir ?? home, changes.environment ?? {}),
      gitDirectories: [],
      ownPaths: [],
      installation: [],
      specialFiles: [],
      git: git({
        roots: [...(security?.workspace ?? [workspace]), ...(security?.writablePaths ?? [])],
        repositories,
        gitDirectories: changes.gitDirectories ?? [],
        overflowing,
      }),
      tmpDirectory: undefined,
      systemRoot: createRoots().of(PRESETS[preset].root, []),
      isRoot: false,
      ...changes,
      besidesDots: obeyedBesidesDots(changes.homedir ?? home, changes.besidesDots ?? []),
    });
  }
  const state = makeDirectory('state');
  return { root, home, workspace, state, write, makeDirectory, link, makeRepository, git, profile };
}

/** Around a command on this host, without a filter of system calls. */
export function sandboxSpecOf(host: Host, changes: HostChanges = {}): BubblewrapSpec {
  const isRoot = process.getuid?.() === 0;
  const profile = host.profile({ ownPaths: [host.state], isRoot, ...changes });
  return {
    kind: 'bubblewrap',
    program: '/usr/bin/bwrap',
    options: bwrapOptions(profile, { disablesUserns: false, hasSeccomp: false }),
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
