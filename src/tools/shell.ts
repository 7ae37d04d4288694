/** shell: a compatible tool. Waits for the end, says how it went in a line, and gives the output as a second block. */
import { z } from 'zod';
import { ShellServerError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Settings } from '../base/settings.ts';
import { durationOf, type Execution, spanOf } from '../executions/executions.ts';
import { type HeadAndTail, headAndTail } from '../outputs/outputs.ts';
import { writeAbortFile } from './abort-file.ts';
import { hintFor } from './hints.ts';
import { type Ended, runToEnd } from './run-to-end.ts';
import { type Answer, type Call, defineTool, type Tool } from './tool.ts';

const outputSchema = () =>
  z.object({
    command: z.string().optional(),
    exit_code: z.number().optional(),
    signal: z.string().optional(),
    stdout: z.string().optional(),
    stderr: z.string().optional(),
    execution_time_ms: z.number().optional(),
    working_directory: z.string().optional(),
    timeout_seconds: z.number().optional(),
    partial_stdout: z.string().optional(),
    partial_stderr: z.string().optional(),
    output_truncated: z.boolean().optional(),
    output_id: z.string().optional(),
    stderr_output_id: z.string().optional(),
    note: z.string().optional(),
    suggestion: z.string().optional(),
  });
type Metadata = z.input<ReturnType<typeof outputSchema>>;

interface Seconds {
  readonly usual: number;
  readonly most: number;
}

export const shell = shellTool({ usual: LIMITS.shellToolSecondsDefault, most: LIMITS.shellToolSecondsMax });

/** With the times that its caller sees. */
function shellTool({ usual, most }: Seconds): Tool {
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
          rules: 'shell_tool',
          onEnded: (execution) => logEnd(execution, call),
        },
        call,
      );
      if (ended.outcome.status !== 'completed') writeAbortFile(ended, call.modules);
      return describe(ended, call);
    },
    configured: (settings: Settings) =>
      shellTool({
        usual: settings.shellTool.defaultTimeoutSeconds,
        most: settings.shellTool.maxTimeoutSeconds,
      }),
  });
}

function describeSeconds(seconds: number): string {
  if (seconds % 60 !== 0) return `${seconds} seconds`;
  return `${seconds} seconds / ${seconds / 60} ${seconds === 60 ? 'minute' : 'minutes'}`;
}

async function describe(ended: Ended, call: Call): Promise<Answer<Metadata>> {
  const { outcome, execution } = ended;
  const suggestion = await suggestionFor(ended, call);
  const [stdout, stderr] = await Promise.all([
    show(execution, 'stdout', call),
    show(execution, 'stderr', call),
  ]);
  const note = [stdout, stderr].flatMap(({ binary, text }) => (binary ? [text] : [])).join('\n');
  const data: Metadata = {
    ...(outcome.reason === 'timeout' ? timeoutMetadata(ended) : endMetadata(ended)),
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
      suggestion ?? '',
      ended.isCut ? 'The output was truncated.' : '',
    ].filter((text) => text !== ''),
    meta: data,
    isError: outcome.status !== 'completed',
  };
}

/** For a reader: head and tail with the id to read on, and of binary data a description. The metadata has it plain. */
async function show({ bundle }: Execution, stream: 'stdout' | 'stderr', call: Call): Promise<HeadAndTail> {
  const source = bundle.source(stream);
  if (source === undefined)
    return { text: '', truncated: false, binary: false, invalidBytes: 0, omittedBytes: 0, omittedLines: 0 };
  try {
    return await headAndTail(source, call.modules.settings.shellTool.maxOutputBytes, {
      outputId: bundle.outputId(stream) ?? '',
      signal: call.signal,
    });
  } finally {
    source.close();
  }
}

function logEnd({ record }: Execution, { requestId, modules }: Call): void {
  const { command, directory, outcome } = record;
  modules.security.logShellTool(
    { requestId, command, directory },
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

/** What the sandbox stopped, or a command that is not there, or whose a file is. */
async function suggestionFor({ execution, outcome, stderr }: Ended, call: Call): Promise<string | undefined> {
  const { record } = execution;
  if (outcome.reason !== 'exit' || outcome.exitCode === 0) return undefined;
  return (
    outcome.explanation ??
    hintFor({
      exitCode: outcome.exitCode,
      stderr: stderr.slice(-4000),
      directory: record.directory,
      path: record.environment['PATH'] ?? (await call.modules.executions.commandPath()),
      isSandboxed: record.process?.isSandboxed === true,
    })
  );
}
