/** What is known of the journal's executions: a small summary of each, and where its lines lie. */
import type { OutputStorage, StoredContent, StreamType } from '../outputs/types.ts';
import type { Journal, Place } from './journal.ts';
import {
  decodeContent,
  type EndDetails,
  encodeContent,
  howEnded,
  type Kind,
  parse,
  type Summary,
  summarize,
} from './journal-lines.ts';
import { type ExecutionRecord, type Outcome, parseRecord, pidOf } from './record.ts';

interface Entry {
  summary: Summary;
  begin?: Place;
  note?: Place;
  end?: Place;
  sizes?: Readonly<Record<string, number>> | undefined;
}

export type JournalIndex = ReturnType<typeof createJournalIndex>;

export function createJournalIndex() {
  const entries = new Map<string, Entry>();
  /** Lines of executions whose beginning lies in a file that was not read yet. */
  const early = new Map<string, [line: string, place: Place][]>();
  const order = createOrder(() => entries.values());

  function put(entry: Entry): void {
    const isNew = !entries.has(entry.summary.id);
    entries.set(entry.summary.id, entry);
    order.put(entry.summary, isNew);
  }

  function change(entry: Entry, what: Partial<Entry>, how: Partial<Summary>): void {
    Object.assign(entry, what);
    Object.assign(entry.summary, how);
  }

  /** `line` goes no further than its summary. */
  function visitLine(line: string, place: Place): Summary | undefined {
    const kind = line[0];
    if (kind !== 'B' && kind !== 'N' && kind !== 'E') return undefined;
    const parsed = parse(line.slice(1)) as (Partial<Summary> & Pick<Entry, 'sizes'>) | undefined;
    if (parsed?.id === undefined) return undefined;
    const entry = entries.get(parsed.id);
    if (kind === 'B') {
      put({ summary: { ...(parsed as Summary), status: 'running' }, begin: place });
      for (const [later, at] of early.get(parsed.id) ?? []) visitLine(later, at);
      early.delete(parsed.id);
    } else if (entry === undefined) {
      early.set(parsed.id, [...(early.get(parsed.id) ?? []), [line, place]]);
    } else if (kind === 'N') {
      change(entry, { note: place }, { pid: parsed.pid });
    } else {
      const { sizes, id: _, ...how } = parsed;
      change(entry, { end: place, sizes }, how);
    }
    return entries.get(parsed.id)?.summary;
  }

  return {
    entries: entries as ReadonlyMap<string, Entry>,
    put,
    change,
    visitLine,
    update(id: string, how: Partial<Summary>): void {
      const entry = entries.get(id);
      if (entry !== undefined) change(entry, {}, how);
    },
    remove(id: string): void {
      if (entries.delete(id)) order.forget();
    },
    /** Everything was read: what has no beginning by now was removed. */
    forgetEarly: () => early.clear(),
    /** Oldest first; of all where no owner is named. The list grows with them. */
    summaries: order.summaries,
  };
}

/** The executions of each owner by their age, in which thousands need not be put for each look at them. */
function createOrder(all: () => Iterable<Entry>) {
  /** By owner, and of all; undefined where it has to be made anew. */
  let lists: Map<string | undefined, Summary[]> | undefined;

  function add(summary: Summary): void {
    for (const owner of [undefined, summary.owner]) {
      const list = lists?.get(owner);
      if (list === undefined) lists?.set(owner, [summary]);
      else list.push(summary);
    }
  }

  return {
    put(summary: Summary, isNew: boolean): void {
      const newest = lists?.get(undefined)?.at(-1);
      if (isNew && byAge(summary, newest) > 0) add(summary);
      else lists = undefined;
    },
    forget(): void {
      lists = undefined;
    },
    summaries(owner?: string): readonly Summary[] {
      if (lists === undefined) {
        lists = new Map();
        for (const summary of [...all()].map((entry) => entry.summary).sort(byAge)) add(summary);
      }
      return lists.get(owner) ?? [];
    },
  };
}

function byAge(a: Summary, b: Summary | undefined): number {
  if (b === undefined) return 1;
  return a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1);
}

export const placesOf = ({ begin, note, end }: Entry): Place[] =>
  [begin, note, end].filter((place) => place !== undefined);

/** Writes lines, and notes where they lie. Each throws where the disk refuses. */
export function createLineWriter({ append }: Journal, { entries, put, change }: JournalIndex) {
  const write = (kind: Kind, summary: object, details: object, roomBytes = 0): Place =>
    append(`${kind}${JSON.stringify(summary)}\t${JSON.stringify(details)}`, roomBytes);

  return {
    begin(record: ExecutionRecord, roomBytes: number): void {
      const { process: _process, outcome: _outcome, ...details } = record;
      const summary = summarize(record);
      put({ summary, begin: write('B', summary, details, roomBytes) });
    },
    note({ id, process: known, instance }: ExecutionRecord): void {
      const entry = entries.get(id);
      if (entry === undefined) return;
      const pid = pidOf(known);
      const note = write('N', { id, pid }, { process: known, instance });
      change(entry, { note }, { pid });
    },
    end({ id }: ExecutionRecord, outcome: Outcome, content: StoredContent | undefined): void {
      const entry = entries.get(id);
      if (entry === undefined) return;
      const how = howEnded(outcome);
      const sizes =
        content && Object.fromEntries([...content.streams].map(([type, bytes]) => [type, bytes.length]));
      const output = content && encodeContent(content);
      const end = write('E', { id, ...how, sizes }, { outcome, output });
      change(entry, { end, sizes }, how);
    },
  };
}

const detailsIn = (line: string | undefined): unknown => parse(line?.split('\t')[1]);

/** The record, put together from its lines. */
export function readRecord({ read }: Journal, { begin, note, end }: Entry): ExecutionRecord | undefined {
  const details = (place: Place | undefined): object =>
    (place && (detailsIn(read(place)) as object | undefined)) ?? {};
  const { outcome } = details(end) as { outcome?: unknown };
  return parseRecord({ ...details(begin), ...details(note), ...(outcome !== undefined && { outcome }) });
}

/** Where the output is that was given with the end; undefined where it lies in files. */
export function findStorage(journal: Journal, index: JournalIndex, id: string): OutputStorage | undefined {
  const { sizes: kept, end: place } = index.entries.get(id) ?? {};
  if (kept === undefined || place === undefined) return undefined;
  return {
    sizes: new Map(Object.entries(kept) as [StreamType, number][]),
    load() {
      const stored = detailsIn(journal.read(place)) as EndDetails | undefined;
      return stored?.output && decodeContent(stored.output);
    },
    forget(type) {
      const line = journal.read(place);
      const stored = detailsIn(line) as EndDetails | undefined;
      // As it is now: another stream may have been forgotten before.
      const entry = index.entries.get(id);
      if (stored?.output === undefined || line === undefined || entry?.sizes === undefined) return;
      const { [type]: size, ...others } = entry.sizes;
      const { streams, arrival } = stored.output;
      // A derived `combined` is the order of the others: noted as a size, which takes no more room than the order did.
      const isOrder = size === undefined && type === 'combined';
      const sizes = isOrder ? { ...others, combined: 0 } : others;
      const output = { streams: { ...streams, [type]: undefined }, arrival: isOrder ? undefined : arrival };
      const summary = { ...(parse(line.slice(1, line.indexOf('\t'))) as object), sizes };
      journal.replace(place, `E${JSON.stringify(summary)}\t${JSON.stringify({ ...stored, output })}`);
      index.change(entry, { sizes }, {});
    },
  };
}
