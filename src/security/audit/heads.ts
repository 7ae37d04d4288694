/**
 * The last lines of the other logs. Who opens a log writes them into its first line and is a witness from then on: a
 * log that was removed, shortened or written anew since then no longer has the line that was seen.
 */
import { join } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Head } from './audit-entry.ts';
import { type LogFile, listLogFiles } from './chain.ts';
import { readLastLine } from './read-log-lines.ts';

/** Of the logs that were written to last; older ones are covered by those that came between. */
export function readHeads(directory: string, own: string): Head[] {
  const newest = new Map<string, LogFile>();
  for (const file of listLogFiles(directory).reverse()) {
    if (newest.size === LIMITS.auditHeads) break;
    if (file.instance !== own && !newest.has(file.instance)) newest.set(file.instance, file);
  }
  return [...newest.values()].flatMap(({ name, instance }) => {
    // Taken away meanwhile, or not readable: verification will see it too.
    const last = attempt(() => readLastLine(join(directory, name)));
    return last === undefined ? [] : [{ instance, seq: last.seq, hash: last.hash }];
  });
}
