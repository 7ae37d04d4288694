/** What the kernel counts of reading, writing and networks, by process and by network namespace (Linux alone). */
import { readFileSync, readlinkSync } from 'node:fs';

export interface Transfer {
  /** Through files, pipes and sockets alike. */
  readonly readBytes: number;
  readonly writtenBytes: number;
  /** Of them, what a disk had to do with. */
  readonly diskReadBytes: number;
  readonly diskWrittenBytes: number;
}

export interface Network {
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** What a process has read and written, with its children that ended; undefined where the kernel does not say. */
export function readTransfer(pid: number): Transfer | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/io`, 'latin1');
    const field = (name: string): number => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
    return {
      readBytes: field('rchar'),
      writtenBytes: field('wchar'),
      diskReadBytes: field('read_bytes'),
      diskWrittenBytes: field('write_bytes'),
    };
  } catch {
    return undefined;
  }
}

/** What came and went through all interfaces of the network namespace that a process is in. */
export function readNetwork(pid: number): Network | undefined {
  try {
    const rows = readFileSync(`/proc/${pid}/net/dev`, 'latin1').split('\n').slice(2);
    const columns = rows.map((row) =>
      row
        .slice(row.indexOf(':') + 1)
        .trim()
        .split(/\s+/)
        .map(Number),
    );
    const sum = (column: number): number => columns.reduce((total, row) => total + (row[column] ?? 0), 0);
    return { receivedBytes: sum(0), sentBytes: sum(8) };
  } catch {
    return undefined;
  }
}

/** Which network namespace a process is in; undefined where that cannot be known. */
export function readNetworkNamespace(pid: number | 'self'): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return undefined;
  }
}
