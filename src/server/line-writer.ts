/**
 * Messages onto a stream, one a line. A writer waits while the other side does not read; whether it should go on
 * taking requests meanwhile is for `isFull` to say.
 */
import { EventEmitter, once } from 'node:events';
import type { Writable } from 'node:stream';
import { LIMITS } from '../base/limits.ts';

export interface LineWriterOptions {
  readonly output: Writable;
  /** The other side read everything that was waiting. */
  readonly onDrained: () => void;
  /** The other side is gone (EPIPE), or the stream is closed. */
  readonly onBroken: () => void;
}

export function createLineWriter({ output, onDrained, onBroken }: LineWriterOptions) {
  const changes = new EventEmitter().setMaxListeners(0);
  let underWay = 0;
  let broken = false;

  /** Wakes all that wait; each looks for itself whether it still has to. */
  const wake = (): void => void changes.emit('change');

  function breakOff(): void {
    if (broken) return;
    broken = true;
    wake();
    onBroken();
  }

  function written(): void {
    underWay -= 1;
    if (underWay === 0) wake();
  }

  output.on('drain', () => {
    wake();
    onDrained();
  });
  // These stay after closing too: a late EPIPE without a listener would end the process.
  output.on('error', breakOff);
  output.on('close', breakOff);

  return {
    /** Resolves when the stream takes more, or is closed. */
    async write(message: unknown): Promise<void> {
      if (broken) return;
      underWay += 1;
      if (!output.write(`${JSON.stringify(message)}\n`, written)) await once(changes, 'change');
    },
    isFull: () => output.writableLength > LIMITS.outputHighBytes,
    /** Resolves when everything has left this process, or never can. */
    async flush(): Promise<void> {
      while (!broken && underWay > 0) await once(changes, 'change');
    },
  };
}
