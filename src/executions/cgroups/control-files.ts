/**
 * The files of a group's directory. Those of a group that serves one execution after another stay open: to open, read and
 * close one takes three times as long as to read it again from its beginning.
 */
import { closeSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { readText } from './hierarchies.ts';

/** A group is one directory in version 2, and one in each tree that it is in of version 1. */
export interface GroupDirectory {
  readonly path: string;
  readonly version: 1 | 2;
  /** Names of its files, where they are known: to try one that is not there costs more than to read one that is. */
  readonly files?: ReadonlySet<string> | undefined;
  /** Descriptors of those that stay open, by their names; removing the directory closes them. */
  readonly opened?: Map<string, number> | undefined;
}

/** Enough for all but lists of members. */
const buffer = Buffer.allocUnsafeSlow(4096);

/** Undefined where there is no such file, or none for us. */
export function readControl(directory: GroupDirectory, name: string): string | undefined {
  if (directory.opened === undefined) return readText(join(directory.path, name));
  try {
    const fd = descriptorOf(directory, directory.opened, name, 'r');
    return buffer.toString('latin1', 0, readSync(fd, buffer, 0, buffer.length, 0)).trim();
  } catch {
    return undefined;
  }
}

/** Throws where it is refused. */
export function writeControl(directory: GroupDirectory, name: string, value: number | string): void {
  if (directory.opened === undefined) return writeFileSync(join(directory.path, name), String(value));
  writeSync(descriptorOf(directory, directory.opened, name, 'w'), String(value), 0);
}

export function closeControls({ opened }: GroupDirectory): void {
  for (const fd of opened?.values() ?? []) closeSync(fd);
  opened?.clear();
}

function descriptorOf(
  { path }: GroupDirectory,
  opened: Map<string, number>,
  name: string,
  flags: 'r' | 'w',
): number {
  const key = `${flags} ${name}`;
  const fd = opened.get(key) ?? openSync(join(path, name), flags === 'r' ? 'r' : 'r+');
  opened.set(key, fd);
  return fd;
}
