/**
 * A pseudo-terminal: its master side, held by this process, and the path of the side that programs get. We hold that
 * other side open too, until everything is read: Node's event loop otherwise takes the last close for the end and loses
 * up to 15 KB (libuv before 1.52).
 */
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

/** What is written moves through the kernel in a moment, and nothing tells when. */
const QUIET_MS = 10;
/** Programs that do not read what is typed at them fill the kernel's buffer: then we come back. */
const FULL_MS = 5;
const PIECE_BYTES = 4096;

export function openPty(columns: number, rows: number): Pty {
  const native = nativePty();
  const { master, slave, pty: path } = native.open(columns, rows);
  const stream = new ReadStream(master);
  let received = 0;
  let isClosed = false;
  let pendingBytes = 0;
  let writing: Promise<unknown> = Promise.resolve();
  stream.on('data', (chunk) => {
    received += chunk.length;
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
    onData: (listener) => void stream.on('data', listener),
    pause: () => void stream.pause(),
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
      if (isClosed) return;
      stream.resume();
      for (let before = -1; before !== received; ) {
        before = received;
        await sleep(QUIET_MS);
      }
      isClosed = true;
      // The number of a closed descriptor is soon another's.
      await writing;
      closeSync(slave);
      stream.destroy();
    },
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
