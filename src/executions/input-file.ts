/**
 * stdin as a file that has no name any more. On a FIFO a program that opens /dev/stdin by name would wait for ever for
 * a writer that is done.
 */
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, messageOf, ShellServerError } from '../base/errors.ts';
import { makePrivateDirectory } from '../base/files.ts';
import { randomText } from '../base/ids.ts';

export interface InputFile {
  /** What the command reads; whoever starts it closes ours. */
  readonly readFd: number;
  /** All there is to read. Throws where it cannot be stored. */
  write(data: string): void;
  /** Our own end of it. */
  close(): void;
}

export function createInputFile(directory: string): InputFile {
  makePrivateDirectory(directory);
  const path = join(directory, `input-${randomText()}`);
  try {
    // Not to be opened again for writing through /proc/self/fd.
    const writeFd = openSync(path, 'wx', 0o400);
    try {
      const readFd = openSync(path, 'r');
      return {
        readFd,
        write(data) {
          try {
            writeFileSync(writeFd, data);
          } catch (error) {
            throw notStored(error);
          }
        },
        close: () => closeSync(writeFd),
      };
    } catch (error) {
      closeSync(writeFd);
      throw error;
    }
  } catch (error) {
    throw notStored(error);
  } finally {
    rmSync(path, { force: true });
  }
}

function notStored(error: unknown): ShellServerError {
  return new ShellServerError(
    errnoOf(error) === 'ENOSPC' ? 'EXECUTION_004' : 'EXECUTION_001',
    `input_data cannot be stored: ${messageOf(error)}.`,
  );
}
