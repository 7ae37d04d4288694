/** Asks security/ what the wall had to do with how an execution ended, given the last it printed. */
import type { Bundle } from '../outputs/types.ts';
import type { Security } from '../security/security.ts';
import type { RunningOptions } from './running.ts';

const TAIL_BYTES = 8 * 1024;

export function createExplainer({ sandbox }: Security): RunningOptions['explain'] {
  return (record, outcome, bundle) => {
    if (record.process?.isWalled !== true || (outcome.reason !== 'exit' && outcome.reason !== 'signal'))
      return {};
    const [own, other] = [tailOf(bundle, 'stderr'), tailOf(bundle, 'combined') ?? tailOf(bundle, 'stdout')];
    const failed = {
      command: record.command,
      directory: record.directory,
      exitCode: outcome.exitCode,
      signal: outcome.signal,
      refusedForks: outcome.refusedForks ?? 0,
      hasRun: outcome.errorCode !== 'EXECUTION_001',
      startedAtMs: record.createdAtMs,
      // Some programs complain on stdout, and only there.
      text: own === undefined || (own.trim() === '' && outcome.exitCode !== 0) ? (other ?? '') : own,
    };
    const explanation = sandbox.explain(failed, record.owner);
    if (explanation === undefined) return {};
    const errorCode = outcome.errorCode ?? explanation.code;
    return { explanation: explanation.sentence, ...(errorCode !== undefined && { errorCode }) };
  };
}

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
