/**
 * From the settings and the host as it is now to a profile. Built for each execution: what a command created (a
 * repository, a link) is protected or followed from the next one on.
 */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import type { SecuritySettings } from '../../base/settings.ts';
import { isReadable, isThere, kindOf } from './look.ts';
import { minimalRoot, programRoot } from './minimal-root.ts';
import { openings } from './openings.ts';
import {
  CREDENTIAL_VARIABLES,
  PRIVATE_IN_HOME,
  PRIVATE_IN_PROC,
  PRIVATE_IN_SYSTEM,
  PRIVATE_NAMES,
  PROC_TREES,
} from './private-paths.ts';
import type { Mount, Profile } from './profile.ts';
import { pinsFor, protectedIn, rootOf } from './protected.ts';
import { PRIVATE_CACHES, TOOL_CACHES } from './protected-paths.ts';

export interface ProfileInput {
  readonly security: SecuritySettings;
  readonly homedir: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The server's own: state, settings files and audit log. Never there, whatever else is said. */
  readonly ownPaths: readonly string[];
  /** The server's program: never writable. */
  readonly installation: readonly string[];
  /** Credentials and the like; see `findPrivatePaths`. */
  readonly privatePaths: readonly string[];
  /** Sockets and FIFOs outside the workspace, by which a command could reach a process of the host. */
  readonly specialFiles: readonly string[];
  /** Repositories inside the workspace. */
  readonly repositories: readonly string[];
  /** Git directories of the workspace that lie outside of it. */
  readonly gitDirectories: readonly string[];
  /** The host's directory that is /tmp inside; undefined: memory. */
  readonly tmpDirectory: string | undefined;
  /** Copies of files in the home directory without the secrets in them: where they belong, and where the copy is. */
  readonly redacted: ReadonlyMap<string, string>;
  /** The programs that exist, where only allowed ones do. */
  readonly programs: readonly string[];
  /** A file of ours with nothing in it, shown instead of one that is hidden; without one it cannot be opened. */
  readonly emptyFile: string | undefined;
  /** Root owns files of /proc that its commands could change though they have no capabilities. */
  readonly isRoot: boolean;
  /** The socket of the proxy behind which the allowed domains are. */
  readonly proxySocket: string | undefined;
}

/** Where the proxy's socket is inside. */
export const PROXY_SOCKET = '/run/mcp-shell-proxy';

const SHM_BYTES = 256 * 1024 * 1024;

export function buildProfile(input: ProfileInput): Profile {
  const { security } = input;
  const isHost = security.root === 'host';
  const workspace = workspaceOf(input);
  const tmp = tmpMounts(input, workspace);
  const home = isHost ? homeMounts(input, workspace) : [];
  // What lies in another of them is writable already; a mount of its own could not be replaced by another file.
  const roots = outermost([
    ...workspace,
    ...input.gitDirectories.filter(isThere),
    ...security.writablePaths.filter(isThere).map(realPathOf),
  ]);
  const writable = [...roots, ...home.flatMap(({ kind, path }) => (kind === 'writable' ? [path] : []))];
  const isInWritable = (path: string): boolean => rootOf(path, writable) !== undefined;
  const opened = openings(security.expose, input);
  const inside: Mount[] = [
    // Of an empty root there is nothing to hide but what lies in what was mounted into it.
    ...hidden(input, opened.paths).filter(({ path }) => isHost || isInWritable(path)),
    ...[...input.redacted].map(([path, from]): Mount => ({ kind: 'readable', path: realPathOf(path), from })),
    ...[...opened.paths, ...security.readablePaths].filter(isThere).map(realPathOf).map(asReadable),
    ...protectedIn(writable, input),
    ...opened.sockets
      .filter(isThere)
      .map((path): Mount => ({ kind: 'readable', path, from: realPathOf(path) })),
    ...proxyMount(input.proxySocket),
    // Last of all, so that no setting uncovers them.
    ...input.installation.filter((path) => isThere(path) && isInWritable(path)).map(asReadable),
    ...input.ownPaths
      .flatMap((path) => cover(path, input.emptyFile))
      .filter(({ path }) => isHost || isInWritable(path)),
  ];
  const mounts: Mount[] = [
    ...(isHost ? hostRoot() : emptyRoot(input)),
    ...tmp,
    ...tmpParents([...home, ...roots.map(asWritable)], input),
    ...home,
    ...roots.map(asWritable),
    ...pinsFor(inside, writable),
    ...inside,
  ];
  return {
    root: isHost ? 'host' : 'empty',
    mounts,
    writable: roots,
    pinned: pinned(mounts, [...writable, ...tmp.map(({ path }) => path)]),
    network: security.network && input.proxySocket === undefined,
    coversProc: input.isRoot,
    procTrees: input.isRoot ? PROC_TREES.filter(isThere) : [],
    procFiles: input.isRoot ? PRIVATE_IN_PROC.filter(isThere) : [],
    shmBytes: security.maxTmpBytes === undefined ? SHM_BYTES : Math.min(SHM_BYTES, security.maxTmpBytes / 4),
  };
}

