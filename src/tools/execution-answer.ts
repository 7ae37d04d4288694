/**
 * What is said about an execution, in both views: the fields that become structuredContent, and the text that a model
 * reads on its own (the output first, then one line on how it went).
 */
import { isoTime } from '../base/clock.ts';
import { renameId } from '../base/ids.ts';
import {
  describeAppeared,
  durationOf,
  type Execution,
  listPaths,
  type Outcome,
  pidOf,
  spanOf,
  type WaitResult,
} from '../executions/executions.ts';
import { type HeadAndTail, headAndTail } from '../outputs/outputs.ts';
import type { StreamType } from '../outputs/types.ts';
import { viewFrom } from '../outputs/views.ts';
import {
  describeBytes,
  describeDuration,
  describeLostSession,
  describeSession,
  listProcesses,
  survivorsOf,
} from './describe.ts';
import { describeFailure } from './describe-failure.ts';
import { describePipeline } from './describe-pipeline.ts';
import { describeReason } from './describe-reason.ts';
import { type ExecutionData, leanFields } from './execution-fields.ts';
import { idsToName, isOnlyStderrCut, renderText } from './execution-text.ts';
import { answerBytes } from './known-clients.ts';
import { leavesRunning } from './leaves-running.ts';
import type { Answer, Call } from './tool.ts';
import { describeUse } from './used.ts';

export { type ExecutionData, executionFields } from './execution-fields.ts';

export interface AnswerOptions {
  /** Over both streams together. */
  readonly inlineBytes: number;
  /** Of each stream, where the caller said how much. */
  readonly perStreamBytes?: number | undefined;
  /** What the client passes on: no answer holds more. */
  readonly mostBytes: number;
  /** Fold repetitions in output that does not fit. */
  readonly folds: boolean;
  /** Everything, also what says nothing new. */
  readonly detail: boolean;
  /** Why the caller is answered while it runs. */
  readonly why?: Extract<WaitResult, { kind: 'running' }>['why'] | 'background' | undefined;
  readonly now: number;
  /** Where the output begins that the caller has not seen; from its beginning where absent. */
  readonly since?: ReadonlyMap<StreamType, number>;
  /** Told up to where a stream is shown, and where the part begins that was left out. */
  readonly onShown?: (type: StreamType, to: number, unseenFrom: number) => void;
  /** What the caller should know of how commands run here. */
  readonly notice?: string | undefined;
  readonly signal: AbortSignal;
}

/** With the limits of the call. */
export const answerOptions = (
  { client, modules, signal }: Call,
  asked: Pick<AnswerOptions, 'folds' | 'detail' | 'perStreamBytes' | 'why' | 'notice'>,
): AnswerOptions => ({
  ...asked,
  inlineBytes: modules.settings.limits.inlineOutputBytes,
  mostBytes: answerBytes(client),
  now: modules.clock.now(),
  signal,
});

/** It may end while its output is read, and the answer must not tell of both. */
const asItIs = (current: Execution): Execution => ({
  record: current.record,
  bundle: current.bundle,
  live: current.live,
  usage: () => current.usage(),
  sessionChange: current.sessionChange,
  isSessionLost: current.isSessionLost,
});

