/**
 * A command that is waited for until it ends, for the tools whose callers have no other with which to go on: neither
 * their client's patience nor the size of the output answers them earlier.
 */
import { LIMITS } from '../base/limits.ts';
import { type Execution, type Outcome, type StartRequest, waitForEnd } from '../executions/executions.ts';
import type { StreamType } from '../outputs/types.ts';
import { readRange } from '../outputs/views.ts';
import { reportProgress } from './report-progress.ts';
import type { Call } from './tool.ts';

export interface CommandRequest {
  readonly command: string;
  readonly argv?: readonly string[] | undefined;
  readonly directory: string | undefined;
  readonly environment: Readonly<Record<string, string>> | undefined;
  readonly timeoutSeconds: number;
  /** Of each stream; what is beyond is left out without a word inside the data. */
  readonly outputBytes: number;
  readonly rules?: StartRequest['rules'];
  /** Called at the end, also of one that the caller does not wait for any more. */
  readonly onEnded?: (execution: Execution) => void;
}

export interface Ended {
  readonly execution: Execution;
  readonly outcome: Outcome;
  readonly stdout: string;
  readonly stderr: string;
  readonly isCut: boolean;
  /** What ended it, where that was the time: the smaller of what was asked for and what the policy allows. */
  readonly timeoutSeconds: number;
}

export async function runToEnd(request: CommandRequest, call: Call): Promise<Ended> {
  const execution = await call.modules.executions.start(
    {
      principal: call.principal,
      client: call.client.name,
      requestId: call.requestId,
      command: request.command,
      argv: request.argv,
      mode: 'foreground',
      workingDirectory: request.directory,
      environment: request.environment ?? {},
      inputData: undefined,
      timeoutMs: request.timeoutSeconds * 1000,
      captureStderr: true,
      mergeStderr: false,
      sessionId: undefined,
      patienceMs: LIMITS.timerMs,
      approval: call.approval,
      rules: request.rules,
    },
    call.signal,
  );
  const isAborted = await waitFor(execution, call);
  request.onEnded?.(execution);
  if (isAborted) call.signal.throwIfAborted();
  const { outcome, timeoutMs } = execution.record;
  if (outcome === undefined) throw new Error(`${execution.record.id} has ended without an outcome`);
  const stdout = readStream(execution, 'stdout', request.outputBytes);
  const stderr = readStream(execution, 'stderr', request.outputBytes);
  return {
    execution,
    outcome,
    stdout: stdout.text,
    stderr: stderr.text,
    isCut: stdout.isCut || stderr.isCut,
    timeoutSeconds: (timeoutMs ?? 0) / 1000,
  };
}

/** True where the caller did not wait for it, and it was ended therefore. */
async function waitFor(execution: Execution, call: Call): Promise<boolean> {
  const { live } = execution;
  if (live === undefined) return false;
  reportProgress(execution, call);
  const waited = await waitForEnd(live, { patienceMs: LIMITS.timerMs }, call.signal);
  if (waited.kind !== 'aborted') return false;
  await live.end('terminated');
  await live.finished;
  return true;
}

/** The beginning of it, up to a whole character. */
function readStream(
  { bundle }: Execution,
  stream: StreamType,
  maxBytes: number,
): { text: string; isCut: boolean } {
  const source = bundle.source(stream);
  if (source === undefined) return { text: '', isCut: false };
  try {
    const { content, isTruncated } = readRange(source, { offset: 0, size: maxBytes, encoding: 'utf-8' });
    return { text: content, isCut: isTruncated };
  } finally {
    source.close();
  }
}
