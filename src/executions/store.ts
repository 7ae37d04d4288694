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
import type { OutputStorage, StoredContent, StreamType } from '../outputs/types.ts';
import { createJournal, type Place } from './journal.ts';
import {
  decodeContent,
  type EndDetails,
  type Ended,
  encodeContent,
  howEnded,
  type Kind,
  parse,
  type Summary,
  summarize,
} from './journal-lines.ts';
import { moveOldTerminals, OLD_RECORD, readOldRecord } from './old-records.ts';
import { type ExecutionRecord, type Outcome, parseRecord, pidOf } from './record.ts';

export type { Summary } from './journal-lines.ts';

export interface Store {
  /** Before there is a process. Throws where the disk refuses: then nothing must run. */
  begin(record: ExecutionRecord): void;
  /** Nothing ran, so nothing is kept. */
  abandon(id: string): void;
  /** Its process is known. */
  note(record: ExecutionRecord): void;
  /** It ended; what the disk refuses is kept in memory and tried again later. */
  conclude(record: ExecutionRecord, content: StoredContent | undefined): void;
  /** Where the output is that was given with the end; undefined where it lies in files. */
  storageOf(id: string): OutputStorage | undefined;
  remove(ids: readonly string[]): void;
  /** Newest first; of all where no owner is named. */
  summaries(owner?: string): readonly Summary[];
  /** The record of an execution of this owner; undefined where there is none. */
  find(owner: string, id: string): ExecutionRecord | undefined;
  summary(id: string): Summary | undefined;
  /** Of any principal. */
  read(id: string): ExecutionRecord | undefined;
  /** Looks at what others wrote; `visit` gets what is new or has changed, `onGone` what is there no more. */
  scan(visit: (summary: Summary) => void, onGone: (id: string) => void): Promise<void>;
  close(): void;
}

/** For the end of an execution with its small output, whatever is in it. */
const END_BYTES = 48 * 1024;
/** Whole records in memory, of those that ended last. */
const RECENT = 64;

interface Entry {
  summary: Summary;
  begin?: Place;
  note?: Place;
  end?: Place;
  sizes?: Readonly<Record<string, number>> | undefined;
}

export interface StoreOptions {
  readonly directory: string;
  readonly log: Log;
  /** The server that writes; an observer has none. */
  readonly instance?: string;
  isInstanceAlive(instance: string): boolean;
}

