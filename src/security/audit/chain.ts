/**
 * How lines are chained: each is a JSON object that ends with the hash of all that stands before, and carries the hash of
 * the line before it. Lines are compared as bytes, since a text may hide that one byte was exchanged for another.
 */
import { createHash, hash as hashAtOnce } from 'node:crypto';
import { attempt } from '../../base/attempt.ts';
import { listNames } from '../../base/files.ts';

/** What the first line of a log carries, as there is none before it. */
export const NO_HASH = '0'.repeat(64);

/** `body` is a JSON object with at least one field. */
export function seal(body: string): { readonly line: Buffer; readonly hash: string } {
  const hash = hashAtOnce('sha256', body);
  return { hash, line: Buffer.from(`${body.slice(0, -1)},"hash":"${hash}"}\n`) };
}

/** A line as it was found. */
export interface Line {
  readonly seq: number;
  readonly time: string;
  readonly previous: string;
  readonly hash: string;
  /** Its hash is the one of what it says. */
  readonly isIntact: boolean;
  readonly fields: Readonly<Record<string, unknown>>;
}

const TAIL = /^,"hash":"([0-9a-f]{64})"\}$/;
const TAIL_BYTES = `,"hash":"${NO_HASH}"}`.length;

/** Undefined where it is no line of ours at all. */
export function parseLine(bytes: Buffer): Line | undefined {
  const tail = TAIL.exec(bytes.subarray(-TAIL_BYTES).toString('latin1'));
  if (tail === null) return undefined;
  const fields = parseObject(bytes);
  const { seq, time, previous } = fields ?? {};
  if (fields === undefined || typeof seq !== 'number') return undefined;
  if (typeof time !== 'string' || typeof previous !== 'string') return undefined;
  const hash = tail[1] ?? '';
  const made = createHash('sha256').update(bytes.subarray(0, -TAIL_BYTES)).update('}').digest('hex');
  return { seq, time, previous, hash, isIntact: made === hash, fields };
}

function parseObject(bytes: Buffer): Record<string, unknown> | undefined {
  const value: unknown = attempt(() => JSON.parse(bytes.toString('utf8')));
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

/** A file of a log: those of one instance are numbered, and are one chain. */
export interface LogFile {
  readonly name: string;
  readonly day: string;
  readonly instance: string;
  readonly part: number;
}

const FILE_NAME = /^(\d{4,6}-\d\d-\d\d)-(inst_[a-z0-9]+)-(\d+)\.jsonl$/;

export function logFileName(day: string, instance: string, part: number): string {
  return `${day}-${instance}-${String(part).padStart(4, '0')}.jsonl`;
}

/** The files of all instances, oldest day first; none where there is no directory. */
export function listLogFiles(directory: string): LogFile[] {
  return listNames(directory)
    .flatMap((name) => {
      const [, day = '', instance = '', part] = FILE_NAME.exec(name) ?? [];
      return part === undefined ? [] : [{ name, day, instance, part: Number(part) }];
    })
    .toSorted((a, b) => (a.day === b.day ? a.part - b.part : a.day < b.day ? -1 : 1));
}
