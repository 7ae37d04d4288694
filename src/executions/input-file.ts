/**
 * stdin as a file that has no name any more. On a FIFO a program that opens /dev/stdin by name would wait for ever for
 * a writer that is done.
 */
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, ShellServerError } from '../base/errors.ts';
import { isDiskFull, makePrivateDirectory } from '../base/files.ts';
import { randomText } from '../base/ids.ts';

export type InputFile = ReturnType<typeof createInputFile>;

export function createInputFile(directory: string) {
  const path = join(directory, `input-${randomText()}`);
  try {
    makePrivateDirectory(directory);
    // Not to be opened again for writing through /proc/self/fd.
    const fd = openSync(path, 'wx', 0o400);
    return {
      /** What the command opens; the name goes with that. */
      path,
      /** All there is to read. Throws where it cannot be stored. */
      write(data: string): void {
        try {
          writeFileSync(fd, data);
        } catch (error) {
          rmSync(path, { force: true });
          throw notStored(error);
        }
      },
      /** Our own end of it. */
      close: () => closeSync(fd),
      /** Nobody has opened it. */
      discard(): void {
        closeSync(fd);
        rmSync(path, { force: true });
      },
    };
  } catch (error) {
    throw notStored(error);
  }
}

function notStored(error: unknown): ShellServerError {
  return new ShellServerError(
    isDiskFull(error) ? 'EXECUTION_004' : 'EXECUTION_001',
    `input_data cannot be stored: ${messageOf(error)}.`,
  );
}
