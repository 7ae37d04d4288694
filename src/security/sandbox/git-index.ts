/**
 * The repositories that another one has as entries of its index: `git status` goes into each, and obeys what is there. Of an
 * index only the entries are read, as git reads them; whatever else fills it is passed over.
 */
import { constants, fstatSync, readSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { realPathOf } from '../../base/config/paths.ts';
import { withFile } from '../../base/files.ts';

export interface Gitlinks {
  /** Paths relative to the work tree, as they are written there. */
  readonly names: readonly string[];
  /** There are no others. */
  readonly isWhole: boolean;
}

/** What may still be read of indexes: the server does nothing else meanwhile. */
export interface IndexBudget {
  bytes: number;
}

/** The entries of a repository with 500,000 files. */
export const MAX_INDEX_BYTES = 48 * 1024 * 1024;
/** Most indexes are smaller. */
const FIRST_BYTES = 1024 * 1024;
const HEADER_BYTES = 12;
/** Times, device, inode, mode, owner and size of an entry, before its hash. */
const STAT_BYTES = 40;
const MODE_AT = 24;
const GITLINK = 0xe000;
const LENGTH_MASK = 0xfff;
const MAX_NAME_BYTES = 64 * 1024;
/** Git itself knows nine. */
const MAX_EXTENSIONS = 64;
/** Which hash it has is written elsewhere. What is read with the wrong one are names that are nowhere. */
const HASHES = [20, 32];

export function findGitlinks(index: string, budget: IndexBudget = { bytes: MAX_INDEX_BYTES }): Gitlinks {
  const real = realPathOf(index);
  const { names, isWhole, bases } = readIndex(real, budget);
  // With a split index most entries are in another file, which has none such itself.
  const shared = bases.map((base) =>
    readIndex(realPathOf(join(dirname(real), `sharedindex.${base}`)), budget),
  );
  return {
    names: [...new Set([...names, ...shared.flatMap((each) => each.names)])],
    isWhole: isWhole && shared.every((each) => each.isWhole),
  };
}

interface ReadIndex extends Gitlinks {
  readonly bases: readonly string[];
}

const NOTHING: ReadIndex = { names: [], isWhole: true, bases: [] };

/** Nothing is in what git cannot read either. */
function readIndex(file: string, budget: IndexBudget): ReadIndex {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const read = (fd: number): ReadIndex => {
    const about = fstatSync(fd);
    if (!about.isFile()) return NOTHING;
    if (budget.bytes <= 0) return { ...NOTHING, isWhole: false };
    if (!isIndex(readAt(fd, 0, HEADER_BYTES))) return NOTHING;
    const first = parseAll(readAt(fd, 0, Math.min(about.size, FIRST_BYTES)), about.size);
    budget.bytes -= Math.min(about.size, FIRST_BYTES);
    const most = Math.min(about.size, MAX_INDEX_BYTES, budget.bytes);
    const isMore = first.some(({ end }) => end === 'cut') && most > FIRST_BYTES;
    if (isMore) budget.bytes -= most;
    const all = (isMore ? parseAll(readAt(fd, 0, most), about.size) : first).filter(
      ({ end, hashBytes }) => typeof end !== 'number' || isEnd(fd, end, about.size - hashBytes),
    );
    return {
      names: all.flatMap(({ names }) => names),
      // Where it is one, but not understood, git may read it in another way.
      isWhole:
        all.some(({ end }) => end !== 'broken') &&
        !all.some(({ end, hasNameless }) => end === 'cut' || (typeof end === 'number' && hasNameless)),
      bases: all.flatMap(({ end, hashBytes }) =>
        typeof end === 'number' ? baseOf(fd, end, about.size, hashBytes) : [],
      ),
    };
  };
  return attempt(() => withFile(file, flags, read)) ?? NOTHING;
}

/** Of a version that git knows. */
const isIndex = (bytes: Buffer): boolean =>
  bytes.length >= HEADER_BYTES &&
  bytes.toString('latin1', 0, 4) === 'DIRC' &&
  [2, 3, 4].includes(bytes.readUInt32BE(4));

function readAt(fd: number, at: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const read = readSync(fd, bytes, done, length - done, at + done);
    if (read === 0) break;
    done += read;
  }
  return bytes.subarray(0, done);
}

