/**
 * The abort file of the tool `shell`: written when a command failed, so that the driver of a workflow can stop. The server
 * writes it with its own rights into a directory in which commands write with theirs, so that nothing there is followed
 * or believed: no link, no second name of another file, and nothing of the command's own text goes into it.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readlinkSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { isoTime } from '../base/clock.ts';
import type { Modules } from '../tools/modules.ts';
import type { Ended } from './run-to-end.ts';

/** Where it cannot be written, the answer still reports the failure. */
export function writeAbortFile({ execution, outcome }: Ended, { settings, clock }: Modules): void {
  const { abortFile } = settings.shellTool;
  if (abortFile === undefined) return;
  const { record } = execution;
  const path = isAbsolute(abortFile) ? abortFile : join(record.directory, abortFile);
  const content = {
    execution_id: record.id,
    reason: outcome.reason,
    ...(outcome.exitCode !== undefined && { exit_code: outcome.exitCode }),
    time: isoTime(clock.now()),
  };
  // Only the operator's own path may have links on its way.
  const expected = isAbsolute(abortFile) ? undefined : dirname(path);
  try {
    writeInto(path, `${JSON.stringify(content)}\n`, expected);
  } catch {
    // Said above.
  }
}

function writeInto(path: string, text: string, expected: string | undefined): void {
  const { O_RDONLY, O_WRONLY, O_CREAT, O_NOFOLLOW, O_DIRECTORY, O_NONBLOCK } = constants;
  const directory = openSync(dirname(path), O_RDONLY | O_DIRECTORY);
  try {
    const held = `/proc/self/fd/${directory}`;
    const canHold = existsSync(held);
    // Opened and then compared: a directory that is swapped for a link afterwards no longer matters.
    if (canHold && expected !== undefined && readlinkSync(held) !== expected) return;
    const target = canHold ? join(held, basename(path)) : path;
    const file = openSync(target, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o644);
    try {
      const about = fstatSync(file);
      if (!about.isFile() || about.nlink !== 1) return;
      ftruncateSync(file);
      writeSync(file, text);
    } finally {
      closeSync(file);
    }
  } finally {
    closeSync(directory);
  }
}
