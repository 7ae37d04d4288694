/**
 * Puts a new text in the place of a file: through links to the file itself, whole or not at all, with the mode and the
 * owner it had, and only if it is still what was read. What was there before is kept beside it.
 */
import {
  chmodSync,
  chownSync,
  fsyncSync,
  lstatSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { makePrivateDirectory, withFile, writeAllSync } from '../../base/files.ts';
import { randomText } from '../../base/ids.ts';
import { EditRefused } from './table.ts';

export interface FoundFile {
  /** Where it really lies. */
  readonly path: string;
  /** Empty where there is none. */
  readonly text: string;
  readonly about: Stats | undefined;
}

/** A settings file that is larger is none. */
const MAX_BYTES = 32 * 1024 * 1024;

export function readFile(typed: string): FoundFile {
  const path = followLinks(typed);
  const about = statSync(path, { throwIfNoEntry: false });
  if (about === undefined) return { path, text: '', about };
  if (!about.isFile()) throw new EditRefused('it is not a regular file');
  if (about.size > MAX_BYTES) throw new EditRefused('it is too large');
  return { path, text: decode(readFileSync(path)), about };
}

/** The backup's path; undefined where there was nothing to keep. */
export function replaceFile(found: FoundFile, text: string, nowMs: number): string | undefined {
  const { path, about } = found;
  makePrivateDirectory(dirname(path));
  const backup = about === undefined ? undefined : keep(found, nowMs);
  const temporary = join(dirname(path), `.${basename(path)}.${randomText()}.tmp`);
  try {
    write(temporary, text, about);
    if (readFile(path).text !== found.text || statSync(path, { throwIfNoEntry: false })?.ino !== about?.ino) {
      if (backup !== undefined) rmSync(backup, { force: true });
      throw new EditRefused('another program changed it meanwhile; try again');
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  return backup;
}

function keep({ path, text, about }: FoundFile, nowMs: number): string {
  const stamp = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  for (let count = 0; ; count++) {
    const backup = `${path}.backup-${stamp}${count === 0 ? '' : `-${count}`}`;
    try {
      write(backup, text, about);
      return backup;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || count > 100) throw error;
    }
  }
}

function write(path: string, text: string, like: Stats | undefined): void {
  // Private until it has its owner: such files hold tokens.
  withFile(path, 'wx', (fd) => {
    writeAllSync(fd, Buffer.from(text));
    fsyncSync(fd);
  });
  if (like === undefined || process.platform === 'win32') return;
  const own = statSync(path);
  if (own.uid !== like.uid || own.gid !== like.gid) chownSync(path, like.uid, like.gid);
  chmodSync(path, like.mode & 0o7777);
}

/** Dotfiles are often links into a repository; a link that leads nowhere yet says where the file is to be. */
function followLinks(path: string): string {
  let at = path;
  for (let links = 0; links < 40; links++) {
    const about = lstatSync(at, { throwIfNoEntry: false });
    if (about === undefined) return at;
    if (!about.isSymbolicLink()) return realpathSync(at);
    at = resolve(dirname(at), readlinkSync(at));
  }
  throw new EditRefused('its links lead in a circle');
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new EditRefused('it is not UTF-8');
  }
}
