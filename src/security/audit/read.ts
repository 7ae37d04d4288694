/** The audit log as its readers see it: the lines of all instances, and what comes next. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Line, type LogFile, listLogFiles, parseLine } from './chain.ts';
import { endOfLines, readLines } from './read-log-lines.ts';

export interface AuditLine extends Pick<Line, 'time' | 'seq' | 'fields'> {
  readonly instance: string;
  /** As it stands in the file. */
  readonly text: string;
}

export interface TimeRange {
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

/** Log by log, each in its order; who needs the order of time sorts what it keeps. */
export function* readAudit(directory: string, range: TimeRange = {}): Generator<AuditLine> {
  const isWithin = withinRange(range);
  for (const file of listLogFiles(directory)) {
    if (!isWithin(`${file.day}T00:00:00.000Z`, `${file.day}T23:59:59.999Z`)) continue;
    for (const { line } of linesFrom(directory, file, 0)) {
      if (isWithin(line.time, line.time)) yield line;
    }
  }
}

/** The newest so many, sorted by time; days before are not looked at once there are enough. */
export function readNewest(directory: string, count: number): AuditLine[] {
  const lines: AuditLine[] = [];
  let day: string | undefined;
  for (const file of listLogFiles(directory).reverse()) {
    if (lines.length >= count && file.day !== day) break;
    day = file.day;
    for (const { line } of linesFrom(directory, file, 0)) lines.push(line);
  }
  return count === 0 ? [] : lines.sort(byTime).slice(-count);
}

/** What is written from now on, in batches that are sorted by time. */
export async function* followAudit(
  directory: string,
  pollMs: number,
  signal: AbortSignal,
): AsyncGenerator<AuditLine[]> {
  const offsets = new Map<string, number>();
  for (const { name } of listLogFiles(directory)) offsets.set(name, endOfLines(join(directory, name)));
  while (!signal.aborted) {
    const batch: AuditLine[] = [];
    for (const file of listLogFiles(directory)) {
      if (isUnchanged(directory, file, offsets)) continue;
      for (const { line, end } of linesFrom(directory, file, offsets.get(file.name) ?? 0)) {
        offsets.set(file.name, end);
        batch.push(line);
      }
    }
    if (batch.length > 0) yield batch.sort(byTime);
    await sleep(pollMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Looked at four times a second, and most files are those of days past. */
function isUnchanged(directory: string, { name }: LogFile, offsets: ReadonlyMap<string, number>): boolean {
  const size = statSync(join(directory, name), { throwIfNoEntry: false })?.size;
  return size === undefined || size === offsets.get(name);
}

export function byTime(a: AuditLine, b: AuditLine): number {
  if (a.time !== b.time) return a.time < b.time ? -1 : 1;
  return a.instance === b.instance ? a.seq - b.seq : a.instance < b.instance ? -1 : 1;
}

function* linesFrom(
  directory: string,
  { name, instance }: LogFile,
  from: number,
): Generator<{ readonly line: AuditLine; readonly end: number }> {
  for (const { bytes, end, isWhole } of readLines(join(directory, name), from)) {
    const parsed = isWhole ? parseLine(bytes) : undefined;
    if (parsed === undefined) continue;
    const { time, seq, fields } = parsed;
    yield { line: { instance, time, seq, fields, text: bytes.toString('utf8') }, end };
  }
}

/** Times are compared as texts: all of them are written in the same form. */
function withinRange({ sinceMs, untilMs }: TimeRange): (first: string, last: string) => boolean {
  const since = sinceMs === undefined ? undefined : new Date(sinceMs).toISOString();
  const until = untilMs === undefined ? undefined : new Date(untilMs).toISOString();
  return (first, last) => (since === undefined || last >= since) && (until === undefined || first <= until);
}