export async function describeExecution(
  current: Execution,
  options: AnswerOptions,
): Promise<Answer<ExecutionData>> {
  const execution = asItIs(current);
  const { record, bundle } = execution;
  const outcome = record.outcome;
  const shown = await readStreams(execution, options);
  const failure = await describeFailure(execution, options.signal);
  const message = [...sentences(execution, shown, options), failure ?? '']
    .filter((sentence) => sentence !== '')
    .join(' ');
  const merged = shown.get('combined');
  const stdout = merged ?? shown.get('stdout') ?? shown.get('log');
  const data: ExecutionData = {
    execution_id: record.id,
    status: outcome?.status ?? 'running',
    success: outcome === undefined ? undefined : outcome.status === 'completed',
    termination_reason: outcome?.reason,
    exit_code: outcome?.exitCode,
    signal: outcome?.signal,
    error_code: outcome?.errorCode,
    message: message === '' ? undefined : message,
    output_truncated: [...shown.values()].some((part) => part.truncated),
    output_id: bundle.outputId(merged === undefined ? 'stdout' : 'combined') ?? bundle.outputId('log'),
    stderr_output_id: bundle.outputId('stderr'),
    pipeline: outcome?.pipeline?.map(({ command, exitCode }) => ({ command, exit_code: exitCode })),
    survivors: survivorsOf(outcome),
    execution_time_ms: durationOf(spanOf(record), options.now),
    process_id: pidOf(record.process),
    terminal_id: terminalIdOf(record),
    transition_reason: options.why === 'background' ? undefined : options.why,
    partial_output: outcome?.reason === 'exit' ? undefined : true,
    working_directory: record.directory,
    default_working_directory: record.defaultDirectory,
    working_directory_changed: record.directory !== record.defaultDirectory,
    session_changes: sessionChangesOf(execution),
    session_lost: execution.isSessionLost ? true : undefined,
    created_at: isoTime(record.createdAtMs),
    completed_at: outcome === undefined ? undefined : isoTime(outcome.endedAtMs),
    // Last: some clients show only the beginning of a long answer, and the rest is what leads on.
    stderr: shown.get('stderr')?.text,
    stdout: stdout?.text,
  };
  const text = renderText(data, message, idsToName(data, shown, options));
  return {
    data: options.detail ? data : leanFields(data),
    text,
    async shorter(share) {
      const shownBytes = [...shown.values()].reduce((sum, part) => sum + Buffer.byteLength(part.text), 0);
      const mostBytes = Math.floor(share * Math.min(shownBytes, options.mostBytes));
      return mostBytes < 1 ? undefined : describeExecution(execution, { ...options, mostBytes });
    },
  };
}

interface Shown extends HeadAndTail {
  /** It has less than was asked for. */
  readonly isCapped: boolean;
  /** Nothing of it is missing on disk. */
  readonly isKept: boolean;
}

async function readStreams(execution: Execution, options: AnswerOptions): Promise<Map<StreamType, Shown>> {
  const { bundle, record } = execution;
  const sources = record.streams.flatMap((type) => {
    // A recording is to be played, not read.
    if (type === 'cast') return [];
    const source = bundle.source(type);
    return source === undefined ? [] : [{ type, source }];
  });
  const shown = new Map<StreamType, Shown>();
  try {
    const sizes = new Map(
      sources.map(({ type, source }) => [type, source.size() - (options.since?.get(type) ?? 0)]),
    );
    for (const { type, source } of sources) {
      const budget =
        options.perStreamBytes === undefined
          ? shareOf(type, sizes, Math.min(options.inlineBytes, options.mostBytes))
          : Math.min(options.perStreamBytes, shareOf(type, sizes, options.mostBytes));
      const outputId = bundle.outputId(type) ?? '';
      const base = options.since?.get(type) ?? 0;
      const to = source.size();
      const part = await headAndTail(viewFrom(source, base, to), budget, {
        outputId,
        base,
        // Folds name lines of the whole output.
        folds: options.folds && base === 0,
        signal: options.signal,
      });
      const isCapped = part.isCut && budget < Math.min(options.perStreamBytes ?? 0, to - base);
      shown.set(type, { ...part, isCapped, isKept: source.gaps().length === 0 });
      options.onShown?.(type, to, part.truncated ? base + (part.omittedFrom ?? 0) : to);
    }
  } finally {
    for (const { source } of sources) source.close();
  }
  return shown;
}

/** stderr may use two fifths, and whatever stdout does not need; the rest is stdout's. */
function shareOf(type: StreamType, sizes: ReadonlyMap<StreamType, number>, total: number): number {
  const stdout = sizes.get('stdout') ?? 0;
  const stderr = sizes.get('stderr') ?? 0;
  const forStderr = Math.min(stderr, Math.max(Math.floor(total * 0.4), total - stdout));
  return type === 'stderr' ? forStderr : total - forStderr;
}

function sentences(
  execution: Execution,
  shown: ReadonlyMap<StreamType, Shown>,
  options: AnswerOptions,
): string[] {
  const { record } = execution;
  const { outcome } = record;
  const isSandboxed = record.process?.isSandboxed === true;
  return [
    ...(outcome === undefined
      ? [describeRunning(execution, options)]
      : [...describeEnd(outcome, record.timeoutMs), describeUse(execution) ?? '']),
    // In a sandbox nobody sees what was left: the namespace ends with the command.
    outcome?.reason === 'exit' && isSandboxed && leavesRunning(record.command)
      ? `What it started with "&" ended with it. ${KEEP_RUNNING}`
      : '',
    ...[...shown].map(([type, { invalidBytes, binary }]) =>
      invalidBytes === 0 || binary
        ? ''
        : `${invalidBytes} bytes of ${type} are not UTF-8 and are shown as U+FFFD; read_execution_output with encoding "base64" (or their own encoding) gives them exactly.`,
    ),
    ...describeCut(execution, shown, options),
    execution.isSessionLost ? describeLostSession(record.sessionId ?? '', record.directory) : '',
    describeSession(record.sessionId, execution.sessionChange, options.why !== undefined) ?? '',
    options.notice ?? '',
  ];
}