export function createStore({ directory, log, instance, isInstanceAlive }: StoreOptions): Store {
  const journal = createJournal(join(directory, 'journal'), instance ?? '');
  const index = new Map<string, Entry>();
  /** Those that run here, and the last that ended. */
  const recent = new Map<string, ExecutionRecord>();
  const running = new Set<string>();
  /** Of earlier versions, for observers. */
  const old = new Map<string, ExecutionRecord>();
  const unsaved = new Map<string, () => void>();
  /** Lines of executions whose beginning lies in a file that was not read yet. */
  const early = new Map<string, [line: string, place: Place][]>();
  let sorted: readonly Summary[] | undefined;
  let hasImported = false;

  function put(entry: Entry): void {
    index.set(entry.summary.id, entry);
    sorted = undefined;
  }

  function remember(record: ExecutionRecord): void {
    recent.delete(record.id);
    recent.set(record.id, record);
    for (const id of recent.keys()) {
      if (recent.size <= RECENT + running.size) break;
      if (!running.has(id) && !unsaved.has(id)) recent.delete(id);
    }
  }

  const room = (): number => running.size * END_BYTES;

  function append(kind: Kind, summary: object, details: object, roomBytes: number): Place {
    return journal.append(`${kind}${JSON.stringify(summary)}\t${JSON.stringify(details)}`, roomBytes);
  }

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

  function visitLine(line: string, place: Place): Summary | undefined {
    const kind = line[0];
    if (kind !== 'B' && kind !== 'N' && kind !== 'E') return undefined;
    const parsed = parse(line.slice(1, line.indexOf('\t'))) as (Partial<Summary> & Ended) | undefined;
    if (parsed?.id === undefined) return undefined;
    const entry = index.get(parsed.id);
    if (kind === 'B') {
      put({ summary: { ...(parsed as Summary), status: 'running' }, begin: place });
      for (const [later, at] of early.get(parsed.id) ?? []) visitLine(later, at);
      early.delete(parsed.id);
    } else if (entry === undefined) {
      early.set(parsed.id, [...(early.get(parsed.id) ?? []), [line, place]]);
    } else if (kind === 'N') {
      put({ ...entry, note: place, summary: { ...entry.summary, pid: parsed.pid } });
    } else {
      const { sizes, id: _, ...how } = parsed;
      put({ ...entry, end: place, sizes, summary: { ...entry.summary, ...how } });
    }
    return index.get(parsed.id)?.summary;
  }

  function drop(id: string): void {
    const entry = index.get(id);
    if (entry === undefined) return;
    index.delete(id);
    recent.delete(id);
    unsaved.delete(id);
    sorted = undefined;
    for (const place of [entry.begin, entry.note, entry.end])
      if (place !== undefined) journal.replace(place, '-'.repeat(place.length));
  }

  /** Files of which every line belongs to nobody. */
  function removeFiles(files: ReadonlySet<string>): void {
    const used = new Set<string>();
    for (const { begin, note, end } of index.values())
      for (const place of [begin, note, end]) if (place !== undefined) used.add(place.file);
    for (const file of files) {
      const owner = file.slice(0, file.indexOf('-'));
      // Another server that is alive may be writing it.
      const isOthers = owner !== instance && isInstanceAlive(owner);
      if (!used.has(file) && !isOthers) journal.remove(file);
    }
  }

  function read(id: string): ExecutionRecord | undefined {
    const entry = index.get(id);
    if (entry === undefined) return undefined;
    const known = recent.get(id) ?? old.get(id);
    if (known !== undefined) return known;
    const details = (place: Place | undefined): object =>
      (place && (parse(journal.read(place)?.split('\t')[1]) as object | undefined)) ?? {};
    const { outcome } = details(entry.end) as { outcome?: unknown };
    return parseRecord({
      ...details(entry.begin),
      ...details(entry.note),
      ...(outcome !== undefined && { outcome }),
    });
  }

  function storageOf(id: string): OutputStorage | undefined {
    const entry = index.get(id);
    const place = entry?.end;
    if (entry?.sizes === undefined || place === undefined) return undefined;
    const load = (): EndDetails | undefined =>
      parse(journal.read(place)?.split('\t')[1]) as EndDetails | undefined;
    const kept = entry.sizes;
    return {
      sizes: new Map(Object.entries(kept) as [StreamType, number][]),
      isOrderGone: 'combined' in kept && kept['combined'] === -1,
      load() {
        const stored = load();
        return stored?.output && decodeContent(stored.output);
      },
      forget(type) {
        const stored = load();
        const line = journal.read(place);
        if (stored?.output === undefined || line === undefined) return;
        const { [type]: _, ...sizes } = kept;
        const summary = { ...(parse(line.slice(1, line.indexOf('\t'))) as object), sizes };
        const output = { ...stored.output, streams: { ...stored.output.streams, [type]: undefined } };
        journal.replace(place, `E${JSON.stringify(summary)}\t${JSON.stringify({ ...stored, output })}`);
        put({ ...entry, sizes });
      },
    };
  }

  /** Bundles of earlier versions have their record beside their output; it is taken into the journal once. */
  function importOld(visit: (summary: Summary) => void): void {
    if (instance !== undefined) moveOldTerminals(directory, isInstanceAlive);
    for (const name of listIds(directory, 'exec')) {
      const file = join(directory, name, OLD_RECORD);
      if (index.has(name) || !existsSync(file)) continue;
      const record = readOldRecord(join(directory, name));
      if (record === undefined || record.id !== name) continue;
      if (instance === undefined) {
        old.set(name, record);
        put({ summary: { ...summarize(record), ...(record.outcome && howEnded(record.outcome)) } });
      } else if (record.outcome !== undefined || !isInstanceAlive(record.instance)) {
        beginLine(record, 0);
        if (record.process !== undefined) noteLine(record);
        if (record.outcome !== undefined) endLine(record, record.outcome, undefined);
        rmSync(file, { force: true });
      }
      const summary = index.get(name)?.summary;
      if (summary !== undefined) visit(summary);
    }
  }

  function beginLine(record: ExecutionRecord, roomBytes: number): void {
    const { process: _process, outcome: _outcome, ...details } = record;
    const summary = summarize(record);
    put({ summary, begin: append('B', summary, details, roomBytes) });
  }

  function noteLine(record: ExecutionRecord): void {
    const { id, process: known, instance: owner } = record;
    const entry = index.get(id);
    if (entry === undefined) return;
    const pid = pidOf(known);
    const note = append('N', { id, pid }, { process: known, instance: owner }, 0);
    put({ ...entry, note, summary: { ...entry.summary, pid } });
  }

  function endLine(record: ExecutionRecord, outcome: Outcome, content: StoredContent | undefined): void {
    const entry = index.get(record.id);
    if (entry === undefined) return;
    const how = howEnded(outcome);
    const sizes =
      content && Object.fromEntries([...content.streams].map(([type, bytes]) => [type, bytes.length]));
    const output = content && encodeContent(content);
    const end = append('E', { id: record.id, ...how, sizes }, { outcome, output }, 0);
    put({ ...entry, end, sizes, summary: { ...entry.summary, ...how } });
  }

  return {
    begin(record) {
      running.add(record.id);
      try {
        beginLine(record, room());
      } catch (error) {
        running.delete(record.id);
        throw error;
      }
      remember(record);
    },
    abandon(id) {
      running.delete(id);
      drop(id);
    },
    note(record) {
      remember(record);
      save(record.id, () => noteLine(record));
    },
    conclude(record, content) {
      const { outcome } = record;
      if (outcome === undefined) return;
      running.delete(record.id);
      const entry = index.get(record.id);
      if (entry !== undefined)
        put({ ...entry, summary: { ...entry.summary, ...howEnded(outcome), pid: pidOf(record.process) } });
      save(record.id, () => endLine(record, outcome, content));
      remember(record);
      for (const [id, write] of unsaved) if (id !== record.id) save(id, write);
    },
    storageOf,
    remove(ids) {
      const files = new Set<string>();
      for (const id of ids) {
        const entry = index.get(id);
        for (const place of [entry?.begin, entry?.note, entry?.end]) if (place) files.add(place.file);
        drop(id);
      }
      removeFiles(files);
    },
    summaries(owner) {
      sorted ??= [...index.values()]
        .map(({ summary }) => summary)
        .toSorted((a, b) => b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1));
      return owner === undefined ? sorted : sorted.filter((summary) => summary.owner === owner);
    },
    find(owner, id) {
      if (!isId('exec', id) || index.get(id)?.summary.owner !== owner) return undefined;
      return read(id);
    },
    summary: (id) => index.get(id)?.summary,
    read,
    async scan(visit, onGone) {
      await journal.readNew(
        (line, place) => {
          const summary = visitLine(line, place);
          if (summary !== undefined) visit(summary);
        },
        (file) => {
          for (const [id, { begin }] of index) {
            if (begin?.file !== file) continue;
            index.delete(id);
            sorted = undefined;
            onGone(id);
          }
        },
      );
      // Everything was read: what has no beginning by now was removed.
      early.clear();
      if (hasImported) return;
      try {
        importOld(visit);
        hasImported = true;
      } catch (error) {
        // A disk that is full or read-only must not hide what can be read.
        log.warn('state of an earlier version cannot be imported', { error: messageOf(error) });
      }
    },
    close: journal.close,
  };
}
