/**
 * From the settings and the host as it is now to a profile. Built for each execution: what a command created (a
 * repository, a link) is protected or followed from the next one on.
 */
import { basename, join } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { ASKPASS_PLACE, PERL } from '../askpass.ts';
import { cacheMounts } from './caches.ts';
import { gatherMounts } from './gather.ts';
import { isReachable, isReadable, isThere, kindOf, shutAround, thereOrShut } from './host-files.ts';
import { createMountTable } from './mount-table.ts';
import { closedHome } from './open-home.ts';
import { openings } from './openings.ts';
import { PRIVATE_IN_PROC, PROC_TREES } from './private-paths.ts';
import type { Mount, Profile } from './profile.ts';
import type { ProfileInput } from './profile-input.ts';
import { closedIn, protectedIn, rootOf } from './protected.ts';
import { REDACTED_FILES } from './redact.ts';

export type { ProfileInput } from './profile-input.ts';

/** Where the proxy's socket is inside. */
export const PROXY_SOCKET = '/run/mcp-shell-proxy';

const SHM_BYTES = 256 * 1024 * 1024;

export function buildProfile(input: ProfileInput): Profile {
  const { security } = input;
  const isHost = security.root === 'host';
  const workspace = workspaceOf(input);
  const named = security.writablePaths.filter(isThere).map(realPathOf);
  const roots = outermost([...workspace, ...input.gitDirectories.filter(isThere), ...named]);
  const opened = openings(security.expose, input);
  const readable = [...opened.paths, ...security.readablePaths].filter(isThere).map(realPathOf);
  const table = createMountTable();
  // Of one place the last that is put counts; in the end outer places come before inner ones.
  table.put(isHost ? hostRoot() : emptyRoot(input, roots));
  table.put(tmpMounts(input, workspace, [...roots, ...readable]));
  if (isHost) table.put(homeMounts(input, roots));
  table.put(cacheMounts(input, roots));
  table.put(readable.map(asReadable));
  table.put(roots.map(asWritable));
  const home = realPathOf(input.homedir);
  if (table.isWritable(home)) table.put(closedHome(home, input.besidesDots));
  // What is another inside has none of the host's files in it.
  const writable = (): string[] =>
    table
      .list()
      .flatMap((mount) => (mount.kind === 'writable' && mount.from === undefined ? [mount.path] : []));
  const isShown = ({ path }: Mount): boolean =>
    isHost || table.isWritable(path) || readable.some((root) => isInside(path, root));
  const concealed = hidden(input, [...readable, ...named]).filter(
    (mount) => isShown(mount) && !table.isOther(mount.path),
  );
  const isConcealed = (path: string): boolean => concealed.some((mount) => isInside(path, mount.path));
  table.put(protectedIn(writable(), input).filter(({ path }) => !isConcealed(path)));
  table.put(
    [...input.redacted].map(([path, from]): Mount => ({ kind: 'readable', path: realPathOf(path), from })),
  );
  table.put(concealed);
  // Inside what is protected or hidden a path of the operator's needs a mount of its own.
  const inner = [...named, ...security.workspace.map(realPathOf).filter(isMountable)];
  table.put(inner.filter((path) => !isInside(home, path) && !table.isWritable(path)).map(asWritable));
  table.put(closedIn(roots, input).map(asReadable));
  table.put(
    opened.sockets.filter(isThere).map((path): Mount => ({ kind: 'readable', path, from: realPathOf(path) })),
  );
  table.put(proxyMount(input.proxySocket));
  table.put(askpassMount(input));
  table.put(input.installation.filter((path) => isThere(path) && table.isWritable(path)).map(asReadable));
  // No setting uncovers them.
  const own = input.ownPaths.flatMap((path) => cover(path, input.emptyFile)).filter(isShown);
  table.remove((path) => own.some((mount) => isInside(path, mount.path)));
  table.put(own);
  // Where no command gets to there is nothing to cover, and bwrap could not: it has no more rights than they have.
  const directories = new Map<string, boolean>();
  table.remove((path) => !isReachable(path, directories) && !workspace.includes(path));
  table.pin();
  const listed = table.list();
  const mounts = isHost || input.copies === undefined ? listed : gatherMounts(listed, input.copies);
  return {
    root: isHost ? 'host' : 'empty',
    mounts,
    writable: roots,
    pinned: pinned(mounts),
    kept: kept(mounts),
    network: security.network && input.proxySocket === undefined,
    coversProc: input.isRoot,
    procTrees: input.isRoot ? PROC_TREES.filter(isThere) : [],
    procFiles: PRIVATE_IN_PROC.filter((path) => isThere(path) && (input.isRoot || isReadable(path))),
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
function pinned(mounts: readonly Mount[]): Profile['pinned'] {
  return insideWritable(mounts).map((mount) => {
    const isBound = mount.kind === 'readable' || mount.kind === 'writable';
    return { path: mount.path, source: isBound ? (mount.from ?? mount.path) : undefined };
  });
}

/** A directory that is mounted on itself, to pin it, shows the same without the mount. */
function kept(mounts: readonly Mount[]): Profile['kept'] {
  return insideWritable(mounts)
    .filter((mount) => mount.kind !== 'writable' || mount.from !== undefined)
    .filter(({ path }) => !HISTORIES.test(basename(path)))
    .map(({ path }) => path);
}

/** Replaced whenever a shell or an editor ends; nobody executes them. */
const HISTORIES = /^\.(?:\w*_history|lesshst|viminfo|wget-hsts|Xauthority|ICEauthority|xsession-errors.*)$/;

function insideWritable(mounts: readonly Mount[]): Mount[] {
  const writable = mounts.flatMap(({ kind, path }) =>
    kind === 'writable' || kind === 'memory' ? [path] : [],
  );
  return mounts.filter(({ path }) => rootOf(path, writable) !== undefined);
}

function proxyMount(socket: string | undefined): Mount[] {
  return socket === undefined ? [] : [{ kind: 'readable', path: PROXY_SOCKET, from: socket }];
}

/** Where only allowed programs are, Perl may be none of them. */
function askpassMount({ askpassDirectory: from, security, systemRoot }: ProfileInput): Mount[] {
  const hasPerl = security.root === 'host' || systemRoot.some(({ path }) => isInside(PERL, path));
  return from === undefined || !hasPerl ? [] : [{ kind: 'readable', path: ASKPASS_PLACE, from }];
}

/** As real paths; a directory that is not there yet cannot be mounted, and "/" would uncover everything. */
function workspaceOf({ security }: ProfileInput): string[] {
  return outermost(security.workspace.map(realPathOf).filter(isMountable));
}

const isMountable = (path: string): boolean => path !== '/' && kindOf(path) === 'directory';

/** Where people's homes are; our own is shown again. */
const HOMES = ['/home', '/Users', '/var/home'];

/** The host's files without what runs on the host and without other people's homes. */
function hostRoot(): Mount[] {
  const covered = [...HOMES, '/run'].filter((path) => kindOf(path) === 'directory');
  return [...covered.map((path): Mount => ({ kind: 'empty', path })), ...resolverFiles()];
}

/** The home directory where something covers it, and no root shows it. */
function homeMounts(input: ProfileInput, roots: readonly string[]): Mount[] {
  const home = realPathOf(input.homedir);
  if (rootOf(home, roots) !== undefined) return [];
  const isCovered = [...HOMES, '/tmp', '/var/tmp'].some((path) => home !== path && isInside(home, path));
  return isCovered && kindOf(home) === 'directory' ? [asReadable(home)] : [];
}

/** /etc/resolv.conf often leads to /run. */
function resolverFiles(): Mount[] {
  const real = realPathOf('/etc/resolv.conf');
  return isInside(real, '/run') && isThere(real) ? [{ kind: 'readable', path: real }] : [];
}

/** Without what a directory that can be written to has anyway. */
function emptyRoot(input: ProfileInput, roots: readonly string[]): Mount[] {
  return [...input.systemRoot, { kind: 'empty', path: '/run' } as const, ...resolverFiles()].filter(
    ({ path }) => rootOf(path, roots) === undefined,
  );
}

/** `bound` are directories of the host that the sandbox has. */
function tmpMounts(input: ProfileInput, workspace: readonly string[], bound: readonly string[]): Mount[] {
  const bytes = input.security.maxTmpBytes;
  return ['/tmp', '/var/tmp'].flatMap((path): Mount[] => {
    // Listed among the allowed directories, it is the real one.
    if (workspace.includes(realPathOf(path))) return [];
    if (input.security.root === 'host' && kindOf(path) !== 'directory') return [];
    // One memory for both, which counts against the same limit, unless a directory is there already.
    if (input.security.root !== 'host' && path === '/var/tmp' && rootOf(path, bound) === undefined)
      return [{ kind: 'link', path, target: '/tmp' }];
    if (input.tmpDirectory === undefined) return [{ kind: 'memory', path, bytes }];
    return [{ kind: 'writable', path, from: join(input.tmpDirectory, path === '/tmp' ? 'tmp' : 'var-tmp') }];
  });
}

/** Only the very thing that the operator named is opened: a directory around it is no such wish. */
function hidden(input: ProfileInput, named: readonly string[]): Mount[] {
  const home = realPathOf(input.homedir);
  // Copies without secrets are made of what can be read.
  const unread = REDACTED_FILES.flatMap((name) => shutAround(join(home, name)) ?? []);
  return [...new Set([...input.privatePaths, ...input.specialFiles.map(realPathOf), ...unread])]
    .flatMap(thereOrShut)
    .filter((path) => path !== home)
    .filter((path) => !named.includes(path) && !holdsWorkspace(path, input))
    .flatMap((path) => cover(path, input.emptyFile));
}

/** A directory of the system that the operator works in is not private. */
function holdsWorkspace(path: string, { security }: ProfileInput): boolean {
  return security.workspace.some((directory) => isInside(realPathOf(directory), path));
}

/** Nothing is left to see of it. */
function cover(path: string, emptyFile: string | undefined): Mount[] {
  const real = realPathOf(path);
  const kind = kindOf(real);
  // A link that is left leads nowhere, and nothing can be mounted on it.
  if (kind === undefined || kind === 'link' || real === '/') return [];
  if (kind === 'directory') return [{ kind: 'empty', path: real }];
  // Tools stop at a file that they may not read, and are content with an empty one.
  return [
    emptyFile === undefined
      ? { kind: 'blank', path: real }
      : { kind: 'readable', path: real, from: emptyFile },
  ];
}
