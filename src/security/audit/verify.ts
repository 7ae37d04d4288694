/**
 * Tries whether the audit log is what was written. Each log must be one unbroken chain over all of its files; it must
 * still have the lines that other logs saw when they were opened, the lines whose hashes an operator has noted
 * elsewhere, and a line for each execution that left a record. Only reads.
 */
import { join } from 'node:path';
import type { Head } from './audit-entry.ts';
import { type Line, type LogFile, listLogFiles, NO_HASH, parseLine } from './chain.ts';
import { readLines } from './read-log-lines.ts';

export interface AuditProblem {
  readonly kind: 'changed' | 'removed' | 'inserted';
  readonly instance?: string;
  readonly file?: string;
  /** In the file, from 1 on: the line that was changed or inserted, or the one before which something is missing. */
  readonly line?: number;
  readonly seq?: number;
  /** Of the last line before it that is as it was written; empty where there is none. */
  readonly after: string;
  /** A sentence. */
  readonly text: string;
}

export interface AuditHead extends Head {
  readonly lines: number;
  readonly lastTime: string;
  /** False where the server is running, or was killed, or where the end of the log is gone. */
  readonly isClosed: boolean;
  /** False: a command of the operator's. */
  readonly isServer: boolean;
}

export interface Verification {
  readonly files: number;
  readonly lines: number;
  /** Files that end with half a line: the server was killed while it wrote, or is writing. */
  readonly torn: readonly string[];
  /** How often a server could not write, and how many entries are missing for it. */
  readonly lost: number;
  readonly heads: readonly AuditHead[];
  /** The first one of each log, the earliest first; then what is not there at all. */
  readonly problems: readonly AuditProblem[];
}

export interface VerifyOptions {
  readonly directory: string;
  /** Hashes of lines that must be there. */
  readonly anchors?: readonly string[];
  /** Executions that left a record, listed before this is called: a record is written after its line. */
  readonly executions?: readonly string[];
}

interface Witness {
  readonly hash: string;
  readonly by: string;
}

export function verifyAudit({ directory, anchors = [], executions = [] }: VerifyOptions): Verification {
  const files = listLogFiles(directory);
  const logs = groupByInstance(files);
  const witnesses = findWitnesses(directory, files);
  const missing = { anchors: new Set(anchors), executions: new Set(executions) };
  const found = [...logs].map(([instance, parts]) =>
    verifyLog(placedLines(directory, parts), {
      instance,
      witnesses: witnesses.get(instance) ?? new Map(),
      visit: (line) => {
        if (line.isIntact) missing.anchors.delete(line.hash);
        if (line.fields['event'] === 'execution_allowed')
          missing.executions.delete(String(line.fields['executionId']));
      },
    }),
  );
  const problems = [
    ...found.flatMap(({ problem }) => problem ?? []).toSorted((a, b) => (a.after < b.after ? -1 : 1)),
    ...[...witnesses].flatMap(([instance, seen]) => (logs.has(instance) ? [] : [wholeLog(instance, seen)])),
    ...[...missing.anchors].map((hash) => absent(`No line has the hash ${hash}.`)),
    ...[...missing.executions].map((id) => absent(`${id} has a record, and no line allows it.`)),
  ];
  return {
    files: files.length,
    lines: found.reduce((sum, { head }) => sum + head.lines, 0),
    torn: found.flatMap(({ torn }) => torn),
    lost: found.reduce((sum, { lost }) => sum + lost, 0),
    heads: found.map(({ head }) => head),
    problems,
  };
}

interface PlacedLine {
  readonly file: LogFile;
  readonly number: number;
  /** Undefined where it cannot be read as one. */
  readonly line: Line | undefined;
  readonly isWhole: boolean;
}

type ReadLine = PlacedLine & { readonly line: Line };

function* placedLines(directory: string, files: readonly LogFile[]): Generator<PlacedLine> {
  for (const file of files.toSorted((a, b) => a.part - b.part)) {
    let number = 0;
    for (const { bytes, isWhole } of readLines(join(directory, file.name))) {
      yield { file, number: ++number, line: parseLine(bytes), isWhole };
    }
  }
}

interface LogContext {
  readonly instance: string;
  readonly witnesses: ReadonlyMap<number, Witness>;
  visit(line: Line): void;
}

function verifyLog(lines: Iterable<PlacedLine>, { instance, witnesses, visit }: LogContext) {
  let last: ReadLine | undefined;
  const torn: string[] = [];
  let lost = 0;
  let isServer = true;
  let problem: AuditProblem | undefined;
  for (const [placed, next] of withNext(lines)) {
    const { line, isWhole, file } = placed;
    // After the last line end only half a line can stand, unless it is a whole one but for its end.
    if (!isWhole && line?.isIntact !== true) {
      torn.push(file.name);
      continue;
    }
    // Behind the first problem lines are no longer judged, but what they tell of is not missing.
    if (line !== undefined) visit(line);
    problem ??= judge(placed, { last, next, instance, witnesses });
    if (problem !== undefined || line === undefined) continue;
    if (line.fields['event'] === 'log_opened') isServer = line.fields['principal'] === undefined;
    if (line.fields['event'] === 'entries_lost') lost += Number(line.fields['count']);
    last = { ...placed, line };
  }
  const head: AuditHead = {
    instance,
    seq: last?.line.seq ?? -1,
    hash: last?.line.hash ?? NO_HASH,
    lines: (last?.line.seq ?? -1) + 1,
    lastTime: last?.line.time ?? '',
    isClosed: last?.line.fields['event'] === 'log_closed',
    isServer,
  };
  return { head, torn, lost, problem: problem ?? shortened(head, witnesses) };
}

