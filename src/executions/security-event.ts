/**
 * What a failed command says about what it tried: a program that is not there, or something it may not do. The audit log
 * marks both, since a caller that probes the system leaves a trail of them.
 */
import type { SecurityEvent } from '../security/security.ts';
import type { Outcome } from './record.ts';

/** bash, dash, zsh and fish each say it in their own words; a shell that finds nothing exits with 127. */
const NOT_FOUND = /(?:command not found|: not found$|: Unknown command)/m;
const DENIED = /permission denied|operation not permitted|read-only file system|\bEACCES\b|\bEPERM\b/i;

/** `text`: the last it printed on stderr. */
export function findSecurityEvent(
  { exitCode, reason }: Outcome,
  text: string,
  isStopped: boolean,
): SecurityEvent | undefined {
  if (reason !== 'exit') return isStopped ? 'stopped_by_sandbox' : undefined;
  if (exitCode === 127 || NOT_FOUND.test(text)) return 'command_not_found';
  if (isStopped) return 'stopped_by_sandbox';
  return exitCode === 126 || DENIED.test(text) ? 'permission_denied' : undefined;
}
