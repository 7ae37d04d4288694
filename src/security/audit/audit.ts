/**
 * The audit log: append-only JSON lines, one file a day and instance, each line carrying the hash of the one before.
 * JSON escapes control characters, so that nothing a caller says can begin a line of its own.
 */
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, ftruncateSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, isoTime } from '../../base/clock.ts';
import { messageOf, ShellServerError } from '../../base/errors.ts';
import { makePrivateDirectory, writeAllSync } from '../../base/files.ts';
import { isSecretName, MASK, maskText } from '../secrets.ts';

export interface AuditEntry {
  readonly event: string;
  readonly principal: string;
  readonly requestId: string;
  readonly client?: string;
  readonly [field: string]: unknown;
}

export interface Audit {
  /** Throws SYSTEM_002 where the line could not be written: what cannot be recorded does not run. */
  write(entry: AuditEntry): void;
  close(): void;
}

export function createAudit(options: { directory: string; instance: string; clock: Clock }): Audit {
  let open: { day: string; fd: number; bytes: number } | undefined;
  let previous = '0'.repeat(64);
  let sequence = 0;

  function fileFor(day: string): { fd: number; bytes: number } {
    if (open?.day === day) return open;
    if (open !== undefined) closeSync(open.fd);
    open = undefined;
    makePrivateDirectory(options.directory);
    const fd = openSync(join(options.directory, `${day}-${options.instance}.jsonl`), 'a', 0o600);
    open = { day, fd, bytes: fstatSync(fd).size };
    return open;
  }

  /** Whole or not at all: half a line would spoil the next one too. */
  function append(day: string, line: Buffer): void {
    const file = fileFor(day);
    try {
      writeAllSync(file.fd, line);
      file.bytes += line.length;
    } catch (error) {
      ftruncateSync(file.fd, file.bytes);
      throw error;
    }
  }

  return {
    write(entry) {
      const time = isoTime(options.clock.now());
      const body = JSON.stringify({ seq: sequence, time, ...entry, previous }, maskValue);
      const hash = createHash('sha256').update(body).digest('hex');
      try {
        append(time.slice(0, 10), Buffer.from(`${body.slice(0, -1)},"hash":"${hash}"}\n`));
      } catch (error) {
        throw new ShellServerError('SYSTEM_002', `The audit log cannot be written: ${messageOf(error)}.`, {
          hint: 'Nothing is run unrecorded. Free some space on the disk of the state directory, then try again.',
          cause: error,
        });
      }
      previous = hash;
      sequence++;
    },
    close() {
      if (open !== undefined) closeSync(open.fd);
      open = undefined;
    },
  };
}

function maskValue(key: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  return isSecretName(key) ? MASK : maskText(value);
}
