/**
 * What is said about an execution, in both views: the fields that become structuredContent, and the text that a model
 * reads on its own (the output first, then one line on how it went).
 */
import { isoTime } from '../base/clock.ts';
import { renameId } from '../base/ids.ts';
import {
  durationOf,
  type Execution,
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
} from './describe.ts';
import { describeFailure } from './describe-failure.ts';
import { describePipeline } from './describe-pipeline.ts';
import { type ExecutionData, leanFields } from './execution-fields.ts';
import { idsToName, isOnlyStderrCut, renderText } from './execution-text.ts';
import { hintFor, leavesRunning } from './hints.ts';
import { describeUse } from './used.ts';

export { type ExecutionData, executionFields } from './execution-fields.ts';

export interface AnswerOptions {
  /** Over both streams together. */
  readonly inlineBytes: number;
  /** Of each stream, where the caller said how much. */
  readonly perStreamBytes: number | undefined;
  /** What the client passes on: no answer holds more. */
  readonly mostBytes: number;
  /** Fold repetitions in output that does not fit. */
  readonly folds: boolean;
  /** Everything, also what says nothing new. */
  readonly detail: boolean;
  /** Why the caller is answered while it runs. */
  readonly why: Extract<WaitResult, { kind: 'running' }>['why'] | 'background' | undefined;
  /** PATH that the command saw, to suggest what is on it. */
  readonly path: string;
  readonly now: number;
  /** Where the output begins that the caller has not seen; from its beginning where absent. */
  readonly since?: ReadonlyMap<StreamType, number>;
  /** Told up to where a stream is shown, and where the part begins that was left out. */
  readonly onShown?: (type: StreamType, to: number, unseenFrom: number) => void;
  /** What the caller should know of how commands run here. */
  readonly notice?: string | undefined;
  readonly signal: AbortSignal;
}

export async function describeExecution(
  current: Execution,
  options: AnswerOptions,
): Promise<{ data: ExecutionData; text: string }> {
  // As it is now: it may end while its output is read, and the answer must not tell of both.
  const execution: Execution = { ...current };
  const { record, bundle } = execution;
  const outcome = record.outcome;
  const shown = await readStreams(execution, options);
  const failure = await describeFailure(execution, options.signal);
  const message = [...sentences(execution, shown, options), ...(failure === undefined ? [] : [failure])].join(
    ' ',
  );
  const merged = shown.get('combined');
  const stdout = merged ?? shown.get('stdout') ?? shown.get('log');
  const stderr = shown.get('stderr');
  const data: ExecutionData = {
    execution_id: record.id,
    status: outcome?.status ?? 'running',
    ...(outcome !== undefined && {
      success: outcome.status === 'completed',
      termination_reason: outcome.reason,
    }),
    ...(outcome?.exitCode !== undefined && { exit_code: outcome.exitCode }),
    ...(outcome?.signal !== undefined && { signal: outcome.signal }),
    ...(outcome?.errorCode !== undefined && { error_code: outcome.errorCode }),
    ...(message !== '' && { message }),
    output_truncated: [...shown.values()].some((part) => part.truncated),
    ...present(
      'output_id',
      bundle.outputId(merged === undefined ? 'stdout' : 'combined') ?? bundle.outputId('log'),
    ),
    ...present('stderr_output_id', bundle.outputId('stderr')),
    ...(outcome?.pipeline !== undefined && {
      pipeline: outcome.pipeline.map(({ command, exitCode }) => ({ command, exit_code: exitCode })),
    }),
    ...(outcome !== undefined &&
      outcome.survivors.length > 0 && { survivors: outcome.survivors.map(toWire) }),
    execution_time_ms: durationOf(spanOf(record), options.now),
    ...present('process_id', pidOf(record.process)),
    ...present('terminal_id', terminalIdOf(record)),
    ...(isTransition(options.why) && { transition_reason: options.why }),
    ...((outcome === undefined || outcome.reason !== 'exit') && { partial_output: true }),
    working_directory: record.directory,
    default_working_directory: record.defaultDirectory,
    working_directory_changed: record.directory !== record.defaultDirectory,
    ...sessionFields(execution),
    created_at: isoTime(record.createdAtMs),
    ...(outcome !== undefined && { completed_at: isoTime(outcome.endedAtMs) }),
    // Last: some clients show only the beginning of a long answer, and the rest is what leads on.
    ...(stderr !== undefined && { stderr: stderr.text }),
    ...(stdout !== undefined && { stdout: stdout.text }),
  };
  const text = renderText(data, message, idsToName(data, shown, options));
  return { data: options.detail ? data : leanFields(data), text };
}

