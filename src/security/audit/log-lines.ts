/** The lines of one log, written in their order: to files that change with the day and at a size. */
import { closeSync, fsyncSync, ftruncateSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { succeeds } from '../../base/attempt.ts';
import { makePrivateDirectory, withFile, writeAllSync } from '../../base/files.ts';
import { LIMITS } from '../../base/limits.ts';
import { type Mask, maskText } from '../secrets.ts';
import type { AuditEntry, LogEntry } from './audit-entry.ts';
import { logFileName, NO_HASH, seal } from './chain.ts';
import { encodeEntry } from './encode-line.ts';
import { readHeads } from './heads.ts';

export interface LogLinesOptions {
  readonly directory: string;
  readonly instance: string;
  /** Of a log that a command of the operator's writes; undefined: a server's. */
  readonly principal?: string;
  /** Waits with each line until the disk has it, so that it survives a power cut. */
  readonly syncs?: boolean;
  readonly maxFileBytes?: number;
  /** For secrets that only this process knows. */
  readonly mask?: Mask;
}

interface OpenFile {
  readonly day: string;
  readonly fd: number;
  bytes: number;
}

export function createLogLines(options: LogLinesOptions) {
  const { directory, instance, principal, maxFileBytes = LIMITS.auditFileBytes, mask = maskText } = options;
  const by = principal === undefined ? {} : { principal };
  let file: OpenFile | undefined;
  let part = 0;
  let previous = NO_HASH;
  let sequence = 0;

  /** The file for a line of this day: a new one for a new day, and for one that is full. */
  function fileFor(time: string): OpenFile {
    const day = time.slice(0, time.indexOf('T'));
    if (file !== undefined && file.day === day && file.bytes < maxFileBytes) return file;
    closeFile();
    makePrivateDirectory(directory);
    const heads = readHeads(directory, instance);
    const path = join(directory, logFileName(day, instance, part + 1));
    const opened = { day, fd: openSync(path, 'ax', 0o600), bytes: 0 };
    file = opened;
    part++;
    try {
      append(opened, { event: 'log_opened', ...by, instance, part, pid: process.pid, heads }, time);
    } catch (error) {
      closeFile();
      // Without its first line it is no file of the log.
      rmSync(path, { force: true });
      part--;
      throw error;
    }
    // A name is on the disk when its directory is.
    if (options.syncs === true) withFile(directory, 'r', fsyncSync);
    return opened;
  }

  function append(to: OpenFile, entry: AuditEntry | LogEntry, time: string): void {
    const fields = encodeEntry(entry, mask).slice(1, -1);
    const { line, hash } = seal(`{"seq":${sequence},"time":"${time}",${fields},"previous":"${previous}"}`);
    try {
      writeAllSync(to.fd, line);
    } catch (error) {
      // Half a line would spoil the next one too. Where it cannot be taken back, it ends its file.
      if (!takeBack(to)) closeFile();
      throw error;
    }
    to.bytes += line.length;
    previous = hash;
    sequence++;
  }

  function closeFile(): void {
    if (file !== undefined) closeSync(file.fd);
    file = undefined;
  }

  return {
    fileFor,
    append,
    count: () => sequence,
    close(time: string): void {
      if (file === undefined) return;
      try {
        append(file, { event: 'log_closed', ...by }, time);
      } finally {
        closeFile();
      }
    },
  };
}

/** What was written of a line since its beginning; false where that is not possible. */
const takeBack = ({ fd, bytes }: OpenFile): boolean => succeeds(() => ftruncateSync(fd, bytes));
