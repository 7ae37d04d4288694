/**
 * Space that is reserved on the disk of the audit log. On a full disk it is given up, step by step, for the lines about
 * what makes room: freeing space must not fail because it cannot be recorded.
 */
import { fstatSync, rmSync, statSync, truncateSync } from 'node:fs';
import { attempt, succeeds } from '../../base/attempt.ts';
import { isDiskFull, withFile, writeAllSync } from '../../base/files.ts';
import type { AuditEntry } from './audit-entry.ts';

/** Beside the directory of the log. */
export const RESERVE = 'audit-reserve';
/** A new file of the log with its first line, and a line about many outputs, in the blocks of any file system. */
const BYTES = 64 * 1024;
/** Given up at a time, so that it lasts for several such lines: two blocks of most file systems. */
const STEP_BYTES = 8 * 1024;
const FREEING_TOOLS = ['delete_execution_outputs', 'file_delete'];

/** False where the disk has no room for all of it now; it may have later. */
export function takeReserve(path: string): boolean {
  try {
    return withFile(path, 'a', (fd) => {
      const missing = BYTES - fstatSync(fd).size;
      if (missing > 0) writeAllSync(fd, Buffer.alloc(missing));
      return true;
    });
  } catch {
    // What there was room for stays, but not a file of nothing: it would hold an inode.
    if (sizeOf(path) === 0) rmSync(path, { force: true });
    return false;
  }
}

/** True where there is more room now for this entry. */
export function giveReserve(path: string, entry: AuditEntry, error: unknown): boolean {
  const bytes = sizeOf(path);
  if (!isDiskFull(error) || !makesRoom(entry) || bytes === undefined) return false;
  return succeeds(() =>
    bytes > STEP_BYTES ? truncateSync(path, bytes - STEP_BYTES) : rmSync(path, { force: true }),
  );
}

const sizeOf = (path: string): number | undefined => attempt(() => statSync(path).size);

function makesRoom(entry: AuditEntry): boolean {
  return (
    entry.event === 'outputs_collected' || (entry.event === 'call' && FREEING_TOOLS.includes(entry.tool))
  );
}