async function readStreams(
  execution: Execution,
  options: AnswerOptions,
): Promise<Map<StreamType, HeadAndTail>> {
  const { bundle, record } = execution;
  const sources = record.streams.flatMap((type) => {
    // A recording is to be played, not read.
    if (type === 'cast') return [];
    const source = bundle.source(type);
    return source === undefined ? [] : [{ type, source }];
  });
  const shown = new Map<StreamType, HeadAndTail>();
  try {
    const sizes = new Map(
      sources.map(({ type, source }) => [type, source.size - (options.since?.get(type) ?? 0)]),
    );
    for (const { type, source } of sources) {
      const budget =
        options.perStreamBytes === undefined
          ? shareOf(type, sizes, Math.min(options.inlineBytes, options.mostBytes))
          : Math.min(options.perStreamBytes, shareOf(type, sizes, options.mostBytes));
      const outputId = bundle.outputId(type) ?? '';
      const base = options.since?.get(type) ?? 0;
      const to = source.size;
      const part = await headAndTail(viewFrom(source, base, to), budget, {
        outputId,
        base,
        // Folds name lines of the whole output.
        folds: options.folds && base === 0,
        signal: options.signal,
      });
      shown.set(type, part);
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
  shown: ReadonlyMap<StreamType, HeadAndTail>,
  options: AnswerOptions,
): string[] {
  const { record } = execution;
  const { outcome } = record;
  const said: string[] = [];
  if (outcome === undefined) said.push(describeRunning(execution, options));
  else said.push(...describeEnd(outcome, record.timeoutMs), ...[describeUse(execution) ?? []].flat());
  // In a sandbox nobody sees what was left: the namespace ends with the command.
  if (outcome?.reason === 'exit' && record.process?.isSandboxed === true && leavesRunning(record.command)) {
    said.push(
      'What it started with "&" ended with it. To keep a process, start it with execution_mode "background" and without "&".',
    );
  }
  for (const [type, part] of shown) {
    if (part.invalidBytes === 0 || part.binary) continue;
    said.push(
      `${part.invalidBytes} bytes of ${type} are not UTF-8 and are shown as U+FFFD; read_execution_output with encoding "base64" (or their own encoding) gives them exactly.`,
    );
  }
  said.push(...describeCut(execution, shown, options));
  if (outcome?.reason === 'exit' && outcome.exitCode !== 0 && outcome.explanation === undefined) {
    const text = (shown.get('stderr') ?? shown.get('combined'))?.text ?? '';
    const hint = hintFor({
      exitCode: outcome.exitCode,
      stderr: text.slice(-4000),
      directory: record.directory,
      isSandboxed: record.process?.isSandboxed === true,
      // What the caller set goes before what the server would have set.
      path: record.environment['PATH'] ?? options.path,
    });
    if (hint !== undefined) said.push(hint);
  }
  if (execution.isSessionLost) said.push(describeLostSession(record.sessionId ?? '', record.directory));
  const session = describeSession(record.sessionId, execution.sessionChange, options.why !== undefined);
  if (session !== undefined) said.push(session);
  if (options.notice !== undefined) said.push(options.notice);
  return said;
}

/** Undefined where it has none. */
export const terminalIdOf = ({
  id,
  terminal,
}: Pick<Execution['record'], 'id' | 'terminal'>): string | undefined =>
  terminal === undefined ? undefined : renameId(id, 'term');

function describeCut(
  { bundle }: Execution,
  shown: ReadonlyMap<StreamType, HeadAndTail>,
  { perStreamBytes = 0, mostBytes }: AnswerOptions,
): string[] {
  const cut = [...shown].filter(([, { truncated, binary }]) => truncated && !binary);
  if (cut.length === 0) return [];
  return [
    ...(perStreamBytes > mostBytes
      ? [`An answer holds at most ${describeBytes(mostBytes)} of output, also where max_output_size is more.`]
      : []),
    ...(isOnlyStderrCut(shown)
      ? [
          `Only stderr is cut: read_execution_output with output_id "${bundle.outputId('stderr')}" has all of it.`,
        ]
      : []),
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
  const said: string[] = outcome.pipeline === undefined ? [] : [describePipeline(outcome.pipeline)];
  if (outcome.reason === 'timeout') {
    said.push(
      `Command timed out after ${(timeoutMs ?? 0) / 1000} seconds and was ended${outcome.survivors.length === 0 ? ' with everything it had started' : ''}.`,
    );
  } else if (outcome.reason === 'terminated') {
    said.push('It was ended on request.');
  } else if (outcome.reason === 'memory_limit') {
    const peak =
      outcome.peakMemoryBytes === undefined ? '' : ` with ${describeBytes(outcome.peakMemoryBytes)}`;
    said.push(
      `It passed the memory limit${peak} and was ended with everything it had started. The operator changes the limit with security.max_memory_mb.`,
    );
  } else if (outcome.reason === 'cpu_limit') {
    said.push('It used more processor time than security.max_cpu_seconds allows and was ended.');
  } else if (outcome.reason === 'server_shutdown') {
    said.push('It was ended because the server was shut down.');
  } else if (outcome.reason === 'server_lost') {
    said.push(
      'The process that watched over it was killed, so that how it ended is not known; the output up to then is kept.',
    );
  } else if (
    outcome.reason === 'exit' &&
    (outcome.exitCode ?? 0) > 128 &&
    (outcome.exitCode ?? 0) <= 128 + 64
  ) {
    said.push(
      `Exit code ${outcome.exitCode} usually means that a part of it was ended by signal ${(outcome.exitCode ?? 0) - 128}.`,
    );
  }
  if (outcome.unprotected !== undefined) {
    said.push(
      `Replaced or removed from outside while it ran, which ends their protection: ${listPaths(outcome.unprotected)}. ${outcome.reason === 'protection_lost' ? 'So it was ended with everything it had started. Run it again if it is still needed' : 'It could write to them from then on'}; the user should look at them before a client, a shell or git uses them.`,
    );
  }
  if (outcome.appeared !== undefined) {
    said.push(
      `New since it began, and executed or obeyed by programs outside the sandbox: ${listPaths(outcome.appeared)}. The person should look at that before a client, a shell or git uses it.`,
    );
  }
  if (outcome.explanation !== undefined) said.push(outcome.explanation);
  else if (outcome.errorCode === 'EXECUTION_004') {
    said.push('The disk of the state directory is full: the output is not complete.');
  }
  if (outcome.endedLeftovers.length > 0) {
    said.push(
      `Left running by the shell and ended with it: ${listProcesses(outcome.endedLeftovers)}. To keep a process, start it with execution_mode "background" and without "&".`,
    );
  }
  if (outcome.survivors.length > 0)
    said.push(`Not ended, and probably or certainly started by it: ${listProcesses(outcome.survivors)}.`);
  return said;
}

const MAX_PATHS = 60;

function listPaths(paths: readonly string[]): string {
  const more = paths.length > MAX_PATHS ? ` and ${paths.length - MAX_PATHS} more` : '';
  return `${paths.slice(0, MAX_PATHS).join(', ')}${more}`;
}

function sessionFields({
  sessionChange,
  isSessionLost,
}: Execution): Pick<ExecutionData, 'session_changes' | 'session_lost'> {
  const lost = isSessionLost ? { session_lost: true } : {};
  if (sessionChange === undefined || sessionChange === 'nothing') return lost;
  const { directory, set, unset } = sessionChange;
  return {
    ...lost,
    session_changes: { ...present('working_directory', directory), set: [...set], unset: [...unset] },
  };
}

function isTransition(why: AnswerOptions['why']): why is NonNullable<ExecutionData['transition_reason']> {
  return why !== undefined && why !== 'background';
}

const toWire = ({ pid, name }: { pid: number; name: string }) => ({ process_id: pid, name });

function present<Key extends string, Value>(key: Key, value: Value | undefined): Partial<Record<Key, Value>> {
  return value === undefined ? {} : ({ [key]: value } as Record<Key, Value>);
}
