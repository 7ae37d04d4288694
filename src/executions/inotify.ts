/**
 * Inotify instances are the user's, 128 in all where nobody raised it, and editors outside fail without. The kernel counts
 * them for each user namespace as well, and the owner of a namespace can limit its number.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { OUTER_ENVIRONMENT } from './helper.ts';
import type { ProcessIdentity } from './process-table.ts';

/** setns */
const CALLS: Readonly<Record<string, number>> = { x64: 308, arm64: 268 };

/** In one process: an execve would take the rights away that joining the namespace gives. */
const SCRIPT = String.raw`
my ($setns, $pid, $start, $most) = @ARGV;
open(my $namespace, '<', "/proc/$pid/ns/user") or exit 1;
open(my $file, '<', "/proc/$pid/stat") or exit 1;
my $stat = <$file>;
exit 1 if (split / /, substr($stat, rindex($stat, ')') + 2))[19] ne $start;
syscall($setns + 0, fileno($namespace), 0x10000000) == 0 or exit 2;
open(my $limit, '>', '/proc/sys/user/max_inotify_instances') or exit 3;
syswrite($limit, "$most\n") or exit 3;
`;

const TIMEOUT_MS = 2000;

/** As far as it can be done here: without Perl nothing is bounded. */
export async function boundInotify({ pid, startTime }: ProcessIdentity): Promise<void> {
  const setns = CALLS[process.arch];
  if (process.platform !== 'linux' || setns === undefined) return;
  try {
    const args = ['-f', '-e', SCRIPT, '--', setns, pid, startTime, mostInstances()].map(String);
    await promisify(execFile)('/usr/bin/perl', args, {
      cwd: '/',
      env: { ...OUTER_ENVIRONMENT },
      timeout: TIMEOUT_MS,
    });
  } catch {
    // The sandbox holds without.
  }
}

/** A command gets a part of what the user has, and all of one sandbox and its copies together no more than another. */
export function mostInstances(of: 'command' | 'all' = 'command'): number {
  const all = Number(readFileSync('/proc/sys/fs/inotify/max_user_instances', 'utf8'));
  return Math.max(1, Math.floor(all / (of === 'command' ? 4 : 2)));
}