interface Surroundings extends Omit<LogContext, 'visit'> {
  readonly last: ReadLine | undefined;
  readonly next: PlacedLine | undefined;
}

function judge(placed: PlacedLine, around: Surroundings): AuditProblem | undefined {
  const { file, number, line } = placed;
  const { last, next, instance, witnesses } = around;
  const expected = { seq: (last?.line.seq ?? -1) + 1, previous: last?.line.hash ?? NO_HASH };
  const follows = (one: Line | undefined): boolean =>
    one?.isIntact === true && one.previous === expected.previous && one.seq === expected.seq;
  const at = (kind: AuditProblem['kind'], text: string, where = placed): AuditProblem => ({
    kind,
    instance,
    file: where.file.name,
    line: where.number,
    ...(where.line !== undefined && { seq: where.line.seq }),
    after: last?.line.time ?? '',
    text: `${where.file.name}:${where.number} ${text}`,
  });

  if (follows(line) && line !== undefined) {
    const seen = witnesses.get(line.seq);
    if (seen !== undefined && seen.hash !== line.hash)
      return at('changed', `is not the line that ${seen.by} saw there: the log was written anew.`);
    const opens = line.fields['event'] === 'log_opened';
    if (opens !== (number === 1)) return at('inserted', 'does not stand where such a line is written.');
    if (opens && (line.fields['instance'] !== instance || line.fields['part'] !== file.part))
      return at('changed', 'belongs to another file.');
    if (last?.line.fields['event'] === 'log_closed' && !opens)
      return at('inserted', 'comes after the end of the log.');
    return undefined;
  }
  if (follows(next?.line)) return at('inserted', 'was inserted: the next line follows the one before it.');
  // Two in one place, and the chain goes on from this one.
  if (
    last !== undefined &&
    line?.isIntact === true &&
    line.seq === last.line.seq &&
    line.previous === last.line.previous &&
    next?.line?.previous === line.hash
  )
    return at('inserted', 'was inserted: the chain goes on from the line after it.', last);
  if (line?.isIntact !== true) return at('changed', 'was changed: its hash is not the one of what it says.');
  if (line.seq > expected.seq) {
    const count = line.seq - expected.seq;
    const what =
      count === 1
        ? `line ${expected.seq} of the log is`
        : `lines ${expected.seq} to ${line.seq - 1} of the log are`;
    return at('removed', `comes too early: ${what} missing before it.`);
  }
  if (line.seq === expected.seq && last !== undefined)
    return at('changed', 'was changed, and its hash made anew: the next line carries another one.', last);
  return at('inserted', 'does not follow the line before it.');
}

function* withNext<T>(items: Iterable<T>): Generator<[T, T | undefined]> {
  let current: { readonly item: T } | undefined;
  for (const item of items) {
    if (current !== undefined) yield [current.item, item];
    current = { item };
  }
  if (current !== undefined) yield [current.item, undefined];
}

function shortened(head: AuditHead, witnesses: ReadonlyMap<number, Witness>): AuditProblem | undefined {
  const furthest = Math.max(-1, ...witnesses.keys());
  if (furthest <= head.seq) return undefined;
  const { by } = witnesses.get(furthest) ?? { by: '' };
  return {
    kind: 'removed',
    instance: head.instance,
    seq: head.seq + 1,
    after: head.lastTime,
    text: `The log of ${head.instance} ends with line ${head.seq}, but ${by} saw line ${furthest}: its end was removed.`,
  };
}

function wholeLog(instance: string, seen: ReadonlyMap<number, Witness>): AuditProblem {
  const [[seq, { by }] = [0, { by: '' }]] = seen;
  return { ...absent(`The log of ${instance} is missing: ${by} saw its line ${seq}.`), instance, seq };
}

const absent = (text: string): AuditProblem => ({ kind: 'removed', after: '', text });

/** What the first lines of all files say about other logs: instance, then number of the line. */
function findWitnesses(directory: string, files: readonly LogFile[]): Map<string, Map<number, Witness>> {
  const witnesses = new Map<string, Map<number, Witness>>();
  for (const { name, instance: by } of files) {
    const [first] = readLines(join(directory, name));
    const line = first === undefined ? undefined : parseLine(first.bytes);
    // One that was changed is a problem of its own log, and no witness.
    if (line?.isIntact !== true || line.fields['event'] !== 'log_opened') continue;
    for (const { instance, seq, hash } of (line.fields['heads'] ?? []) as readonly Head[]) {
      const seen = witnesses.get(instance) ?? new Map<number, Witness>();
      witnesses.set(instance, seen.set(seq, { hash, by }));
    }
  }
  return witnesses;
}

function groupByInstance(files: readonly LogFile[]): Map<string, LogFile[]> {
  const logs = new Map<string, LogFile[]>();
  for (const file of files) logs.set(file.instance, [...(logs.get(file.instance) ?? []), file]);
  return logs;
}
