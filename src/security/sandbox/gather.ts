/**
 * Few mounts out of many: each takes a quarter of a millisecond of every command. The small files of /etc and the
 * allowed programs are copied into the state directory when they change, and each of those directories is mounted from
 * there as a whole. What is large stays a mount of its own.
 */
import { hash } from 'node:crypto';
import {
  chmodSync,
  constants,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isInside } from '../../base/config/paths.ts';
import { errnoOf } from '../../base/errors.ts';
import { makePrivateDirectory } from '../../base/files.ts';
import { randomText } from '../../base/ids.ts';
import { kindOf } from './host-files.ts';
import type { Mount } from './profile.ts';

const GATHERED = ['/etc', '/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin', '/bin', '/sbin'];
/** For fewer it is not worth a copy. */
const MIN_MOUNTS = 4;
/** Of one program or directory; making many small files takes longer than many commands save. */
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_ENTRIES = 100;
/** Something that runs may still have it mounted. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1000;
const MANIFEST = 'copied.json';

/** The same with fewer mounts; as they were where they could not be copied. */
export function gatherMounts(mounts: readonly Mount[], directory: string): Mount[] {
  const below = (place: string): Mount[] => mounts.filter(({ path }) => isInside(path, place));
  const places = GATHERED.filter((place) => {
    const there = below(place);
    const readable = there.filter(({ kind }) => kind === 'readable');
    return readable.length >= MIN_MOUNTS && !there.some(({ path }) => path === place);
  });
  const inner = places.flatMap(below);
  if (inner.length === 0) return [...mounts];
  const key = hash('sha256', inner.map(stampOf).join('\n')).slice(0, 32);
  const home = join(directory, key);
  try {
    const copied = new Set(readManifest(home) ?? copyAll(inner, directory, key));
    const gathered = places.map((path): Mount => ({ kind: 'readable', path, from: join(home, path) }));
    // The new ones are outermost, and those that are left keep their order.
    const left = mounts.filter(({ path }) => !copied.has(path));
    const first = left.filter(({ path }) => places.some((place) => isInside(place, path)));
    return [...first, ...gathered, ...left.filter((mount) => !first.includes(mount))];
  } catch {
    return [...mounts];
  }
}

const sourceOf = (mount: Mount): string => ('from' in mount ? (mount.from ?? mount.path) : mount.path);

/** Another one where the file was replaced or written to, or an entry of the directory was. */
function stampOf(mount: Mount): string {
  const about = mount.kind === 'readable' ? statSync(sourceOf(mount), { throwIfNoEntry: false }) : undefined;
  const target = mount.kind === 'link' ? mount.target : '';
  return [mount.kind, mount.path, target, about?.ino, about?.size, about?.mtimeMs, about?.ctimeMs].join('\0');
}

const used = new Set<string>();

function readManifest(home: string): string[] | undefined {
  const path = join(home, MANIFEST);
  if (kindOf(path) === undefined) return undefined;
  if (!used.has(home)) {
    utimesSync(home, new Date(), new Date());
    used.add(home);
  }
  return JSON.parse(readFileSync(path, 'utf8')) as string[];
}

/** Answers with the paths of the mounts that need none any more. */
function copyAll(mounts: readonly Mount[], directory: string, key: string): string[] {
  makePrivateDirectory(directory);
  removeOld(directory);
  const temporary = join(directory, `${key}.${randomText()}`);
  try {
    const copied = mounts.flatMap((mount) => {
      const to = join(temporary, mount.path);
      mkdirSync(dirname(to), { recursive: true, mode: 0o755 });
      if (mount.kind === 'link') {
        symlinkSync(mount.target, to);
        return [mount.path];
      }
      const isCopied = mount.kind === 'readable' && copySmall(sourceOf(mount), to);
      if (!isCopied) makePlaceholder(mount, to);
      return isCopied ? [mount.path] : [];
    });
    writeFileSync(join(temporary, MANIFEST), JSON.stringify(copied));
    renameSync(temporary, join(directory, key));
    return copied;
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    // Another server may have been faster.
    const theirs = readManifest(join(directory, key));
    if (theirs === undefined) throw error;
    return theirs;
  }
}

/** What is mounted on must be there. */
function makePlaceholder(mount: Mount, to: string): void {
  const isDirectory =
    mount.kind === 'empty' || mount.kind === 'memory' || kindOf(sourceOf(mount)) === 'directory';
  rmSync(to, { recursive: true, force: true });
  if (isDirectory) mkdirSync(to, { mode: 0o755 });
  else writeFileSync(to, '', { mode: 0o644 });
}

/** False where it is too much for a copy. */
function copySmall(from: string, to: string): boolean {
  let bytes = 0;
  let entries = 0;
  const copy = (source: string, target: string): boolean => {
    const about = lstatSync(source);
    if (++entries > MAX_ENTRIES) return false;
    if (about.isSymbolicLink()) {
      symlinkSync(readlinkSync(source), target);
      return true;
    }
    if (about.isDirectory()) {
      mkdirSync(target, { mode: 0o755 });
      return readdirSync(source).every((name) => copy(join(source, name), join(target, name)));
    }
    bytes += about.size;
    if (bytes > MAX_BYTES) return false;
    if (about.isFile()) copyReadable(source, target, about.mode);
    return true;
  };
  return copy(from, to);
}

/** What we cannot read nobody inside could. */
function copyReadable(from: string, to: string, mode: number): void {
  try {
    copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    // Without the set-uid bit.
    chmodSync(to, mode & 0o777);
  } catch (error) {
    if (errnoOf(error) !== 'EACCES') throw error;
  }
}

function removeOld(directory: string): void {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    if (Date.now() - lstatSync(path).mtimeMs > KEPT_MS) rmSync(path, { recursive: true, force: true });
  }
}
