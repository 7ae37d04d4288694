/**
 * The repositories that another one has as entries of its index: `git status` goes into each, and obeys what is there. Of an
 * index only the entries are read, as git reads them; whatever else fills it is passed over.
 */
import { constants, fstatSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { realPathOf } from '../../base/config/paths.ts';
import { readAt, withFile } from '../../base/files.ts';
import { parseSplitIndex, type SplitIndex } from './split-index.ts';

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
/** Each is looked for. Nobody has as many submodules. */
const MAX_NAMES = 2500;
/** Git itself knows nine. */
const MAX_EXTENSIONS = 64;
/** Two bits for each entry of the other file, at most. */
const MAX_SPLIT_BYTES = 1024 * 1024;
/** Which hash it has is written elsewhere. What is read with the wrong one are names that are nowhere. */
const HASHES = [20, 32];

export function findGitlinks(index: string, budget: IndexBudget = { bytes: MAX_INDEX_BYTES }): Gitlinks {
  const real = realPathOf(index);
  const { names, isWhole, splits } = readIndex(real, budget);
  // With a split index most entries are in another file, which has none such itself.
  const shared = splits.map(({ base, replaced, nameless }) => {
    const wanted = nameless.map((position) => replaced[position] ?? -1);
    const other = realPathOf(join(dirname(real), `sharedindex.${base}`));
    const found = readIndex(other, budget, new Set(wanted));
    return { ...found, isWhole: found.isWhole && !wanted.includes(-1) };
  });
  const all = [...new Set([...names, ...shared.flatMap((each) => each.names)])];
  return {
    names: all.slice(0, MAX_NAMES),
    isWhole: isWhole && shared.every((each) => each.isWhole) && all.length <= MAX_NAMES,
  };
}

interface ReadIndex extends Gitlinks {
  readonly splits: readonly (SplitIndex & Pick<Entries, 'nameless'>)[];
}

/** What git cannot read either has nothing in it. */
const NOTHING: ReadIndex = { names: [], isWhole: true, splits: [] };
const UNREAD: ReadIndex = { ...NOTHING, isWhole: false };

/** `wanted` are positions of entries that count whatever they are. */
function readIndex(file: string, budget: IndexBudget, wanted?: ReadonlySet<number>): ReadIndex {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const read = (fd: number): ReadIndex => {
    const { size } = fstatSync(fd);
    if (budget.bytes <= 0) return UNREAD;
    if (!isIndex(readAt(fd, 0, HEADER_BYTES))) return NOTHING;
    const parse = (length: number) => {
      budget.bytes -= length;
      const bytes = readAt(fd, 0, length);
      return HASHES.map((hashBytes) => ({ hashBytes, ...parseGitlinks(bytes, { hashBytes, size, wanted }) }));
    };
    const first = parse(Math.min(size, FIRST_BYTES));
    const most = Math.min(size, MAX_INDEX_BYTES, budget.bytes);
    const isMore = first.some(({ end }) => end === 'cut') && most > FIRST_BYTES;
    const all = (isMore ? parse(most) : first).filter(
      ({ end, hashBytes }) => typeof end !== 'number' || isEnd(fd, end, size - hashBytes),
    );
    const splits = all.flatMap(({ end, hashBytes, nameless }) => {
      if (typeof end !== 'number') return [];
      const split = findSplit(fd, end, size, hashBytes);
      if (split === undefined && nameless.length === 0) return [];
      return [{ ...(split ?? { base: '', replaced: [] }), nameless }];
    });
    return {
      names: all.flatMap(({ names }) => names.filter((name) => !name.includes('\0'))),
      // Where it is one, but not understood, git may read it in another way.
      isWhole: all.some(({ end }) => end !== 'broken') && !all.some(({ end }) => end === 'cut'),
      splits,
    };
  };
  return attempt(() => withFile(file, flags, (fd) => attempt(() => read(fd)) ?? UNREAD)) ?? NOTHING;
}

/** Of a version that git knows. */
const isIndex = (bytes: Buffer): boolean =>
  bytes.length >= HEADER_BYTES &&
  bytes.toString('latin1', 0, 4) === 'DIRC' &&
  [2, 3, 4].includes(bytes.readUInt32BE(4));

export interface Entries {
  readonly names: readonly string[];
  /** Where they end; or they go on behind what was read, or are none. */
  readonly end: number | 'cut' | 'broken';
  /** Positions of those that have their names elsewhere. */
  readonly nameless: readonly number[];
}

export interface EntryOptions {
  readonly hashBytes: number;
  /** Of the file, of which the bytes are the beginning. */
  readonly size: number;
  readonly wanted?: ReadonlySet<number> | undefined;
}

/** By the lengths that are written there, as git does it. */
export function parseGitlinks(bytes: Buffer, { hashBytes, size, wanted }: EntryOptions): Entries {
  const names: string[] = [];
  const nameless: number[] = [];
  const version = bytes.readUInt32BE(4);
  const name = createName();
  const atEnd = bytes.length < size ? 'cut' : 'broken';
  let at = HEADER_BYTES;
  const count = bytes.readUInt32BE(8);
  for (let position = 0; position < count; position++) {
    const flagsAt = at + STAT_BYTES + hashBytes;
    if (flagsAt + 8 > bytes.length) return { names, nameless, end: atEnd };
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
    if (nameEnd === -1 || nameEnd >= bytes.length) return { names, nameless, end: atEnd };
    const length = nameEnd - nameAt + kept;
    if (bytes[nameEnd] !== 0 || nameEnd < nameAt || length > MAX_NAME_BYTES)
      return { names, nameless, end: 'broken' };
    // Of an entry that replaces one of the other file of a split index, that one has the name.
    if (isGitlink && length === 0) nameless.push(position);
    if (version === 4) name.change(kept, bytes, nameAt, nameEnd);
    if ((isGitlink || wanted?.has(position) === true) && length > 0)
      names.push(version === 4 ? name.text() : bytes.toString('utf8', nameAt, nameEnd));
    // Entries are padded with one to eight zeros to a multiple of eight, but for those of version 4.
    at += version === 4 ? nameEnd + 1 - at : (nameEnd - at + 8) & ~7;
  }
  return { names, nameless, end: at };
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

/** Of the extensions, the one that makes an index a split one. Throws where there are too many. */
function findSplit(fd: number, entriesEnd: number, size: number, hashBytes: number): SplitIndex | undefined {
  let at = entriesEnd;
  for (let count = 0; at + 8 <= size - hashBytes; count++) {
    const header = readAt(fd, at, 8);
    const length = header.readUInt32BE(4);
    if (count > MAX_EXTENSIONS) throw new RangeError('not what git writes');
    // As git takes it. With the other length of the hash this is a part of the hash itself.
    if (length > size) return undefined;
    if (header.toString('latin1', 0, 4) === 'link') {
      if (length > MAX_SPLIT_BYTES) throw new RangeError('the bitmaps are too large');
      return parseSplitIndex(readAt(fd, at + 8, length), hashBytes);
    }
    at += 8 + length;
  }
  return undefined;
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
