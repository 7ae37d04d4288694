/** Why an execution ended, where that is not by itself. */
import type { Outcome } from '../executions/executions.ts';
import { describeBytes } from './describe.ts';

export function describeReason(outcome: Outcome, timeoutMs: number | undefined): string {
  const { reason, survivors, peakMemoryBytes, signal, exitCode = 0 } = outcome;
  switch (reason) {
    case 'timeout':
      return `Command timed out after ${(timeoutMs ?? 0) / 1000} seconds and was ended${survivors.length === 0 ? ' with everything it had started' : ''}.`;
    case 'terminated':
      return 'It was ended on request.';
    case 'memory_limit':
      return `It passed the memory limit${peakMemoryBytes === undefined ? '' : ` with ${describeBytes(peakMemoryBytes)}`}${signal === undefined ? ': the kernel killed a process of it, and the rest ended by itself' : ' and was ended with everything it had started'}. The operator changes the limit with security.max_memory_mb.`;
    case 'cpu_limit':
      return 'It used more processor time than security.max_cpu_seconds allows and was ended.';
    case 'server_shutdown':
      return 'It was ended because the server was shut down.';
    case 'server_lost':
      return 'The process that watched over it was killed, so that how it ended is not known; the output up to then is kept.';
    case 'exit':
      return exitCode > 128 && exitCode <= 128 + 64
        ? `Exit code ${exitCode} usually means that a part of it was ended by signal ${exitCode - 128}.`
        : '';
    default:
      return '';
  }
}
