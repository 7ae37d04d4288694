/**
 * The audit log: append-only JSON lines, one log an instance, in files that change with the day and at a size. What
 * cannot be recorded does not run, so that a failure to write is thrown on.
 *
 * audit-entry.ts says what there is to record, encode-line.ts how it is made harmless, log-lines.ts writes it, chain.ts says how
 * lines are chained, heads.ts how logs vouch for each other, and verify.ts tries whether all of it is still so.
 */
import { fdatasyncSync } from 'node:fs';
import { type Clock, isoTime } from '../../base/clock.ts';
import { messageOf, ShellServerError } from '../../base/errors.ts';
import { FREE_SPACE, isDiskFull } from '../../base/files.ts';
import type { Log } from '../../base/log.ts';
import { type Mask, maskText } from '../secrets.ts';
import type { AuditEntry } from './audit-entry.ts';
import { encodeEntry } from './encode-line.ts';
import { createLogLines, type LogLinesOptions } from './log-lines.ts';
import { giveReserve, takeReserve } from './reserve.ts';

export interface AuditHealth {
  /** Lines of this server's log. */
  readonly lines: number;
  readonly lastWrittenAtMs: number | undefined;
  /** Entries of which it is not certain that they were written, since the server was started. */
  readonly lost: number;
  /** Why the last attempt failed; undefined where it did not. */
  readonly problem: string | undefined;
}

export type Audit = ReturnType<typeof createAudit>;

export interface AuditOptions extends LogLinesOptions {
  readonly clock: Clock;
  /** A file with room for lines about what frees some. */
  readonly reserve?: string;
  /** Called with each entry as it is written: without secrets. */
  readonly log?: Log;
}

export function createAudit(options: AuditOptions) {
  const { clock, reserve, mask = maskText } = options;
  const lines = createLogLines(options);
  let lastWrittenAtMs: number | undefined;
  let lost = 0;
  /** Of those, how many the log does not tell of yet. */
  let untold = 0;
  let problem: string | undefined;
  let isClosed = false;
  let hasReserve = false;

  function close(): void {
    isClosed = true;
    lines.close(isoTime(clock.now()));
  }

  function record(entry: AuditEntry, time: string): void {
    const to = lines.fileFor(time);
    if (untold > 0) {
      lines.append(to, { event: 'entries_lost', count: untold, reason: problem ?? '' }, time);
      untold = 0;
    }
    lines.append(to, entry, time);
    if (options.syncs === true) fdatasyncSync(to.fd);
  }

  /** Of the reserve no more is given up than the line takes. */
  function recordWithReserve(entry: AuditEntry, time: string): void {
    for (;;) {
      try {
        return record(entry, time);
      } catch (error) {
        if (reserve === undefined || !giveReserve(reserve, entry, error)) throw error;
        hasReserve = false;
      }
    }
  }

  return {
    /** For texts that are cut before they are written: a part of a secret cannot be found. */
    mask,
    /** Throws SYSTEM_002 where the line could not be written: what cannot be recorded does not run. */
    write(entry: AuditEntry): void {
      if (options.log !== undefined) trace(options.log, entry, mask);
      const nowMs = clock.now();
      const time = isoTime(nowMs);
      try {
        recordWithReserve(entry, time);
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
    health: (): AuditHealth => ({ lines: lines.count(), lastWrittenAtMs, lost, problem }),
    close,
  };
}

function trace(log: Log, entry: AuditEntry, mask: Mask): void {
  const { event, ...fields } = JSON.parse(encodeEntry(entry, mask)) as { event: string };
  log.debug(event, fields);
}

function refusal(error: unknown): ShellServerError {
  return new ShellServerError('SYSTEM_002', `The audit log cannot be written: ${messageOf(error)}.`, {
    hint: isDiskFull(error)
      ? `Nothing is run unrecorded. ${FREE_SPACE}`
      : 'Nothing is run unrecorded. Make the state directory writable, or name another one with --state-dir.',
    cause: error,
  });
}
