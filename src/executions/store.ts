/**
 * The index of executions: a small summary of each in memory, the whole record on disk. Commands may have 120 KiB and
 * there may be thousands of them, so that only their beginning is held.
 */

import { readdirSync } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf, messageOf } from '../base/errors.ts';
import { isId } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import { maskBeginning } from '../security/security.ts';
import { type ExecutionMode, type ExecutionRecord, readRecord, type Status, writeRecord } from './record.ts';

export interface Summary {
  readonly id: string;
  readonly owner: string;
  /** The first part of it. */
  readonly command: string;
  readonly mode: ExecutionMode;
  readonly status: Status;
  readonly sessionId: string | undefined;
  readonly directory: string;
  readonly createdAtMs: number;
  readonly endedAtMs: number | undefined;
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly pid: number | undefined;
}

export interface Store {
  put(record: ExecutionRecord): void;
  /** Writes it to disk and puts it; what the disk refuses is kept in memory and tried again later. */
  save(record: ExecutionRecord): void;
  remove(id: string): void;
  /** Newest first; of all where no owner is named. */
  summaries(owner?: string): Summary[];
  /** The record of an execution of this owner; undefined where there is none. */
  find(owner: string, id: string): ExecutionRecord | undefined;
  /** The record as it is on disk now, whoever's it is. */
  read(id: string): ExecutionRecord | undefined;
  /** Looks at the disk: what is new there, what was running the last time, and what is gone. `visit` gets the records. */
  scan(isOurs: (id: string) => boolean, visit: (record: ExecutionRecord) => void): Promise<void>;
}

const COMMAND_CHARS = 300;
/** Records read before the event loop gets a turn. */
const SCAN_BATCH = 50;

export function createStore(directory: string, log: Log): Store {
  const index = new Map<string, Summary>();
  const unsaved = new Map<string, ExecutionRecord>();

  const read = (id: string): ExecutionRecord | undefined =>
    unsaved.get(id) ?? readRecord(join(directory, id));

  function write(record: ExecutionRecord): void {
    try {
      writeRecord(join(directory, record.id), record);
      unsaved.delete(record.id);
    } catch (error) {
      // Collected by another server: there is nothing to keep it for.
      if (errnoOf(error) === 'ENOENT') unsaved.delete(record.id);
      else unsaved.set(record.id, record);
      log.warn('the record of an execution cannot be written', {
        execution: record.id,
        error: messageOf(error),
      });
    }
  }

  function put(record: ExecutionRecord): void {
    index.set(record.id, summarize(record));
  }

  return {
    put,
    save(record) {
      put(record);
      write(record);
      for (const other of unsaved.values()) if (other.id !== record.id) write(other);
    },
    remove(id) {
      index.delete(id);
      unsaved.delete(id);
    },
    summaries: (owner) =>
      [...index.values()]
        .filter((summary) => owner === undefined || summary.owner === owner)
        .toSorted((a, b) => b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1)),
    find(owner, id) {
      // The name is compared with what lies there, never joined to a path unseen.
      if (!isId('exec', id) || !(index.has(id) || listNames(directory).includes(id))) return undefined;
      const record = read(id);
      return record?.owner === owner && record.id === id ? record : undefined;
    },
    read: (id) => (index.has(id) ? read(id) : undefined),
    async scan(isOurs, visit) {
      const seen = new Set<string>();
      let count = 0;
      for await (const entry of await openQuietly(directory)) {
        const { name } = entry;
        if (!isId('exec', name)) continue;
        seen.add(name);
        const known = index.get(name);
        if (isOurs(name) || (known !== undefined && known.status !== 'running')) continue;
        const record = read(name);
        if (record === undefined || record.id !== name) continue;
        put(record);
        visit(record);
        if (++count % SCAN_BATCH === 0) await new Promise(setImmediate);
      }
      // Another server on this directory may have collected some.
      for (const id of index.keys()) if (!seen.has(id) && !isOurs(id)) index.delete(id);
    },
  };
}

function summarize(record: ExecutionRecord): Summary {
  return {
    id: record.id,
    owner: record.owner,
    // A slice would keep the whole string alive behind it.
    command: Buffer.from(maskBeginning(record.command, COMMAND_CHARS)).toString(),
    mode: record.mode,
    status: record.outcome?.status ?? 'running',
    sessionId: record.sessionId,
    directory: record.directory,
    createdAtMs: record.createdAtMs,
    endedAtMs: record.outcome?.endedAtMs,
    exitCode: record.outcome?.exitCode,
    signal: record.outcome?.signal,
    pid: record.process?.pid,
  };
}

function listNames(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

async function openQuietly(directory: string): Promise<AsyncIterable<{ name: string }>> {
  try {
    return await opendir(directory);
  } catch {
    return (async function* () {})();
  }
}
