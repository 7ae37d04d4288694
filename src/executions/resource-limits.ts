/**
 * Limits that a process passes on to everything it starts, as words for the shell that becomes the command: a builtin
 * costs nothing, where prlimit(1) is one more program.
 *
 * Memory is not among them. The kernel would refuse address space, not memory: AddressSanitizer and its kin reserve
 * terabytes that they never touch and do not start below any limit, nor does Java below some 300 MiB.
 */
import { readFileSync } from 'node:fs';
import { once } from '../base/once.ts';
import type { Limits } from '../security/security.ts';

/** In what a shell counts the size of a file: 512 bytes where it is POSIX's (dash, bash as sh), or 1024 (bash). */
export type BlockBytes = 512 | 1024;

/** Commands that hold from then on. */
export function resourceLimits({ fileBytes }: Pick<Limits, 'fileBytes'>, blockBytes: BlockBytes): string[] {
  if (fileBytes === undefined || process.platform !== 'linux') return [];
  return ['ulimit -c 0', `ulimit -f ${Math.floor(Math.min(fileBytes, ownFileBytes()) / blockBytes)}`];
}

/** What holds for the server holds for what it starts, and only root could have more. */
const ownFileBytes = once((): number => {
  const hard = /^Max file size\s+\S+\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  return hard === undefined || hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard);
});
