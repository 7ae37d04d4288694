/** Roots with no more in them than programs need to run: all of /usr, or the allowed programs alone. */
import { basename, dirname, join, relative } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { byName, list } from '../list.ts';
import { isThere, kindOf, namesIn, readLinkAt } from './host-files.ts';
import type { Mount } from './profile.ts';

type BoundMount = Extract<Mount, { kind: 'readable' | 'writable' }> & { readonly from: string };

/** Of /etc: how names, users, times and certificates are found. */
const ETC = list(`
  ld.so.cache ld.so.conf ld.so.conf.d nsswitch.conf passwd group localtime timezone alternatives ssl/certs
  ssl/openssl.cnf ca-certificates pki/tls/certs pki/ca-trust hosts resolv.conf mime.types bash_completion.d
  inputrc terminfo magic os-release debian_version services protocols gai.conf java-17-openjdk perl python3
`);

const TOP = ['bin', 'sbin', 'lib', 'lib64', 'lib32', 'libx32'];

export function minimalRoot(): Mount[] {
  return [{ kind: 'readable', path: '/usr' }, ...topDirectories(), ...etc(), ...others()];
}

/** On most systems links into /usr; elsewhere directories of their own. */
function topDirectories(): Mount[] {
  return TOP.flatMap((name): Mount[] => {
    const path = `/${name}`;
    const target = readLinkAt(path);
    if (target !== undefined) return [{ kind: 'link', path, target }];
    return kindOf(path) === 'directory' ? [{ kind: 'readable', path }] : [];
  });
}

function etc(): Mount[] {
  return ETC.map((name) => `/etc/${name}`)
    .filter(isThere)
    .map((path): Mount => ({ kind: 'readable', path, from: realPathOf(path) }));
}

function others(): BoundMount[] {
  return ['/nix/store', '/gnu/store'].filter(isThere).map(asBound);
}

const PROGRAM_DIRECTORIES = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/local/sbin', '/usr/sbin', '/sbin'];

/** What a program needs besides itself and the libraries of the system. */
const COMPANIONS: Readonly<Record<string, readonly string[]>> = byName({
  git: ['/usr/lib/git-core', '/usr/libexec/git-core', '/usr/share/git-core'],
  python3: ['/usr/lib/python3', '/usr/local/lib/python3', ...namesIn('/usr/lib', /^python3\.\d+$/)],
  perl: ['/usr/share/perl', '/usr/share/perl5', '/usr/lib/perl5', '/etc/perl'],
  // Links into these.
  'node npm npx corepack yarn pnpm': [
    '/usr/share/nodejs',
    '/usr/lib/node_modules',
    '/usr/local/lib/node_modules',
  ],
  man: ['/usr/share/man', '/usr/share/groff', '/usr/lib/man-db', '/usr/libexec/man-db'],
  file: ['/usr/share/misc', '/usr/lib/file'],
  less: ['/usr/share/terminfo', '/lib/terminfo'],
});

/** Data that many programs read and that nobody can run. */
const SHARED = list(`
  /usr/share/zoneinfo /usr/share/locale /usr/share/i18n /usr/lib/locale /usr/share/misc
  /usr/share/ca-certificates /usr/share/terminfo
`);

/** Only these programs exist; the libraries of the system come with them. */
export function programRoot(programs: readonly string[]): Mount[] {
  const companions = [...new Set(programs)].flatMap((name) => COMPANIONS[name] ?? []);
  const data = [...new Set([...SHARED, ...companions])].filter(isThere).map(asBound);
  const links = topDirectories().filter(({ kind }) => kind === 'link');
  const around = [...libraries(), ...data, ...others()];
  const found = [...new Set(programs)].flatMap((name): Mount[] => {
    const path = findProgram(name);
    return path === undefined ? [] : programMounts(path, around);
  });
  const unique = new Map([...found, ...around].map((mount) => [mount.path, mount]));
  return [...links, ...unique.values(), ...etc().filter(({ path }) => path !== '/etc/alternatives')];
}

/**
 * The very file, under the name that was asked for. Where it is there anyway, with what lies around it, the name is a
 * link as it is outside: such a program (npm) finds the rest of itself from where it really lies.
 */
function programMounts(path: string, around: readonly BoundMount[]): Mount[] {
  const place = inUsr(path);
  const real = realPathOf(path);
  const holder = around.find(({ from }) => isInside(real, from));
  if (holder === undefined) return [{ kind: 'readable', path: place, from: real }];
  if (around.some((mount) => isInside(place, mount.path))) return [];
  return [{ kind: 'link', path: place, target: join(holder.path, relative(holder.from, real)) }];
}

function findProgram(name: string): string | undefined {
  const places = name.includes('/') ? [name] : PROGRAM_DIRECTORIES.map((directory) => join(directory, name));
  return places.find((path) => kindOf(realPathOf(path)) === 'file');
}

function asBound(path: string): BoundMount {
  return { kind: 'readable', path: inUsr(path), from: realPathOf(path) };
}

/** /bin/ls is /usr/bin/ls where /bin is a link. */
function inUsr(path: string): string {
  return join(realPathOf(dirname(path)), basename(path));
}

/** Shared libraries and the loader, without the directories that hold programs of their own. */
function libraries(): BoundMount[] {
  const multiarch = ['/usr/lib', '/lib'].flatMap((directory) =>
    namesIn(directory, /^\w+-linux-(?:gnu|musl)\w*$/),
  );
  const plain = ['/usr/lib64', '/usr/lib32', '/usr/libx32', '/lib64'].filter(
    (path) => kindOf(path) === 'directory',
  );
  const loaders = ['/usr/lib', '/lib'].flatMap((directory) => namesIn(directory, /^(?:ld-|libc\.musl)/));
  // Where libraries lie in /usr/lib itself (Alpine, Arch) they cannot be distinguished.
  const whole =
    multiarch.length === 0 ? ['/usr/lib', '/lib'].filter((path) => kindOf(path) === 'directory') : [];
  return [...new Set([...whole, ...multiarch, ...plain, ...loaders].map(inUsr))].map(asBound);
}