export interface Entries {
  readonly names: readonly string[];
  /** Where they end; or they go on behind what was read, or are none. */
  readonly end: number | 'cut' | 'broken';
  /** Others have their names elsewhere. */
  readonly hasNameless?: boolean;
}

function parseAll(bytes: Buffer, size: number) {
  return HASHES.map((hashBytes) => ({ hashBytes, ...parseGitlinks(bytes, hashBytes, size) }));
}

/** By the lengths that are written there, as git does it. `size` is that of the file, of which `bytes` is the beginning. */
export function parseGitlinks(bytes: Buffer, hashBytes: number, size = bytes.length): Entries {
  const names: string[] = [];
  if (!isIndex(bytes)) return { names, end: 'broken' };
  const version = bytes.readUInt32BE(4);
  const name = createName();
  const atEnd = bytes.length < size ? 'cut' : 'broken';
  let at = HEADER_BYTES;
  let hasNameless = false;
  for (let left = bytes.readUInt32BE(8); left > 0; left--) {
    const flagsAt = at + STAT_BYTES + hashBytes;
    if (flagsAt + 8 > bytes.length) return { names, end: atEnd };
    const isGitlink = bytes.readUInt32BE(at + MODE_AT) === GITLINK;
    const flags = bytes.readUInt16BE(flagsAt);
    let nameAt = flagsAt + ((flags & 0x4000) === 0 ? 2 : 4);
    let kept = 0;
    if (version === 4) {
      const { value, next } = readOffset(bytes, nameAt);
      kept = Math.max(0, name.length() - value);
      nameAt = next;
    }
    const written = flags & LENGTH_MASK;
    const nameEnd = written === LENGTH_MASK ? bytes.indexOf(0, nameAt) : nameAt + written - kept;
    if (nameEnd === -1 || nameEnd >= bytes.length) return { names, end: atEnd };
    const length = nameEnd - nameAt + kept;
    if (bytes[nameEnd] !== 0 || nameEnd < nameAt || length > MAX_NAME_BYTES) return { names, end: 'broken' };
    // Of an entry that replaces one of the other file of a split index, that one has the name.
    if (isGitlink && length === 0) hasNameless = true;
    if (version === 4) name.change(kept, bytes, nameAt, nameEnd);
    if (isGitlink && length > 0)
      names.push(version === 4 ? name.text() : bytes.toString('utf8', nameAt, nameEnd));
    // Entries are padded with one to eight zeros to a multiple of eight, but for those of version 4.
    at += version === 4 ? nameEnd + 1 - at : (nameEnd - at + 8) & ~7;
  }
  return { names, end: at, hasNameless };
}

/** Of version 4 each name begins as the one before. */
function createName() {
  const bytes = Buffer.alloc(MAX_NAME_BYTES);
  let length = 0;
  return {
    length: () => length,
    change(kept: number, from: Buffer, start: number, end: number): void {
      from.copy(bytes, kept, start, end);
      length = kept + end - start;
    },
    text: () => bytes.toString('utf8', 0, length),
  };
}

/** What comes after entries is an extension, or the hash of it all. */
const isEnd = (fd: number, at: number, last: number): boolean =>
  at === last || (at + 8 <= last && /^[a-z]{4}$/i.test(readAt(fd, at, 4).toString('latin1')));

/** Of the extension that makes an index a split one: the name of the other file. */
function baseOf(fd: number, entriesEnd: number, size: number, hashBytes: number): string[] {
  let at = entriesEnd;
  for (let count = 0; count < MAX_EXTENSIONS && at + 8 <= size - hashBytes; count++) {
    const header = readAt(fd, at, 8);
    if (header.toString('latin1', 0, 4) === 'link') return [readAt(fd, at + 8, hashBytes).toString('hex')];
    at += 8 + header.readUInt32BE(4);
  }
  return [];
}

/** Git's own variable length: each further byte adds one. */
function readOffset(bytes: Buffer, at: number): { readonly value: number; readonly next: number } {
  let byte = bytes[at++] ?? 0;
  let value = byte & 0x7f;
  while ((byte & 0x80) !== 0 && at < bytes.length) {
    byte = bytes[at++] ?? 0;
    value = (value + 1) * 128 + (byte & 0x7f);
  }
  return { value, next: at };
}
