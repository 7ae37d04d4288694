/**
 * Messages onto a stream, one a line. A writer waits while the other side does not read; whether it should go on
 * taking requests meanwhile is for `isFull` to say.
 */
import type { Writable } from 'node:stream';
import { LIMITS } from '../base/limits.ts';

export interface LineWriter {
  /** Resolves when the stream takes more, or is closed. */
  write(message: unknown): Promise<void>;
  isFull(): boolean;
  /** Resolves when everything has left this process, or never can. */
  flush(): Promise<void>;
}

export interface LineWriterOptions {
  readonly output: Writable;
  /** The other side read everything that was waiting. */
  readonly onDrained: () => void;
  /** The other side is gone (EPIPE), or the stream is closed. */
  readonly onBroken: () => void;
}

export function createLineWriter({ output, onDrained, onBroken }: LineWriterOptions): LineWriter {
  let waiting: (() => void)[] = [];
  let underWay = 0;
  let broken = false;

  /** Wakes all that wait; each looks for itself whether it still has to. */
  function wake(): void {
    const woken = waiting;
    waiting = [];
    for (const resume of woken) resume();
  }

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

  const change = (): Promise<void> => new Promise((resume) => void waiting.push(resume));

  return {
    async write(message) {
      if (broken) return;
      underWay += 1;
      if (!output.write(`${JSON.stringify(message)}\n`, written)) await change();
    },
    isFull: () => output.writableLength > LIMITS.outputHighBytes,
    async flush() {
      while (!broken && underWay > 0) await change();
    },
  };
}
