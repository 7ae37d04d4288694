/**
 * Lines that are appended and stay: each server writes files of its own, and reads those of the others. A line is
 * written at once and whole; a file is a few MiB, after which the next one begins.
 *
 * Files are filled with zeros some way ahead. That room is there when the disk is full, so that whatever was begun can be
 * concluded. A line that is to go is overwritten in its place, and the file `changes` tells others to read anew.
 */
import {
  appendFileSync,
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { attempt, succeeds } from '../base/attempt.ts';
import { makePrivateDirectory } from '../base/files.ts';

/** Where a line lies. */
export interface Place {
  readonly file: string;
  readonly offset: number;
  /** In bytes, without the end of the line. */
  readonly length: number;
}

const FILE_BYTES = 4 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
const CHANGES = 'changes';
const SETTLED_MS = 100;
const SUFFIX = '.log';

interface Writer {
  readonly file: string;
  readonly fd: number;
  position: number;
  allocated: number;
}

export function createJournal(directory: string, instance: string) {
  /** Of other files, up to where they are known. */
  const known = new Map<string, number>();
  const writing = createWriting(directory, instance, known);
  /** As they were when nothing more was to be read. */
  const settled = new Map<string, string>();
  let changes = 0;

  return {
    /** `roomBytes` are still free behind it. Throws where the disk refuses. */
    append: writing.append,
    /**
     * Visits the lines that others wrote since the last time, or all where some were replaced. `onGone` is called with files
     * that are gone, and of those whose lines are visited again.
     */
    async readNew(visit: Visit, onGone: (file: string) => void): Promise<void> {
      const now = readChanges(directory);
      const files = listFiles(directory);
      const isChanged = now !== changes;
      changes = now;
      for (const file of known.keys()) {
        if (files.includes(file)) continue;
        known.delete(file);
        onGone(file);
      }
      for (const file of files) {
        // Ours is known as it was written.
        if (file === writing.file() && !isChanged) continue;
        const from = isChanged ? 0 : (known.get(file) ?? 0);
        const about = statSync(join(directory, file), { throwIfNoEntry: false });
        if (about === undefined || about.size <= from) continue;
        const stamp = `${about.size} ${about.mtimeMs}`;
        if (!isChanged && settled.get(file) === stamp) continue;
        // A file that was written a moment ago can be written again without another time being noted.
        if (Date.now() - about.mtimeMs > SETTLED_MS) settled.set(file, stamp);
        // In one go: nothing of it is missing while other code runs.
        if (isChanged) onGone(file);
        known.set(file, visitFrom(directory, file, from, visit) ?? from);
        await new Promise(setImmediate);
      }
    },
    /** Undefined where the file is gone. */
    read: ({ file, offset, length }: Place): string | undefined =>
      withFile(join(directory, file), (fd) => {
        const bytes = Buffer.allocUnsafe(length);
        return bytes.toString('utf8', 0, readSync(fd, bytes, 0, length, offset));
      }),
    /** Puts another line in the place of one, no longer than that. */
    replace({ file, offset, length }: Place, line: string): void {
      const bytes = Buffer.alloc(length, ' ');
      if (bytes.write(line) < Buffer.byteLength(line)) throw new Error('a line cannot grow');
      overwrite(join(directory, file), offset, bytes);
      tellChange(directory);
      // What was just changed from here is known here.
      changes = readChanges(directory);
    },
    /** Removes a file that nothing is to be kept of, unless it is being written. */
    remove(file: string): void {
      if (file === writing.file()) return;
      rmSync(join(directory, file), { force: true });
      known.delete(file);
    },
    close: writing.release,
  };
}

export type Journal = ReturnType<typeof createJournal>;
/** Gets a line up to its tab: what comes after that is read on request. */
type Visit = (head: string, place: Place) => void;
const TAB = 9;

/** The file that this server writes. One that is full or closed is `known` to its end. */
function createWriting(directory: string, instance: string, known: Map<string, number>) {
  let writer: Writer | undefined;
  let written = 0;

  function open(): Writer {
    if (writer !== undefined && writer.position < FILE_BYTES) return writer;
    release();
    makePrivateDirectory(directory);
    const file = `${instance}-${String(++written).padStart(4, '0')}${SUFFIX}`;
    writer = { file, fd: openSync(join(directory, file), 'wx+', 0o600), position: 0, allocated: 0 };
    return writer;
  }

  function release(): void {
    if (writer === undefined) return;
    ftruncateSync(writer.fd, writer.position);
    closeSync(writer.fd);
    known.set(writer.file, writer.position);
    writer = undefined;
  }

  return {
    file: () => writer?.file,
    release,
    append(line: string, roomBytes: number): Place {
      const target = open();
      const bytes = Buffer.from(`${line}\n`);
      const needed = target.position + bytes.length;
      allocate(target, needed + roomBytes, roomBytes === 0 ? needed : needed + roomBytes);
      const place = { file: target.file, offset: target.position, length: bytes.length - 1 };
      let done = 0;
      while (done < bytes.length)
        done += writeSync(target.fd, bytes, done, bytes.length - done, target.position + done);
      target.position += bytes.length;
      target.allocated = Math.max(target.allocated, target.position);
      return place;
    },
  };
}

/** Where the disk has no more, what is there may do. */
function allocate(target: Writer, wanted: number, needed: number): void {
  if (wanted <= target.allocated) return;
  const zeros = Buffer.alloc(Math.ceil((wanted - target.allocated) / CHUNK_BYTES) * CHUNK_BYTES);
  try {
    while (target.allocated < wanted)
      target.allocated += writeSync(target.fd, zeros, 0, zeros.length, target.allocated);
  } catch (error) {
    if (needed > target.allocated) throw error;
  }
}

/** A file that is gone needs no line to go; anything else is told. */
function overwrite(path: string, offset: number, bytes: Buffer): void {
  if (!existsSync(path)) return;
  const fd = openSync(path, 'r+');
  try {
    writeSync(fd, bytes, 0, bytes.length, offset);
  } finally {
    closeSync(fd);
  }
}

/** By another size of the file; on a full disk it can only get smaller. */
function tellChange(directory: string): void {
  const path = join(directory, CHANGES);
  if (!succeeds(() => appendFileSync(path, '.', { mode: 0o600 }))) rmSync(path, { force: true });
}

const readChanges = (directory: string): number =>
  statSync(join(directory, CHANGES), { throwIfNoEntry: false })?.size ?? 0;

function withFile<Result>(path: string, use: (fd: number) => Result): Result | undefined {
  const fd = attempt(() => openSync(path, 'r'));
  if (fd === undefined) return undefined;
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

function visitFrom(directory: string, file: string, from: number, visit: Visit): number | undefined {
  return withFile(join(directory, file), (fd) => {
    const bytes = Buffer.allocUnsafe(Math.max(0, fstatSync(fd).size - from));
    const read = bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, from));
    let at = 0;
    for (let end = read.indexOf(10); end !== -1; end = read.indexOf(10, at)) {
      const tab = read.indexOf(TAB, at);
      visit(read.toString('utf8', at, tab === -1 ? end : Math.min(tab, end)), {
        file,
        offset: from + at,
        length: end - at,
      });
      at = end + 1;
    }
    return from + at;
  });
}

const listFiles = (directory: string): string[] =>
  (attempt(() => readdirSync(directory)) ?? []).filter((name) => name.endsWith(SUFFIX)).toSorted();
