/**
 * Kernel pipes for what a command prints. Node makes socket pairs, on which `> /dev/stderr` fails with ENXIO, and
 * a plain file is truncated by it; a FIFO that was opened and unlinked is what a shell's own pipe is. FIFOs are made
 * by mkfifo(1) in batches, ahead of their use.
 */
import { execFile } from 'node:child_process';
import { closeSync, constants, existsSync, openSync, readlinkSync, rmSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf, messageOf, ShellServerError } from '../base/errors.ts';
import { makePrivateDirectory, removeTree } from '../base/files.ts';
import { LIMITS } from '../base/limits.ts';
import { createTurns, type Turns } from './turns.ts';

/** Two ends of one pipe; whoever takes it closes both. */
export interface Pipe {
  readonly readFd: number;
  readonly writeFd: number;
  /** How /proc/<pid>/fd shows it. */
  readonly link: string;
}

export interface Pipes {
  /** Private, and gone with the server; for other short-lived files of a launch. */
  readonly directory: string;
  /** Which of them is read next. */
  readonly turns: Turns;
  /** Our end does not block; the command's does, as a program expects. */
  take(): Promise<Pipe>;
  /** For what a program reads: its end blocks, and so does ours. */
  takeInput(): Promise<Omit<Pipe, 'link'>>;
  /** Both ends in one descriptor: whoever reads from it holds the other end too, and never sees its end. */
  takeOwn(): Promise<number>;
  dispose(): void;
}

const execFileAsync = promisify(execFile);

export function createPipes(directory: string, batch: number = LIMITS.fifoBatch): Pipes {
  const ready: string[] = [];
  let made = 0;
  let making: Promise<void> | undefined;

  async function makeBatch(): Promise<void> {
    makePrivateDirectory(directory);
    // Names are never used twice: a leftover is recognised by the link that /proc shows.
    const paths = Array.from({ length: batch }, () => join(directory, `pipe-${process.pid}-${++made}`));
    try {
      await execFileAsync(findMkfifo(), ['-m', '600', ...paths]);
    } catch (error) {
      for (const path of paths) rmSync(path, { force: true });
      const code = /space/i.test(messageOf(error)) ? 'EXECUTION_004' : 'EXECUTION_001';
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

  /** Where somebody removed the directory, and those that were made with it, there are new ones. */
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
    directory,
    turns: createTurns(),
    take: () => open(openPipe),
    takeInput: () => open(openInput),
    takeOwn: () => open(openOwn),
    dispose() {
      // mkfifo(1) may be making the next ones at this very moment.
      removeTree(directory);
      ready.length = 0;
    },
  };
}

function openPipe(path: string): Pipe {
  const readFd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const writeFd = openSync(path, constants.O_WRONLY);
    unlinkSync(path);
    // Only now: /proc shows that it was unlinked.
    return { readFd, writeFd, link: linkOf(readFd) };
  } catch (error) {
    closeSync(readFd);
    throw error;
  }
}

function openInput(path: string): Omit<Pipe, 'link'> {
  // Either end alone would wait for the other.
  const both = openSync(path, constants.O_RDWR);
  try {
    const readFd = openSync(path, constants.O_RDONLY);
    const writeFd = openSync(path, constants.O_WRONLY);
    unlinkSync(path);
    return { readFd, writeFd };
  } finally {
    closeSync(both);
  }
}

function openOwn(path: string): number {
  const fd = openSync(path, constants.O_RDWR);
  unlinkSync(path);
  return fd;
}

/** By its path: the server's own PATH may be empty. */
function findMkfifo(): string {
  return ['/usr/bin/mkfifo', '/bin/mkfifo'].find((path) => existsSync(path)) ?? 'mkfifo';
}

function linkOf(fd: number): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
}