const asReadable = (path: string): Mount => ({ kind: 'readable', path });
const asWritable = (path: string): Mount => ({ kind: 'writable', path });

/** Without those that lie in another one. */
function outermost(paths: readonly string[]): string[] {
  const unique = [...new Set(paths)];
  return unique.filter((path) => !unique.some((other) => other !== path && isInside(path, other)));
}

/**
 * Mounts below a directory that a command which runs right now could be changing: it might exchange a directory for a
 * link while bwrap follows the path. They are compared with what the kernel says was mounted, before anything runs.
 */
function pinned(mounts: readonly Mount[], writable: readonly string[]): Profile['pinned'] {
  // A later mount covers an earlier one of the same place.
  const last = new Map(mounts.map((mount) => [mount.path, mount]));
  return [...last.values()].flatMap((mount) => {
    if (rootOf(mount.path, writable) === undefined) return [];
    const isBound = mount.kind === 'readable' || mount.kind === 'writable';
    return [{ path: mount.path, source: isBound ? (mount.from ?? mount.path) : undefined }];
  });
}

function proxyMount(socket: string | undefined): Mount[] {
  return socket === undefined ? [] : [{ kind: 'readable', path: PROXY_SOCKET, from: socket }];
}

/** As real paths; a directory that is not there yet cannot be mounted, and "/" would uncover everything. */
function workspaceOf({ security }: ProfileInput): string[] {
  return outermost(security.workspace.map(realPathOf)).filter(
    (path) => path !== '/' && kindOf(path) === 'directory',
  );
}

/** Where people's homes are; our own is shown again. */
const HOMES = ['/home', '/Users', '/var/home'];

/** The host's files without what runs on the host and without other people's homes. */
function hostRoot(): Mount[] {
  const covered = [...HOMES, '/run'].filter((path) => kindOf(path) === 'directory');
  return [...covered.map((path): Mount => ({ kind: 'empty', path })), ...resolverFiles()];
}

/** The home directory where something covers it, and what in it can be written to. */
function homeMounts(input: ProfileInput, workspace: readonly string[]): Mount[] {
  const { security } = input;
  const home = realPathOf(input.homedir);
  const isCovered = [...HOMES, '/tmp', '/var/tmp'].some((path) => home !== path && isInside(home, path));
  return [
    ...(isCovered && kindOf(home) === 'directory' ? [{ kind: 'readable', path: home } as const] : []),
    ...(security.hasToolCaches ? [...caches(home, workspace), ...privateCaches(home, input)] : []),
  ];
}

/** Programs that are fetched and run on demand: inside, others than those that run outside. */
function privateCaches(home: string, { tmpDirectory, security }: ProfileInput): Mount[] {
  if (tmpDirectory === undefined) return [];
  return PRIVATE_CACHES.flatMap((name): Mount[] => {
    const path = join(home, name);
    const isReachable = kindOf(dirname(path)) === 'directory' && realPathOf(dirname(path)) === dirname(path);
    const isWorkspace = security.workspace.some((root) => isInside(path, realPathOf(root)));
    if (!isReachable || isWorkspace || kindOf(path) === 'link') return [];
    return [{ kind: 'writable', path, from: join(tmpDirectory, name.replaceAll('/', '-')) }];
  });
}

function caches(home: string, workspace: readonly string[]): Mount[] {
  return (
    TOOL_CACHES.map((name) => join(home, name))
      .filter((path) => kindOf(path) === 'directory' && !workspace.some((inside) => isInside(path, inside)))
      .map((path) => realPathOf(path))
      // A cache that is a link is as good as where it leads, if that is nobody else's.
      .filter((path) => isInside(path, home))
      .map((path): Mount => ({ kind: 'writable', path }))
  );
}

/** /etc/resolv.conf often leads to /run. */
function resolverFiles(): Mount[] {
  const real = realPathOf('/etc/resolv.conf');
  return isInside(real, '/run') && isThere(real) ? [{ kind: 'readable', path: real }] : [];
}

