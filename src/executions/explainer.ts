/** The facts of an execution that ended by itself, for the explanation of its end. */
import type { Bundle } from '../outputs/types.ts';
import type { Security } from '../security/security.ts';
import type { RunningOptions } from './running.ts';

const TAIL_BYTES = 8 * 1024;

/** `path`: the PATH of commands whose callers set none. */
export function createExplainer(security: Security, path: () => string): RunningOptions['explain'] {
  return (record, outcome, bundle) => {
    if (outcome.reason !== 'exit' && outcome.reason !== 'signal') return {};
    return security.explainEnd({
      ...outcome,
      principal: record.owner,
      command: record.command,
      directory: record.directory,
      path: record.environment['PATH'] ?? path(),
      isSandboxed: record.process?.isSandboxed === true,
      startedAtMs: record.createdAtMs,
      stderr: tailOf(bundle, 'stderr'),
      output: () => tailOf(bundle, 'combined') ?? tailOf(bundle, 'stdout') ?? '',
    });
  };
}

function tailOf(bundle: Bundle, stream: 'stdout' | 'stderr' | 'combined'): string | undefined {
  const source = bundle.source(stream);
  if (source === undefined) return undefined;
  try {
    const size = source.size();
    return source.read(Math.max(0, size - TAIL_BYTES), TAIL_BYTES).toString('utf8');
  } finally {
    source.close();
  }
}
