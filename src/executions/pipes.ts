/**
 * Kernel pipes for what a command prints. Node makes socket pairs, on which `> /dev/stderr` fails with ENXIO, and
 * a plain file is truncated by it. The forker makes pipes without a name; where there is none, a FIFO that was opened and
 * unlinked is the same. They are made in batches, ahead of their use.
 */
import { constants, existsSync, openSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { attempt } from '../base/attempt.ts';
import { errnoOf, messageOf, ShellServerError } from '../base/errors.ts';
import { makePrivateDirectory, removeTree } from '../base/files.ts';
import { LIMITS } from '../base/limits.ts';
import { createTurns } from './copy-turns.ts';
import type { Descriptor, PipeEnds, Spawner } from './spawner.ts';

/** For what a command prints; the taker closes `readFd`. */
export interface Pipe {
  /** What the command gets. */
  readonly end: Descriptor;
  /** Does not block; the command's end does, as a program expects. */
  readonly readFd: number;
}

export type Pipes = ReturnType<typeof createPipes>;

export function createPipes(
  directory: string,
  { makePipes }: Pick<Spawner, 'makePipes'>,
  batch: number = LIMITS.pipeBatch,
) {
  const ready: PipeEnds[] = [];
  let made = 0;
  let making: Promise<void> | undefined;

  async function makeBatch(): Promise<void> {
    makePrivateDirectory(directory);
    // Names are never used twice: a leftover is recognised by the link that /proc shows.
    const names = Array.from({ length: batch }, () => join(directory, `pipe-${process.pid}-${++made}`));
    try {
      ready.push(...(await makePipes(names)));
    } catch (error) {
      for (const name of names) rmSync(name, { force: true });
      throw notMade(error);
    }
  }

  const refill = (): Promise<void> =>
    (making ??= makeBatch().finally(() => {
      making = undefined;
    }));

  async function takeEnds(): Promise<PipeEnds> {
    while (ready.length === 0) await refill();
    // The oldest: the forker closes those that have long been waiting, and uses their numbers again.
    const ends = ready.shift() as PipeEnds;
    if (ready.length < batch / 4 && making === undefined) refill().catch(() => undefined);
    return ends;
  }

  /** Where the directory was removed with all its pipes, or the forker has ended with its own, new ones are made. */
  async function open<Opened>(how: (ends: PipeEnds) => Opened): Promise<Opened> {
    const ends = await takeEnds();
    try {
      return how(ends);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT' || existsSync(ends.read)) throw error;
      ready.length = 0;
      return how(await takeEnds());
    }
  }

  return {
    /** Private, and gone with the server; for other short-lived files of a launch. */
    directory,
    /** Which of them is read next. */
    turns: createTurns(),
    take: (): Promise<Pipe> =>
      open(({ read, write, isNamed }) => ({
        end: { path: write, access: 'write', isUnlinked: isNamed },
        readFd: openSync(read, constants.O_RDONLY | constants.O_NONBLOCK),
      })),
    /** For what a shell of ours reads; does not block, and the taker closes it. Both ends, since either alone would wait. */
    takeHandoff: () =>
      open(({ read, write, isNamed }) => ({
        end: { path: read, access: 'read', isUnlinked: isNamed } satisfies Descriptor,
        fd: openSync(write, constants.O_RDWR | constants.O_NONBLOCK),
      })),
    dispose(): void {
      // The next ones may be made at this very moment.
      removeTree(directory);
      ready.length = 0;
    },
  };
}

function notMade(error: unknown): ShellServerError {
  const code = /space|ENOSPC/i.test(messageOf(error)) ? 'EXECUTION_004' : 'EXECUTION_001';
  return new ShellServerError(code, `The output pipes could not be made: ${messageOf(error)}`, {
    cause: error,
  });
}

/** How /proc/<pid>/fd shows a pipe of which we have this end. */
export const linkOf = (fd: number): string | undefined => attempt(() => readlinkSync(`/proc/self/fd/${fd}`));
