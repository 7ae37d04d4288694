/** shell: a compatible tool. Waits for the end, says how it went in a line, and gives the output as a second block. */
import * as z from 'zod';
import { ShellServerError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { ShellToolSettings } from '../base/settings.ts';
import { durationOf, type Execution, spanOf } from '../executions/executions.ts';
import { type HeadAndTail, headAndTail, useSource } from '../outputs/outputs.ts';
import type { ExtraRules } from '../security/security.ts';
import { type Answer, type Call, type DataOf, defineTool, type Tool } from '../tools/tool.ts';
import { writeAbortFile } from './abort-file.ts';
import { type Ended, runToEnd, withLess } from './run-to-end.ts';
import type { ShellToolLog } from './shell-tool-log.ts';

const outputSchema = () =>
  z.object({
    command: z.string(),
    exit_code: z.number(),
    signal: z.string(),
    stdout: z.string(),
    stderr: z.string(),
    execution_time_ms: z.number(),
    working_directory: z.string(),
    timeout_seconds: z.number(),
    partial_stdout: z.string(),
    partial_stderr: z.string(),
    output_truncated: z.boolean(),
    output_id: z.string(),
    stderr_output_id: z.string(),
    note: z.string(),
    suggestion: z.string(),
  });
type Metadata = DataOf<typeof outputSchema>;

/** How its commands are judged and logged. */
interface ShellOptions {
  rules(): ExtraRules;
  readonly logCommand: ShellToolLog;
  /** The caller has a tool that reads stored outputs. */
  readonly canRead: boolean;
}

/** To be listed: without its rules it runs nothing. */
export const shell = createShell(
  { defaultTimeoutSeconds: LIMITS.shellToolSecondsDefault, maxTimeoutSeconds: LIMITS.shellToolSecondsMax },
  {
    rules() {
      throw new Error('shell has no rules before it is configured');
    },
    logCommand: () => undefined,
    canRead: false,
  },
);

/** With the times that its caller sees. */
export function createShell(
  seconds: Pick<ShellToolSettings, 'defaultTimeoutSeconds' | 'maxTimeoutSeconds'>,
  { rules, logCommand, canRead }: ShellOptions,
): Tool {
  const { defaultTimeoutSeconds: usual, maxTimeoutSeconds: most } = seconds;
  const about = `Command timeout in seconds (optional, defaults to ${describeSeconds(usual)})`;
  return defineTool({
    name: 'shell',
    title: 'Run a shell command',
    description:
      'Executes a shell command, waits for its end or for timeout, and returns its exit code and output.',
    input: () =>
      z.strictObject({
        command: z.string().min(1).describe('The shell command to execute'),
        working_directory: z
          .string()
          .optional()
          .describe('Working directory for command execution (optional, defaults to current directory)'),
        timeout: z.int().min(1).max(most).default(usual).describe(about),
        environment: z
          .record(z.string(), z.string())
          .optional()
          .describe('Additional environment variables to set (optional)'),
      }),
    output: outputSchema,
    isExact: true,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    async run({ command, working_directory: directory, timeout, environment }, call) {
      if (directory === '') throw new ShellServerError('PARAM_002', 'working_directory is empty.');
      const ended = await runToEnd(
        {
          command,
          directory,
          environment,
          timeoutSeconds: timeout,
          outputBytes: call.modules.settings.shellTool.maxOutputBytes,
          rules: rules(),
          onEnded: (execution) => logEnd(execution, call, logCommand),
        },
        call,
      );
      if (ended.outcome.status !== 'completed') writeAbortFile(ended, call.modules);
      const notice = call.modules.security.shellNotice({ principal: call.principal, rules: rules() });
      return describe(ended, call, { canRead, notice });
    },
  });
}

function describeSeconds(seconds: number): string {
  if (seconds % 60 !== 0) return `${seconds} seconds`;
  return `${seconds} seconds / ${seconds / 60} ${seconds === 60 ? 'minute' : 'minutes'}`;
}

async function describe(
  ended: Ended,
  call: Call,
  { canRead, notice = '' }: { readonly canRead: boolean; readonly notice: string | undefined },
): Promise<Answer<Metadata>> {
  const { outcome, execution } = ended;
  // A command that succeeded may have one as well: it read a hidden file as empty.
  const hasFailed = outcome.reason !== 'exit' || outcome.exitCode !== 0;
  const explanation = outcome.reason === 'exit' ? outcome.explanation : undefined;
  const suggestion = hasFailed ? explanation : undefined;
  const [stdout, stderr] = await Promise.all([
    show(ended, 'stdout', call, canRead),
    show(ended, 'stderr', call, canRead),
  ]);
  const plain = { ...ended, stdout: cutOr(stdout, ended.stdout), stderr: cutOr(stderr, ended.stderr) };
  const notes = [stdout, stderr].flatMap(({ binary, text }) => (binary ? [text] : []));
  const said = hasFailed ? '' : (explanation ?? '');
  const note = [...notes, said, notice].filter((text) => text !== '').join('\n');
  const data: Metadata = {
    ...(outcome.reason === 'timeout' ? timeoutMetadata(plain) : endMetadata(plain)),
    ...(ended.isCut && { output_truncated: true }),
    ...(stdout.truncated && { output_id: execution.bundle.outputId('stdout') }),
    ...(stderr.truncated && { stderr_output_id: execution.bundle.outputId('stderr') }),
    ...(note !== '' && { note }),
    ...(suggestion !== undefined && { suggestion }),
  };
  return {
    data,
    text: headline(ended),
    more: [
      `${stdout.text}${stderr.text === '' ? '' : `${stdout.text === '' || stdout.text.endsWith('\n') ? '' : '\n'}[stderr]\n${stderr.text}`}`,
      suggestion ?? said,
      ended.isCut ? 'The output was truncated.' : '',
      notice,
    ].filter((text) => text !== ''),
    meta: data,
    isError: outcome.status !== 'completed',
    async shorter(share) {
      const less = await withLess(ended, share);
      return less && describe(less, call, { canRead, notice });
    },
  };
}

type Shown = Pick<HeadAndTail, 'text' | 'truncated' | 'binary'>;

/** The metadata has the output as it was printed, unless it is cut: then both views have the same head and tail. */
const cutOr = ({ text, truncated, binary }: Shown, printed: string): string =>
  truncated && !binary ? text : printed;

/** For a reader: head and tail with how to read on, and of binary data a description. */
async function show(
  { execution: { bundle }, outputBytes }: Ended,
  stream: 'stdout' | 'stderr',
  call: Call,
  canRead: boolean,
): Promise<Shown> {
  const about = { outputId: canRead ? bundle.outputId(stream) : undefined, signal: call.signal };
  const shown = await useSource(bundle.source(stream), (source) => headAndTail(source, outputBytes, about));
  return shown ?? { text: '', truncated: false, binary: false };
}

function logEnd({ record }: Execution, { requestId, modules }: Call, logCommand: ShellToolLog): void {
  const { command, directory, outcome } = record;
  logCommand(
    { requestId, command, workingDirectory: directory },
    {
      execution_id: record.id,
      status: outcome?.status,
      exit_code: outcome?.exitCode,
      signal: outcome?.signal,
      duration_ms: durationOf(spanOf(record), modules.clock.now()),
    },
  );
}

function headline({ outcome, timeoutSeconds }: Ended): string {
  if (outcome.status === 'completed') return 'Command executed successfully';
  if (outcome.reason === 'timeout') return `Command timed out after ${timeoutSeconds} seconds`;
  if (outcome.reason === 'memory_limit') return 'Command ran out of memory and was ended';
  return outcome.exitCode === undefined
    ? `Command was ended by ${outcome.signal ?? outcome.reason}`
    : `Command failed with exit code ${outcome.exitCode}`;
}

function endMetadata({ execution: { record }, outcome, stdout, stderr }: Ended): Metadata {
  return {
    command: record.command,
    ...(outcome.exitCode !== undefined && { exit_code: outcome.exitCode }),
    ...(outcome.signal !== undefined && { signal: outcome.signal }),
    stdout,
    stderr,
    execution_time_ms: durationOf(spanOf(record), outcome.endedAtMs),
    working_directory: record.directory,
  };
}

function timeoutMetadata({ execution: { record }, stdout, stderr, timeoutSeconds }: Ended): Metadata {
  return {
    command: record.command,
    timeout_seconds: timeoutSeconds,
    partial_stdout: stdout,
    partial_stderr: stderr,
    working_directory: record.directory,
  };
}