function emptyRoot(input: ProfileInput): Mount[] {
  return [
    ...(input.security.root === 'programs' ? programRoot(input.programs) : minimalRoot()),
    { kind: 'empty', path: '/run' },
    ...resolverFiles(),
  ];
}

function tmpMounts(input: ProfileInput, workspace: readonly string[]): Mount[] {
  const bytes = input.security.maxTmpBytes;
  return ['/tmp', '/var/tmp'].flatMap((path): Mount[] => {
    // Listed among the allowed directories, it is the real one.
    if (workspace.includes(realPathOf(path))) return [];
    if (input.security.root === 'host' && kindOf(path) !== 'directory') return [];
    // One memory for both: it counts against the same limit.
    if (input.security.root !== 'host' && path === '/var/tmp')
      return [{ kind: 'link', path, target: '/tmp' }];
    if (input.tmpDirectory === undefined) return [{ kind: 'memory', path, bytes }];
    return [{ kind: 'writable', path, from: join(input.tmpDirectory, path === '/tmp' ? 'tmp' : 'var-tmp') }];
  });
}

/**
 * The directories on the way to a mount inside a /tmp that is kept: a command could have put a link in their place,
 * or move them away.
 */
function tmpParents(mounts: readonly Mount[], { tmpDirectory }: ProfileInput): Mount[] {
  if (tmpDirectory === undefined) return [];
  const parents = new Map<string, Mount>();
  for (const { path } of mounts) {
    for (const [root, name] of TMP_NAMES) {
      if (path === root || !isInside(path, root)) continue;
      const parts = relative(root, dirname(path))
        .split('/')
        .filter((part) => part !== '');
      for (let count = 1; count <= parts.length; count++) {
        const rest = parts.slice(0, count).join('/');
        const from = join(tmpDirectory, name, rest);
        makePlain(from);
        parents.set(join(root, rest), { kind: 'writable', path: join(root, rest), from });
      }
    }
  }
  return [...parents.values()];
}

const TMP_NAMES = [
  ['/tmp', 'tmp'],
  ['/var/tmp', 'var-tmp'],
] as const;

/** A directory and no link, whatever was there. */
function makePlain(path: string): void {
  if (kindOf(path) === 'directory') return;
  rmSync(path, { force: true });
  mkdirSync(path, { mode: 0o700 });
}

function hidden(input: ProfileInput, opened: readonly string[]): Mount[] {
  const named = [...opened, ...input.security.readablePaths, ...input.security.writablePaths].map(realPathOf);
  return (
    [...new Set([...input.privatePaths, ...input.specialFiles.map(realPathOf)])]
      // Only the very thing that the operator named is opened: a directory around it is no such wish.
      .filter((path) => !named.includes(path) && !holdsWorkspace(path, input))
      .flatMap((path) => cover(path, input.emptyFile))
  );
}

/** What is private of the host, as it is now, by its real paths. */
export function findPrivatePaths(homedir: string, environment: Readonly<Record<string, string>>): string[] {
  const home = realPathOf(homedir);
  const system = [...PRIVATE_IN_SYSTEM, ...namesIn('/etc/ssh', /_key$/)].filter(
    (path) => isThere(path) && isReadable(path) && !isInside(home, path),
  );
  const own = [
    ...PRIVATE_IN_HOME.map((name) => join(home, name)).filter(isThere),
    ...namesIn(home, PRIVATE_NAMES),
    ...CREDENTIAL_VARIABLES.flatMap((name) => placesIn(environment[name])),
  ];
  return [...new Set([...system, ...own].map(realPathOf))];
}

/** Files that a variable names; KUBECONFIG may name several. */
function placesIn(value: string | undefined): string[] {
  return (value ?? '').split(':').filter((path) => isAbsolute(path) && isThere(path));
}

/** A directory of the system that the operator works in is not private. */
function holdsWorkspace(path: string, { security }: ProfileInput): boolean {
  return security.workspace.some((directory) => isInside(realPathOf(directory), path));
}

function namesIn(directory: string, names: RegExp): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => names.test(name))
      .map((name) => join(directory, name));
  } catch {
    return [];
  }
}

/** Nothing is left to see of it. */
function cover(path: string, emptyFile: string | undefined): Mount[] {
  const real = realPathOf(path);
  const kind = kindOf(real);
  if (kind === undefined || real === '/') return [];
  if (kind === 'directory') return [{ kind: 'empty', path: real }];
  // Tools stop at a file that they may not read, and are content with an empty one.
  return [
    emptyFile === undefined
      ? { kind: 'blank', path: real }
      : { kind: 'readable', path: real, from: emptyFile },
  ];
}
