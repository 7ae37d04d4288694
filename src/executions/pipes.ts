/**
 * Kernel pipes for what a command prints. Node makes socket pairs, on which `> /dev/stderr` fails with ENXIO, and
 * a plain file is truncated by it; a FIFO that was opened and unlinked is what a shell's own pipe is. They are made in
 * batches, ahead of their use.
 */
import { constants, existsSync, openSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { attempt } from '../base/attempt.ts';
import { errnoOf, messageOf, ShellServerError } from '../base/errors.ts';
import { makePrivateDirectory, removeTree } from '../base/files.ts';
import { LIMITS } from '../base/limits.ts';
import { createTurns } from './copy-turns.ts';
import type { Spawner } from './spawner.ts';

/** For what a command prints; the taker closes `readFd`. */
export interface Pipe {
  /** What the command opens; the name goes with that. */
  readonly path: string;
  /** Does not block; the command's end does, as a program expects. */
  readonly readFd: number;
}

export type Pipes = ReturnType<typeof createPipes>;

export function createPipes(
  directory: string,
  { makeFifos }: Pick<Spawner, 'makeFifos'>,
  batch: number = LIMITS.fifoBatch,
) {
  const ready: string[] = [];
  let made = 0;
  let making: Promise<void> | undefined;

  async function makeBatch(): Promise<void> {
    makePrivateDirectory(directory);
    // Names are never used twice: a leftover is recognised by the link that /proc shows.
    const paths = Array.from({ length: batch }, () => join(directory, `pipe-${process.pid}-${++made}`));
    try {
      await makeFifos(paths);
    } catch (error) {
      for (const path of paths) rmSync(path, { force: true });
      const code = /space|ENOSPC/i.test(messageOf(error)) ? 'EXECUTION_004' : 'EXECUTION_001';
      throw new ShellServerError(code, `The output pipes could not be made: ${messageOf(error)}`, {
        cause: error,
      });
    }
    ready.push(...paths);
  }

  const refill = (): Promise<void> =>
    (making ??= makeBatch().finally(() => {
      making = undefined;
    }));

  async function takePath(): Promise<string> {
    while (ready.length === 0) await refill();
    const path = ready.pop() as string;
    if (ready.length < batch / 4 && making === undefined) refill().catch(() => undefined);
    return path;
  }

  /** Where the directory was removed with all its pipes, new ones are made. */
  async function open<Opened>(how: (path: string) => Opened): Promise<Opened> {
    const path = await takePath();
    try {
      return how(path);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT' || existsSync(path)) throw error;
      ready.length = 0;
      return how(await takePath());
    }
  }

  return {
    /** Private, and gone with the server; for other short-lived files of a launch. */
    directory,
    /** Which of them is read next. */
    turns: createTurns(),
    take: (): Promise<Pipe> =>
      open((path) => ({ path, readFd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK) })),
    /** For what a shell of ours reads; does not block, and the taker closes it. Both ends, since either alone would wait. */
    takeHandoff: () =>
      open((path) => ({ path, fd: openSync(path, constants.O_RDWR | constants.O_NONBLOCK) })),
    dispose(): void {
      // The next ones may be made at this very moment.
      removeTree(directory);
      ready.length = 0;
    },
  };
}

/** How /proc/<pid>/fd shows a pipe of which we have this end. */
export const linkOf = (fd: number): string | undefined => attempt(() => readlinkSync(`/proc/self/fd/${fd}`));
