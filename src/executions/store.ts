/**
 * The executions of this and other servers: a small summary of each in memory, all of it in the journal. An execution is
 * a line when it begins, one when its process is known, if it lasts, and one when it ends, with what it printed where
 * that is little. Commands may have 120 KiB and there may be thousands of them, so that only their beginning is held.
 */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import { listIds } from '../base/files.ts';
import { isId } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { OutputStorage, StoredContent } from '../outputs/types.ts';
import { createJournal, type Journal } from './journal.ts';
import {
  createJournalIndex,
  createLineWriter,
  findStorage,
  type JournalIndex,
  placesOf,
  readRecord,
} from './journal-index.ts';
import { howEnded, type Summary, summarize } from './journal-lines.ts';
import { moveOldTerminals, OLD_RECORD, readOldRecord } from './old-records.ts';
import { type ExecutionRecord, pidOf } from './record.ts';

export type { Summary } from './journal-lines.ts';

export type Store = ReturnType<typeof createStore>;

/** For the end of an execution with its small output, whatever is in it. */
const END_BYTES = 48 * 1024;
/** Whole records in memory, of those that ended last. */
const RECENT = 64;

interface StoreOptions {
  readonly directory: string;
  readonly log: Log;
  /** The server that writes; an observer has none. */
  readonly instance?: string;
  isInstanceAlive(instance: string): boolean;
}

export function createStore(options: StoreOptions) {
  const journal = createJournal(join(options.directory, 'journal'), options.instance ?? '');
  const index = createJournalIndex();
  const lines = createLineWriter(journal, index);
  const records = createRecords(options.log);
  const old = createImport(options, index, lines);

  function drop(id: string): void {
    const entry = index.entries.get(id);
    if (entry === undefined) return;
    index.remove(id);
    records.drop(id);
    for (const place of placesOf(entry)) journal.replace(place, '-'.repeat(place.length));
  }

  /** Of any principal. */
  function read(id: string): ExecutionRecord | undefined {
    const entry = index.entries.get(id);
    return entry && (records.get(id) ?? old.get(id) ?? readRecord(journal, entry));
  }

  return {
    /** Before there is a process. Throws where the disk refuses: then nothing must run. */
    begin(record: ExecutionRecord): void {
      records.run(record.id, (room) => lines.begin(record, room));
      records.remember(record);
    },
    /** Nothing ran, so nothing is kept. */
    abandon(id: string): void {
      records.running.delete(id);
      drop(id);
    },
    /** Its process is known. */
    note(record: ExecutionRecord): void {
      records.remember(record);
      records.save(record.id, () => lines.note(record));
    },
    /** It ended; what the disk refuses is kept in memory and tried again later. */
    conclude(record: ExecutionRecord, content: StoredContent | undefined): void {
      const { id, outcome } = record;
      if (outcome === undefined) return;
      records.running.delete(id);
      index.update(id, { ...howEnded(outcome), pid: pidOf(record.process) });
      records.save(id, () => lines.end(record, outcome, content));
      records.remember(record);
      records.saveOthers(id);
    },
    /** Where the output is that was given with the end; undefined where it lies in files. */
    storageOf: (id: string): OutputStorage | undefined => findStorage(journal, index, id),
    remove(ids: readonly string[]): void {
      const entries = ids.flatMap((id) => index.entries.get(id) ?? []);
      for (const id of ids) drop(id);
      for (const file of unusedOf(entries, index, options)) journal.remove(file);
    },
    summaries: index.summaries,
    /** The record of an execution of this owner; undefined where there is none. */
    find: (owner: string, id: string): ExecutionRecord | undefined =>
      isId('exec', id) && index.entries.get(id)?.summary.owner === owner ? read(id) : undefined,
    summary: (id: string): Summary | undefined => index.entries.get(id)?.summary,
    read,
    /** Looks at what others wrote; `visit` gets what is new or has changed, `onGone` what is there no more. */
    scan: (visit: (summary: Summary) => void, onGone: (id: string) => void): Promise<void> =>
      readJournal(journal, index, visit, onGone).then(() => old.import(visit)),
    close: journal.close,
  };
}

