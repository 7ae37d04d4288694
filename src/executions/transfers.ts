/** What the kernel counts of reading, writing and networks, by process and by network namespace (Linux alone). */
import { readFileSync, readlinkSync } from 'node:fs';
import { attempt } from '../base/attempt.ts';

/** By the names of the kernel: through files, pipes and sockets alike, and of that what a disk had to do with. */
const COUNTERS = {
  readBytes: 'rchar',
  writtenBytes: 'wchar',
  diskReadBytes: 'read_bytes',
  diskWrittenBytes: 'write_bytes',
} as const;

export type Transfer = Readonly<Record<keyof typeof COUNTERS, number>>;

export interface Network {
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** What a process has read and written, with its children that ended; undefined where the kernel does not say. */
export function readTransfer(pid: number): Transfer | undefined {
  const text = attempt(() => readFileSync(`/proc/${pid}/io`, 'latin1'));
  if (text === undefined) return undefined;
  const count = (name: string): number => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
  return mapValues(COUNTERS, count);
}

/** What came and went through all interfaces of the network namespace that a process is in. */
export function readNetwork(pid: number): Network | undefined {
  const text = attempt(() => readFileSync(`/proc/${pid}/net/dev`, 'latin1'));
  if (text === undefined) return undefined;
  const rows = text.split('\n').slice(2);
  const columns = rows.map((row) => row.replace(/^.*:/, '').trim().split(/\s+/).map(Number));
  const sum = (column: number): number => columns.reduce((total, row) => total + (row[column] ?? 0), 0);
  return { receivedBytes: sum(0), sentBytes: sum(8) };
}

/** Which network namespace a process is in; undefined where that cannot be known. */
export const readNetworkNamespace = (pid: number | 'self'): string | undefined =>
  attempt(() => readlinkSync(`/proc/${pid}/ns/net`));

/** The same names with other values. */
export const mapValues = <Name extends string, Value>(
  from: Readonly<Record<Name, Value>>,
  change: (value: Value, name: Name) => number,
): Record<Name, number> =>
  Object.fromEntries(
    (Object.entries(from) as [Name, Value][]).map(([name, value]) => [name, change(value, name)]),
  ) as Record<Name, number>;
