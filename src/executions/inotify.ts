/**
 * Inotify instances are the user's, 128 in all where nobody raised it, and editors outside fail without. The kernel counts
 * them for each user namespace as well, and the owner of a namespace can limit its number.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { ProcessIdentity } from './process-table.ts';

const TIMEOUT_MS = 2000;

/** As far as it can be done here: without the forker's program nothing is bounded. */
export async function boundInotify(program: string, { pid, startTime }: ProcessIdentity): Promise<void> {
  try {
    const args = ['bound-inotify', pid, startTime, mostInstances()].map(String);
    await promisify(execFile)(program, args, { cwd: '/', env: {}, timeout: TIMEOUT_MS });
  } catch {
    // The sandbox holds without.
  }
}

/** A command gets a part of what the user has, and all of one sandbox and its copies together no more than another. */
export function mostInstances(of: 'command' | 'all' = 'command'): number {
  const all = Number(readFileSync('/proc/sys/fs/inotify/max_user_instances', 'utf8'));
  return Math.max(1, Math.floor(all / (of === 'command' ? 4 : 2)));
}
