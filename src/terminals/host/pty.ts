/**
 * A pseudo-terminal: its master side, held by this process, and the path of the side that programs get. We hold that
 * other side open too, until everything is read: Node's event loop otherwise takes the last close for the end and loses
 * up to 15 KB (libuv before 1.52). What was written moves through the kernel in its own time, and nothing tells when it
 * has arrived; so we write something there ourselves, last of all, and read until it comes.
 */
import { randomInt } from 'node:crypto';
import { closeSync, write, writeSync } from 'node:fs';
import type { ConnectOpts, SocketConstructorOpts } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ReadStream } from 'node:tty';
import nodePty from '@lydell/node-pty';

export type Pty = ReturnType<typeof openPty>;

/** What the pinned version has beside its documented parts, which start a process of their own. */
interface NativePty {
  open(columns: number, rows: number): { master: number; slave: number; pty: string };
  resize(fd: number, columns: number, rows: number, xPixel: number, yPixel: number): void;
}

/** A terminal that was stopped (Ctrl-S) takes nothing more, and so never shows the mark of its end. */
const STOPPED_MS = 1000;
/** So long at a time for one that floods us; then others have their turn, and the kernel holds up the program. */
const SLICE_MS = 10;
const READ_BYTES = 16 * 1024;
/** Programs that do not read what is typed at them fill the kernel's buffer: then we come back. */
const FULL_MS = 5;
const PIECE_BYTES = 4096;

export function openPty(columns: number, rows: number) {
  const native = nativePty();
  const { master, slave, pty: path } = native.open(columns, rows);
  const listeners: ((chunk: Uint8Array) => void)[] = [];
  const writer = createWriter(master);
  let draining: ReturnType<typeof createDraining> | undefined;
  /** When the turn of the event loop began in which we are reading. */
  let turnBegan: number | undefined;

  function nextTurn(): void {
    turnBegan = undefined;
    if (!writer.isClosed) stream.resume();
  }

  /** False stops reading until the next turn. */
  function receive(chunk: Uint8Array): boolean {
    if (turnBegan === undefined) {
      turnBegan = performance.now();
      setImmediate(nextTurn);
    }
    const data = draining === undefined ? chunk : draining.take(chunk);
    if (data.length > 0) for (const listener of listeners) listener(data);
    return performance.now() - turnBegan < SLICE_MS;
  }

  const options: SocketConstructorOpts & ConnectOpts = {
    onread: {
      buffer: Buffer.allocUnsafeSlow(READ_BYTES),
      callback: (bytes, buffer) => receive(buffer.subarray(0, bytes)),
    },
  };
  const stream = new ReadStream(master, options);
  // Reading fails when both sides are closed; that it is over is said elsewhere.
  stream.on('error', () => undefined);

  return {
    /** Of the side that programs get. */
    path,
    get pendingBytes() {
      return writer.pendingBytes;
    },
    /** Reading begins with the first one. The bytes are good for the moment of the call. */
    onData(listener: (chunk: Uint8Array) => void): void {
      listeners.push(listener);
      stream.resume();
    },
    write: writer.write,
    resize(newColumns: number, newRows: number): void {
      if (!writer.isClosed) native.resize(master, newColumns, newRows, 0, 0);
    },
    /** After the last process has gone: reads what is left, then closes. */
    async drain(): Promise<void> {
      if (draining !== undefined) return;
      const end = createDraining();
      draining = end;
      stream.resume();
      const marking = writeLater(slave, end.mark);
      await end.isOver;
      const rest = end.rest();
      if (rest.length > 0) for (const listener of listeners) listener(rest);
      // The number of a closed descriptor is soon another's.
      await writer.close();
      stream.destroy();
      await marking;
      closeSync(slave);
    },
  };
}

/** Writes in order, and no more than the program reads. */
function createWriter(master: number) {
  let isClosed = false;
  let pendingBytes = 0;
  let writing: Promise<unknown> = Promise.resolve();

  async function writeAll(data: Uint8Array): Promise<boolean> {
    for (let at = 0; at < data.length; ) {
      if (isClosed) return false;
      const written = writeNow(master, data.subarray(at, at + PIECE_BYTES));
      if (written === undefined) return false;
      at += written;
      if (written === 0) await sleep(FULL_MS);
    }
    return !isClosed;
  }

  return {
    get isClosed() {
      return isClosed;
    },
    /** What was given to `write` and the program has not taken yet. */
    get pendingBytes() {
      return pendingBytes;
    },
    /** In order; resolves when the kernel has taken it, false where nobody will read it any more. */
    write(data: Uint8Array): Promise<boolean> {
      pendingBytes += data.length;
      const result = writing
        .then(() => writeAll(data))
        .finally(() => {
          pendingBytes -= data.length;
        });
      writing = result.catch(() => undefined);
      return result;
    },
    /** Resolves when nothing is being written any more. */
    async close(): Promise<void> {
      isClosed = true;
      await writing;
    },
  };
}

function createDraining() {
  // Digits, which no setting of a terminal changes.
  const mark = Buffer.from(Array.from({ length: 24 }, () => randomInt(10)).join(''));
  let held = Buffer.alloc(0);
  let hasMark = false;
  let finish = (): void => undefined;
  const isOver = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const silence = setTimeout(() => finish(), STOPPED_MS);
  return {
    mark,
    /** The mark has come, or nothing for so long that it never will. */
    isOver,
    /** What of a chunk was written before the mark. */
    take(chunk: Uint8Array): Uint8Array {
      if (hasMark) return Buffer.alloc(0);
      const data = Buffer.concat([held, chunk]);
      const at = data.indexOf(mark);
      hasMark = at !== -1;
      const end = hasMark ? at : Math.max(0, data.length - mark.length + 1);
      held = hasMark ? Buffer.alloc(0) : data.subarray(end);
      silence.refresh();
      if (hasMark) {
        clearTimeout(silence);
        finish();
      }
      return data.subarray(0, end);
    },
    /** What was held back because it might have been the beginning of the mark. */
    rest: () => held,
  };
}

/** How much the kernel took; undefined where there is nobody left. The descriptor does not block. */
function writeNow(fd: number, data: Uint8Array): number | undefined {
  try {
    return writeSync(fd, data);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? 0 : undefined;
  }
}

/** Where a terminal was stopped, in a thread that waits. */
function writeLater(fd: number, data: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    write(fd, data, () => resolve());
  });
}

function nativePty(): NativePty {
  const { native } = nodePty as unknown as { native?: Partial<NativePty> };
  if (typeof native?.open !== 'function' || typeof native.resize !== 'function')
    throw new Error('This version of node-pty cannot open a pseudo-terminal.');
  return native as NativePty;
}