/** Whole records in memory: of those that run here, of those that are not written yet, and of the last that ended. */
function createRecords(log: Log) {
  const recent = new Map<string, ExecutionRecord>();
  const running = new Set<string>();
  const unsaved = new Map<string, () => void>();

  /** Where the disk refuses now, it may not later. */
  function save(id: string, write: () => void): void {
    try {
      write();
      unsaved.delete(id);
    } catch (error) {
      unsaved.set(id, write);
      log.warn('the record of an execution cannot be written', { execution: id, error: messageOf(error) });
    }
  }

  return {
    running,
    save,
    /** From here on it runs, unless that cannot be written; there must be room for the ends of all that do. */
    run(id: string, write: (roomBytes: number) => void): void {
      running.add(id);
      try {
        write(running.size * END_BYTES);
      } catch (error) {
        running.delete(id);
        throw error;
      }
    },
    get: (id: string) => recent.get(id),
    saveOthers(id: string): void {
      for (const [other, write] of unsaved) if (other !== id) save(other, write);
    },
    remember(record: ExecutionRecord): void {
      recent.delete(record.id);
      recent.set(record.id, record);
      for (const id of recent.keys()) {
        if (recent.size <= RECENT + running.size) break;
        if (!running.has(id) && !unsaved.has(id)) recent.delete(id);
      }
    },
    drop(id: string): void {
      recent.delete(id);
      unsaved.delete(id);
    },
  };
}

const filesOf = (entries: Iterable<Parameters<typeof placesOf>[0]>): Set<string> =>
  new Set([...entries].flatMap(placesOf).map(({ file }) => file));

/** Files of what was dropped of which every line belongs to nobody. */
function unusedOf(
  dropped: Parameters<typeof filesOf>[0],
  { entries }: JournalIndex,
  { instance, isInstanceAlive }: StoreOptions,
): string[] {
  const used = filesOf(entries.values());
  return [...filesOf(dropped)].filter((file) => {
    const owner = file.slice(0, file.indexOf('-'));
    // Another server that is alive may be writing it.
    return !used.has(file) && (owner === instance || !isInstanceAlive(owner));
  });
}

async function readJournal(
  journal: Journal,
  index: JournalIndex,
  visit: (summary: Summary) => void,
  onGone: (id: string) => void,
): Promise<void> {
  await journal.readNew(
    (line, place) => {
      const summary = index.visitLine(line, place);
      if (summary !== undefined) visit(summary);
    },
    (file) => {
      for (const [id, { begin }] of index.entries) {
        if (begin?.file !== file) continue;
        index.remove(id);
        onGone(id);
      }
    },
  );
  index.forgetEarly();
}

/**
 * Bundles of earlier versions have their record beside their output; it is taken into the journal once, and for observers
 * into the index alone.
 */
function createImport(
  { directory, instance, isInstanceAlive, log }: StoreOptions,
  index: JournalIndex,
  lines: ReturnType<typeof createLineWriter>,
) {
  /** For observers, who write nothing. */
  const found = new Map<string, ExecutionRecord>();
  let isDone = false;

  function importAll(visit: (summary: Summary) => void): void {
    if (instance !== undefined) moveOldTerminals(directory, isInstanceAlive);
    for (const name of listIds(directory, 'exec')) {
      const file = join(directory, name, OLD_RECORD);
      if (index.entries.has(name) || !existsSync(file)) continue;
      const record = readOldRecord(join(directory, name));
      if (record === undefined || record.id !== name) continue;
      if (instance === undefined) {
        found.set(name, record);
        index.put({ summary: { ...summarize(record), ...(record.outcome && howEnded(record.outcome)) } });
      } else if (record.outcome !== undefined || !isInstanceAlive(record.instance)) {
        lines.begin(record, 0);
        if (record.process !== undefined) lines.note(record);
        if (record.outcome !== undefined) lines.end(record, record.outcome, undefined);
        rmSync(file, { force: true });
      }
      const entry = index.entries.get(name);
      if (entry !== undefined) visit(entry.summary);
    }
  }

  return {
    get: (id: string) => found.get(id),
    import(visit: (summary: Summary) => void): void {
      if (isDone) return;
      try {
        importAll(visit);
        isDone = true;
      } catch (error) {
        // A disk that is full or read-only must not hide what can be read.
        log.warn('state of an earlier version cannot be imported', { error: messageOf(error) });
      }
    },
  };
}
