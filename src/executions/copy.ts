/** Copies what comes out of one pipe: what is in it when asked to, and from `listen` on as it comes. */
import { closeSync, readSync } from 'node:fs';
import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';
import type { Turns } from './copy-turns.ts';

/** The largest a pipe can be without privileges (/proc/sys/fs/pipe-max-size); bounds one drain. */
const PIPE_MAX_BYTES = 1024 * 1024;

export type Copy = ReturnType<typeof createCopy>;

/** One buffer for all copies: a chunk is written to disk before the next read, so nothing is kept. */
const sharedBuffer = Buffer.allocUnsafeSlow(64 * 1024);

export function createCopy(fd: number, write: (chunk: Uint8Array) => void, turns: Turns) {
  // Forgotten on closing: Node's handle lives until the next full collection, and with it all that it can reach.
  let target: typeof write | undefined = write;
  let stop = (): void => closeSync(fd);

  function close(): void {
    if (target === undefined) return;
    target = undefined;
    stop();
  }

  return {
    close,
    /** From here on it is copied as it comes. */
    listen(): void {
      if (target === undefined) return;
      // Node takes `onread` here as net.connect does; its types do not know.
      const options: SocketConstructorOpts & { onread: OnReadOpts } = {
        fd,
        readable: true,
        writable: false,
        onread: {
          buffer: sharedBuffer,
          callback(bytes, buffer) {
            target?.(buffer.subarray(0, bytes));
            return turn.take(bytes);
          },
        },
      };
      const socket = new Socket(options);
      const turn = turns.join(() => {
        if (target !== undefined) socket.resume();
      });
      stop = () => {
        turn.leave();
        socket.destroy();
      };
      socket.on('error', close);
      socket.on('end', close);
    },
    /** Reads what is in the pipe now. */
    drain(): void {
      for (let drained = 0; target !== undefined && drained < PIPE_MAX_BYTES; ) {
        let bytes = 0;
        try {
          bytes = readSync(fd, sharedBuffer, 0, sharedBuffer.length, null);
        } catch {
          return;
        }
        if (bytes === 0) return;
        drained += bytes;
        target(sharedBuffer.subarray(0, bytes));
      }
    },
  };
}
