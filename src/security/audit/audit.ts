/**
 * The audit log: append-only JSON lines, one log an instance, in files that change with the day and at a size. What
 * cannot be recorded does not run, so that a failure to write is thrown on.
 *
 * audit-entry.ts says what there is to record, encode-line.ts how it is made harmless, chain.ts how lines are chained, heads.ts how
 * logs vouch for each other, and verify.ts tries whether all of it is still so.
 */
import { closeSync, fdatasyncSync, fsyncSync, ftruncateSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, isoTime } from '../../base/clock.ts';
import { messageOf, ShellServerError } from '../../base/errors.ts';
import { FREE_SPACE, makePrivateDirectory, writeAllSync } from '../../base/files.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Log } from '../../base/log.ts';
import type { AuditEntry, LogEntry } from './audit-entry.ts';
import { logFileName, NO_HASH, seal } from './chain.ts';
import { encodeEntry } from './encode-line.ts';
import { readHeads } from './heads.ts';
import { giveReserve, isFull, takeReserve } from './reserve.ts';

export interface AuditHealth {
  /** Lines of this server's log. */
  readonly lines: number;
  readonly lastWrittenAtMs: number | undefined;
  /** Entries of which it is not certain that they were written, since the server was started. */
  readonly lost: number;
  /** Why the last attempt failed; undefined where it did not. */
  readonly problem: string | undefined;
}

export interface Audit {
  /** Throws SYSTEM_002 where the line could not be written: what cannot be recorded does not run. */
  write(entry: AuditEntry): void;
  health(): AuditHealth;
  close(): void;
}

export interface AuditOptions {
  readonly directory: string;
  readonly instance: string;
  readonly clock: Clock;
  /** Of a log that a command of the operator's writes; undefined: a server's. */
  readonly principal?: string;
  /** Waits with each line until the disk has it, so that it survives a power cut. */
  readonly syncs?: boolean;
  readonly maxFileBytes?: number;
  /** A file with room for lines about what frees some. */
  readonly reserve?: string;
  /** Called with each entry as it is written: without secrets. */
  readonly log?: Log;
}

interface OpenFile {
  readonly day: string;
  readonly fd: number;
  bytes: number;
}

export function createAudit(options: AuditOptions): Audit {
  const {
    directory,
    instance,
    clock,
    syncs = false,
    maxFileBytes = LIMITS.auditFileBytes,
    reserve,
  } = options;
  const by = options.principal === undefined ? {} : { principal: options.principal };
  let file: OpenFile | undefined;
  let part = 0;
  let previous = NO_HASH;
  let sequence = 0;
  let lastWrittenAtMs: number | undefined;
  let lost = 0;
  /** Of those, how many the log does not tell of yet. */
  let untold = 0;
  let problem: string | undefined;
  let isClosed = false;
  let hasReserve = false;

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
    if (syncs) syncDirectory(directory);
    return opened;
  }

  function append(to: OpenFile, entry: AuditEntry | LogEntry, time: string): void {
    const fields = encodeEntry(entry).slice(1, -1);
    const { line, hash } = seal(`{"seq":${sequence},"time":"${time}",${fields},"previous":"${previous}"}`);
    try {
      writeAllSync(to.fd, line);
    } catch (error) {
      takeBack(to);
      throw error;
    }
    to.bytes += line.length;
    previous = hash;
    sequence++;
  }

  /** Whole or not at all: half a line would spoil the next one too. Where it cannot be taken back, it ends its file. */
  function takeBack(from: OpenFile): void {
    try {
      ftruncateSync(from.fd, from.bytes);
    } catch {
      closeFile();
    }
  }

  function closeFile(): void {
    if (file !== undefined) closeSync(file.fd);
    file = undefined;
  }

  function close(): void {
    isClosed = true;
    if (file === undefined) return;
    try {
      append(file, { event: 'log_closed', ...by }, isoTime(clock.now()));
    } finally {
      closeFile();
    }
  }

  function record(entry: AuditEntry, time: string): void {
    const to = fileFor(time);
    if (untold > 0) {
      append(to, { event: 'entries_lost', count: untold, reason: problem ?? '' }, time);
      untold = 0;
    }
    append(to, entry, time);
    if (syncs) fdatasyncSync(to.fd);
  }

  return {
    write(entry) {
      if (options.log !== undefined) trace(options.log, entry);
      const nowMs = clock.now();
      const time = isoTime(nowMs);
      try {
        try {
          record(entry, time);
        } catch (error) {
          if (reserve === undefined || !giveReserve(reserve, entry, error)) throw error;
          hasReserve = false;
          record(entry, time);
        }
      } catch (error) {
        lost++;
        untold++;
        problem = messageOf(error);
        throw refusal(error);
      }
      lastWrittenAtMs = nowMs;
      problem = undefined;
      if (reserve !== undefined) hasReserve ||= takeReserve(reserve);
      // The last answers may be written while the server leaves.
      if (isClosed) close();
    },
    health: () => ({ lines: sequence, lastWrittenAtMs, lost, problem }),
    close,
  };
}

function trace(log: Log, entry: AuditEntry): void {
  const { event, ...fields } = JSON.parse(encodeEntry(entry)) as { event: string };
  log.debug(event, fields);
}

function refusal(error: unknown): ShellServerError {
  return new ShellServerError('SYSTEM_002', `The audit log cannot be written: ${messageOf(error)}.`, {
    hint: isFull(error)
      ? `Nothing is run unrecorded. ${FREE_SPACE}`
      : 'Nothing is run unrecorded. Make the state directory writable, or name another one with --state-dir.',
    cause: error,
  });
}

function syncDirectory(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
