/**
 * A pseudo-terminal: its master side, held by this process, and the path of the side that programs get. We hold that
 * other side open too, until everything is read: Node's event loop otherwise takes the last close for the end and loses
 * up to 15 KB (libuv before 1.52). What was written moves through the kernel in its own time, and nothing tells when it
 * has arrived; so we write something there ourselves, last of all, and read until it comes.
 */
import { randomInt } from 'node:crypto';
import { closeSync, write } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ReadStream } from 'node:tty';
import nodePty from '@lydell/node-pty';

export interface Pty {
  /** Of the side that programs get. */
  readonly path: string;
  onData(listener: (chunk: Buffer) => void): void;
  /** Nothing is read until `resume`: whoever writes to it is held up by the kernel. */
  pause(): void;
  resume(): void;
  /** What was given to `write` and the program has not taken yet. */
  readonly pendingBytes: number;
  /** In order; resolves when the kernel has taken it, false where nobody will read it any more. */
  write(data: Uint8Array): Promise<boolean>;
  resize(columns: number, rows: number): void;
  /** After the last process has gone: reads what is left, then closes. */
  drain(): Promise<void>;
}

/** What the pinned version has beside its documented parts, which start a process of their own. */
interface NativePty {
  open(columns: number, rows: number): { master: number; slave: number; pty: string };
  resize(fd: number, columns: number, rows: number, xPixel: number, yPixel: number): void;
}

/** A terminal that was stopped (Ctrl-S) takes nothing more, and so never shows the mark of its end. */
const STOPPED_MS = 1000;
const LOOK_MS = 5;
/** Programs that do not read what is typed at them fill the kernel's buffer: then we come back. */
const FULL_MS = 5;
const PIECE_BYTES = 4096;

export function openPty(columns: number, rows: number): Pty {
  const native = nativePty();
  const { master, slave, pty: path } = native.open(columns, rows);
  const stream = new ReadStream(master);
  const listeners: ((chunk: Buffer) => void)[] = [];
  let isClosed = false;
  let pendingBytes = 0;
  let writing: Promise<unknown> = Promise.resolve();
  let draining: Draining | undefined;
  stream.on('data', (chunk) => {
    const data = draining === undefined ? chunk : draining.take(chunk);
    if (data.length > 0) for (const listener of listeners) listener(data);
  });
  // Reading fails when both sides are closed; that it is over is said elsewhere.
  stream.on('error', () => undefined);

  async function writeAll(data: Uint8Array): Promise<boolean> {
    for (let at = 0; at < data.length; ) {
      if (isClosed) return false;
      const written = await writeSome(master, data.subarray(at, at + PIECE_BYTES));
      if (written === undefined) return false;
      at += written;
      if (written === 0) await sleep(FULL_MS);
    }
    return !isClosed;
  }

  return {
    path,
    get pendingBytes() {
      return pendingBytes;
    },
    onData: (listener) => void listeners.push(listener),
    pause: () => {
      // At the end there is no more than what the kernel holds.
      if (draining === undefined) stream.pause();
    },
    resume: () => void stream.resume(),
    write(data) {
      pendingBytes += data.length;
      const result = writing
        .then(() => writeAll(data))
        .finally(() => {
          pendingBytes -= data.length;
        });
      writing = result.catch(() => undefined);
      return result;
    },
    resize(newColumns, newRows) {
      if (!isClosed) native.resize(master, newColumns, newRows, 0, 0);
    },
    async drain() {
      if (draining !== undefined) return;
      const end = createDraining();
      draining = end;
      stream.resume();
      const marking = writeSome(slave, end.mark);
      for (let silentMs = 0; !end.isOver() && silentMs < STOPPED_MS; silentMs += LOOK_MS) {
        const before = end.received();
        await sleep(LOOK_MS);
        if (end.received() !== before) silentMs = 0;
      }
      const rest = end.rest();
      if (rest.length > 0) for (const listener of listeners) listener(rest);
      isClosed = true;
      // The number of a closed descriptor is soon another's.
      await writing;
      stream.destroy();
      await marking;
      closeSync(slave);
    },
  };
}

interface Draining {
  readonly mark: Buffer;
  /** What of a chunk was written before the mark. */
  take(chunk: Buffer): Buffer;
  received(): number;
  isOver(): boolean;
  /** What was held back because it might have been the beginning of the mark. */
  rest(): Buffer;
}

function createDraining(): Draining {
  // Digits, which no setting of a terminal changes.
  const mark = Buffer.from(Array.from({ length: 24 }, () => randomInt(10)).join(''));
  let held = Buffer.alloc(0);
  let received = 0;
  let isOver = false;
  return {
    mark,
    received: () => received,
    isOver: () => isOver,
    take(chunk) {
      if (isOver) return Buffer.alloc(0);
      received += chunk.length;
      const data = Buffer.concat([held, chunk]);
      const at = data.indexOf(mark);
      isOver = at !== -1;
      const end = isOver ? at : Math.max(0, data.length - mark.length + 1);
      held = isOver ? Buffer.alloc(0) : data.subarray(end);
      return data.subarray(0, end);
    },
    rest: () => held,
  };
}

/** How much the kernel took; undefined where there is nobody left. */
function writeSome(fd: number, data: Uint8Array): Promise<number | undefined> {
  return new Promise((resolve) => {
    write(fd, data, (error, written) => {
      if (error === null) resolve(written);
      else resolve(error.code === 'EAGAIN' ? 0 : undefined);
    });
  });
}

function nativePty(): NativePty {
  const { native } = nodePty as unknown as { native?: Partial<NativePty> };
  if (typeof native?.open !== 'function' || typeof native.resize !== 'function')
    throw new Error('This version of node-pty cannot open a pseudo-terminal.');
  return native as NativePty;
}
