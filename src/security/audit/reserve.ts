/**
 * Space that is reserved on the disk of the audit log. On a full disk it is given up for the lines about what
 * makes room: freeing space must not fail because it cannot be recorded.
 */
import { existsSync, rmSync } from 'node:fs';
import { isDiskFull, withFile, writeAllSync } from '../../base/files.ts';
import type { AuditEntry } from './audit-entry.ts';

/** Beside the directory of the log. */
export const RESERVE = 'audit-reserve';
/** A new file of the log with its first line, and a line about many outputs, in the blocks of any file system. */
const BYTES = 64 * 1024;
const FREEING_TOOLS = ['delete_execution_outputs', 'file_delete'];

/** False where the disk has no room for it now; it may have later. */
export function takeReserve(path: string): boolean {
  if (existsSync(path)) return true;
  try {
    withFile(path, 'wx', (fd) => writeAllSync(fd, Buffer.alloc(BYTES)));
    return true;
  } catch {
    rmSync(path, { force: true });
    return false;
  }
}

/** True where there is more room now for this entry. */
export function giveReserve(path: string, entry: AuditEntry, error: unknown): boolean {
  if (!isDiskFull(error) || !makesRoom(entry) || !existsSync(path)) return false;
  rmSync(path, { force: true });
  return true;
}

function makesRoom(entry: AuditEntry): boolean {
  return (
    entry.event === 'outputs_collected' || (entry.event === 'call' && FREEING_TOOLS.includes(entry.tool))
  );
}
