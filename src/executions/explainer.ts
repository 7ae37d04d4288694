/** From the last that an execution printed: what the sandbox or a limit had to do with its end, and what the audit log should mark. */
import { homedir } from 'node:os';
import type { Bundle } from '../outputs/types.ts';
import { findNamedPaths, type Security } from '../security/security.ts';
import type { ExecutionRecord, Outcome } from './record.ts';
import type { RunningOptions } from './running.ts';
import { findSecurityEvent } from './security-event.ts';

const TAIL_BYTES = 8 * 1024;

export function createExplainer({ sandbox }: Security): RunningOptions['explain'] {
  function explainEnd(record: ExecutionRecord, outcome: Outcome, texts: Texts): Explained {
    const failed = {
      isSandboxed: record.process?.isSandboxed === true,
      command: record.command,
      directory: record.directory,
      namedPaths: () => findNamedPaths(record.command, { directory: record.directory, home: homedir() }),
      exitCode: outcome.exitCode,
      signal: outcome.signal,
      refusedForks: outcome.refusedForks ?? 0,
      hasRun: outcome.errorCode !== 'EXECUTION_001',
      startedAtMs: record.createdAtMs,
      isStderr: texts.own !== undefined,
      // Some programs complain on stdout, and only there.
      text:
        texts.own === undefined || (texts.own.trim() === '' && outcome.exitCode !== 0)
          ? (texts.other ?? '')
          : texts.own,
    };
    const explanation = sandbox.explain(failed, record.owner);
    if (explanation === undefined) return {};
    const errorCode = outcome.errorCode ?? explanation.code;
    return { explanation: explanation.sentence, ...(errorCode !== undefined && { errorCode }) };
  }

  return (record, outcome, bundle) => {
    if (outcome.reason !== 'exit' && outcome.reason !== 'signal') return {};
    const texts = {
      own: tailOf(bundle, 'stderr'),
      other: tailOf(bundle, 'combined') ?? tailOf(bundle, 'stdout'),
    };
    const explained = explainEnd(record, outcome, texts);
    const isStopped = explained.explanation !== undefined && record.process?.isSandboxed === true;
    const securityEvent = findSecurityEvent(outcome, texts.own ?? texts.other ?? '', isStopped);
    return { ...explained, ...(securityEvent !== undefined && { securityEvent }) };
  };
}

interface Texts {
  readonly own: string | undefined;
  readonly other: string | undefined;
}

type Explained = ReturnType<RunningOptions['explain']>;

function tailOf(bundle: Bundle, stream: 'stdout' | 'stderr' | 'combined'): string | undefined {
  const source = bundle.source(stream);
  if (source === undefined) return undefined;
  try {
    const length = Math.min(source.size, TAIL_BYTES);
    return source.read(source.size - length, length).toString('utf8');
  } finally {
    source.close();
  }
}