const KEEP_RUNNING = 'To keep a process, start it with execution_mode "background" and without "&".';

/** Undefined where it has none. */
const terminalIdOf = ({ id, terminal }: Execution['record']): string | undefined =>
  terminal === undefined ? undefined : renameId(id, 'term');

function describeCut(
  { bundle }: Execution,
  shown: ReadonlyMap<StreamType, Shown>,
  { mostBytes }: AnswerOptions,
): string[] {
  const cut = [...shown.values()].filter(({ truncated, binary }) => truncated && !binary);
  if (cut.length === 0) return [];
  const has = shown.get('stderr')?.isKept === true ? 'all of it' : 'what was kept of it';
  return [
    cut.some(({ isCapped }) => isCapped)
      ? `An answer holds at most ${describeBytes(mostBytes)} of output, both streams together, also where max_output_size allows more.`
      : '',
    isOnlyStderrCut(shown)
      ? `Only stderr is cut: read_execution_output with output_id "${bundle.outputId('stderr')}" has ${has}.`
      : '',
  ];
}

function describeRunning({ record }: Execution, options: AnswerOptions): string {
  const how = `process_get_execution with execution_id "${record.id}" and wait_seconds waits for it, read_execution_output reads on, process_terminate ends it.`;
  const lasting = record.mode === 'detached' ? 'It survives this server.' : 'It ends with this server.';
  const limit =
    record.timeoutMs === undefined
      ? ''
      : ` It is ended ${describeDuration(record.timeoutMs)} after its start.`;
  const terminalId = terminalIdOf(record);
  if (terminalId !== undefined)
    return `${options.why === undefined ? 'Runs' : 'Started'} in terminal ${terminalId}.${limit} terminal_get_output shows it, terminal_send_input types into it, terminal_close ends it.`;
  switch (options.why) {
    case 'foreground_timeout':
      return `Still running after ${describeDuration(durationOf(spanOf(record), options.now))}; it goes on in the background.${limit} ${how}`;
    case 'output_size_limit':
      return `Its output passed max_output_size; it goes on in the background.${limit} ${how}`;
    case 'wait_limit':
      return `Still running; answered now because clients give up on calls that take longer.${limit} Go on waiting: ${how}`;
    case 'background':
      return `Started in the background. ${lasting}${limit} ${how}`;
    case undefined:
      return `Running.${limit}`;
  }
}

function describeEnd(outcome: Outcome, timeoutMs: number | undefined): string[] {
  const { pipeline, unprotected, endedLeftovers, survivors } = outcome;
  return [
    pipeline === undefined ? '' : describePipeline(pipeline),
    describeReason(outcome, timeoutMs),
    unprotected === undefined
      ? ''
      : `Replaced or removed from outside while it ran, which ends their protection: ${listPaths(unprotected)}. ${outcome.reason === 'protection_lost' ? 'So it was ended with everything it had started. Run it again if it is still needed' : 'It could write to them from then on'}; the user should look at them before a client, a shell or git uses them.`,
    describeAppeared(outcome),
    outcome.explanation ??
      (outcome.errorCode === 'EXECUTION_004'
        ? 'The disk of the state directory is full: the output is not complete.'
        : ''),
    endedLeftovers.length === 0
      ? ''
      : `Left running by the shell and ended with it: ${listProcesses(endedLeftovers)}. ${KEEP_RUNNING}`,
    survivors.length === 0
      ? ''
      : `Not ended, and probably or certainly started by it: ${listProcesses(survivors)}.`,
  ];
}

function sessionChangesOf({ sessionChange }: Execution): ExecutionData['session_changes'] {
  if (sessionChange === undefined || sessionChange === 'nothing') return undefined;
  const { directory, set, unset } = sessionChange;
  return { working_directory: directory, set: [...set], unset: [...unset] };
}
