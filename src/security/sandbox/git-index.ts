/** The repositories that another one has as entries of its index: `git status` goes into each, and obeys what is there. */
import { dirname } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { namesIn, readPlainBytes } from './host-files.ts';

/** Of a repository with a million files. */
const MAX_BYTES = 256 * 1024 * 1024;
/** A mode of 160000, as four bytes. */
const GITLINK = Buffer.from([0, 0, 0xe0, 0]);
const HEADER_BYTES = 12;
/** Times, device, inode, mode, owner and size of an entry, before its hash. */
const STAT_BYTES = 40;
const MODE_AT = 24;
const MAX_SHARED = 8;

/** Paths relative to the work tree, as they are written there. */
export const findGitlinks = (index: string): string[] => [
  ...new Set([index, ...sharedBeside(index)].flatMap(readGitlinks)),
];

/** With a split index most entries are in another file. */
const sharedBeside = (index: string): string[] =>
  namesIn(dirname(index), /^sharedindex\./).slice(-MAX_SHARED);

function readGitlinks(file: string): string[] {
  const bytes = attempt(() => readPlainBytes(file, MAX_BYTES));
  // Most indexes have none, which is known a hundred times sooner.
  if (bytes === undefined || !bytes.includes(GITLINK)) return [];
  // Which hash it has is written elsewhere. What is read with the wrong one are names that are nowhere.
  return [20, 32].flatMap((hashBytes) => attempt(() => parseGitlinks(bytes, hashBytes)) ?? []);
}

export function parseGitlinks(bytes: Buffer, hashBytes: number): string[] {
  if (bytes.length < HEADER_BYTES || bytes.toString('latin1', 0, 4) !== 'DIRC') return [];
  const version = bytes.readUInt32BE(4);
  const found: string[] = [];
  let previous = Buffer.alloc(0);
  let at = HEADER_BYTES;
  for (let left = bytes.readUInt32BE(8); left > 0; left--) {
    const flagsAt = at + STAT_BYTES + hashBytes;
    if (flagsAt + 2 > bytes.length) break;
    const isGitlink = bytes.readUInt32BE(at + MODE_AT) === 0xe000;
    const isExtended = (bytes.readUInt16BE(flagsAt) & 0x4000) !== 0;
    let nameAt = flagsAt + (isExtended ? 4 : 2);
    let kept = 0;
    if (version === 4) {
      const { value, next } = readOffset(bytes, nameAt);
      kept = Math.max(0, previous.length - value);
      nameAt = next;
    }
    const end = bytes.indexOf(0, nameAt);
    if (end === -1) break;
    if (version === 4) {
      previous = Buffer.concat([previous.subarray(0, kept), bytes.subarray(nameAt, end)]);
      if (isGitlink) found.push(previous.toString('utf8'));
      at = end + 1;
    } else {
      if (isGitlink) found.push(bytes.toString('utf8', nameAt, end));
      // Entries are padded with one to eight zeros to a multiple of eight.
      at += (end - at + 8) & ~7;
    }
  }
  return found;
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
