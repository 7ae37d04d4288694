/**
 * A command that is waited for until it ends, for the tools whose callers have no other with which to go on: neither
 * their client's patience nor the size of the output answers them earlier.
 */
import { LIMITS } from '../base/limits.ts';
import { type Execution, type Outcome, type StartRequest, waitForEnd } from '../executions/executions.ts';
import type { StreamType } from '../outputs/types.ts';
import { readRange, useSource } from '../outputs/views.ts';
import type { Call } from '../tools/tool.ts';
import { reportProgress } from '../tools/tools.ts';

interface CommandRequest {
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

/** A command that has ended, with what is answered of its output. */
export interface Ended {
  readonly execution: Execution;
  readonly outcome: Outcome;
  /** What ended it, where that was the time: the smaller of what was asked for and what the policy allows. */
  readonly timeoutSeconds: number;
  /** Of each stream, at most. */
  readonly outputBytes: number;
  /** Of the stream of which there is more. */
  readonly shownBytes: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly isCut: boolean;
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
  const ended = { execution, outcome, timeoutSeconds: (timeoutMs ?? 0) / 1000 };
  return { ...ended, ...(await readStreams(execution, request.outputBytes)) };
}

/** With about this share of the output that it has; undefined where there is no less. */
export async function withLess(ended: Ended, share: number): Promise<Ended | undefined> {
  const outputBytes = Math.floor(share * ended.shownBytes);
  return outputBytes < 1 ? undefined : { ...ended, ...(await readStreams(ended.execution, outputBytes)) };
}

async function readStreams(execution: Execution, outputBytes: number) {
  const stdout = await readStream(execution, 'stdout', outputBytes);
  const stderr = await readStream(execution, 'stderr', outputBytes);
  const shownBytes = Math.max(stdout.sizeBytes, stderr.sizeBytes);
  const isCut = stdout.isCut || stderr.isCut;
  return { outputBytes, shownBytes, stdout: stdout.text, stderr: stderr.text, isCut };
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
async function readStream({ bundle }: Execution, stream: StreamType, size: number) {
  const range = { offset: 0, size, encoding: 'utf-8' };
  const found = await useSource(bundle.source(stream), (source) => readRange(source, range));
  return { text: found?.content ?? '', sizeBytes: found?.sizeBytes ?? 0, isCut: found?.isTruncated === true };
}
