/**
 * Why an execution failed, from the facts of its end: what the sandbox or a limit stopped, or which program or file is missing or
 * denied. What the audit log marks follows from the same facts: a caller that probes the system leaves a trail of failures.
 */
import type { SecuritySettings } from '../../base/settings.ts';
import type { SecurityEvent } from '../audit/audit-entry.ts';
import { type Explanation, explainDenial, type Failed } from './explain-denial.ts';
import { explainMemory } from './explain-memory.ts';
import { findMissing, hintFor, type Place } from './explain-missing.ts';
import { SAYS } from './patterns.ts';

/** An execution that ended by itself. */
export interface Ended extends Place, Pick<Failed, 'command' | 'exitCode' | 'signal' | 'refusedForks'> {
  readonly reason: string;
  readonly errorCode?: string | undefined;
  /** Of each process, where it was started with one. */
  readonly dataLimitBytes?: number | undefined;
  /** The last part of what it printed on stderr; undefined where both streams are one. */
  readonly stderr: string | undefined;
  /** The same of stdout, or of both streams; read only where stderr does not tell. */
  readonly output: () => string;
}

export interface Circumstances {
  /** What held for its principal. */
  readonly security: SecuritySettings;
  readonly environment: Readonly<Record<string, string>>;
  /** Hosts that the proxy refused while it ran, to any command. */
  readonly refused: readonly string[];
}

export interface Explained {
  readonly explanation?: string;
  readonly errorCode?: NonNullable<Explanation['code']>;
  readonly securityEvent?: SecurityEvent;
}

export function explainEnd(ended: Ended, circumstances: Circumstances): Explained {
  const { security, environment, refused } = circumstances;
  const failed = failedOf(ended);
  const stopped = explainRefusal(failed, security, refused) ?? explainDenial(failed, security, environment);
  const said = ended.stderr ?? failed.text;
  const isHintWanted = ended.reason === 'exit' && ended.errorCode === undefined;
  const explanation =
    stopped?.sentence ??
    (isHintWanted ? hintFor({ ...ended, text: said }) : undefined) ??
    explainMemory(failed.text, ended.dataLimitBytes);
  const securityEvent = findSecurityEvent(ended, said, stopped !== undefined && ended.isSandboxed);
  return {
    ...(explanation !== undefined && { explanation }),
    ...(stopped?.code !== undefined && ended.errorCode === undefined && { errorCode: stopped.code }),
    ...(securityEvent !== undefined && { securityEvent }),
  };
}

function failedOf({ stderr, output, errorCode, ...rest }: Ended): Failed {
  // Some programs complain on stdout, and only there.
  const isSilent = stderr === undefined || (stderr.trim() === '' && rest.exitCode !== 0);
  return {
    ...rest,
    text: isSilent ? output() : stderr,
    isStderr: stderr !== undefined,
    hasRun: errorCode !== 'EXECUTION_001',
  };
}

function explainRefusal(
  { text, exitCode }: Failed,
  { allowedDomains }: SecuritySettings,
  refused: readonly string[],
): Explanation | undefined {
  // Other commands may have been refused meanwhile: only one that complains was.
  if (refused.length === 0 || !SAYS.mayBeRefused.test(text)) return undefined;
  return {
    ...(exitCode !== 0 && { code: 'EXECUTION_005' }),
    sentence: `The sandbox lets commands reach only ${allowedDomains.join(', ')}; refused meanwhile: ${refused.slice(0, 5).join(', ')}. The operator opens more with security.allowed_domains.`,
  };
}

function findSecurityEvent(
  { exitCode, reason }: Ended,
  text: string,
  isStopped: boolean,
): SecurityEvent | undefined {
  if (reason !== 'exit') return isStopped ? 'stopped_by_sandbox' : undefined;
  if (exitCode === 127 || findMissing(text) !== undefined) return 'command_not_found';
  if (isStopped) return 'stopped_by_sandbox';
  return exitCode === 126 || SAYS.denied.test(text) ? 'permission_denied' : undefined;
}
