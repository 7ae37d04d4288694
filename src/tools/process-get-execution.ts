/** process_get_execution: how an execution is doing, or how it ended. */
import { z } from 'zod';
import { isoTime } from '../base/clock.ts';
import type { Execution } from '../executions/executions.ts';
import { EXECUTION_MODES } from '../executions/executions.ts';
import { escapeText, maskBeginning } from '../security/security.ts';
import { describeBytes } from './describe.ts';
import { describeExecution, executionFields } from './execution-answer.ts';
import { answerBytes, patienceMs } from './known-clients.ts';
import { defineTool } from './tool.ts';

/** The caller knows its command; a hundred kilobytes of it at each look would be a waste. */
const COMMAND_CHARS = 4000;

export const processGetExecution = defineTool({
  name: 'process_get_execution',
  title: 'Look at an execution',
  description:
    'State, exit code, last output and resource usage of an execution. wait_seconds waits for its end that long.',
  input: () =>
    z.strictObject({
      execution_id: z.string(),
      wait_seconds: z.number().min(0).max(300).default(0),
      fold: z.boolean().default(true),
    }),
  output: () =>
    z.object({
      ...executionFields(),
      command: z.string().optional(),
      execution_mode: z.enum(EXECUTION_MODES).optional(),
      session_id: z.string().optional(),
      environment_variables: z.record(z.string(), z.string()).optional(),
      memory_usage_mb: z.number().optional(),
      cpu_usage_percent: z.number().optional(),
      process_count: z.number().optional(),
      started_at: z.string().optional(),
      stdout_size: z.number().optional(),
      stderr_size: z.number().optional(),
    }),
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  async run({ execution_id, wait_seconds, fold }, call) {
    const { executions, settings, clock } = call.modules;
    const waitMs = Math.min(wait_seconds * 1000, patienceMs(call.client, settings.limits.maxWaitSeconds));
    const execution = await executions.waitFor(call.principal, execution_id, waitMs, call.signal);
    call.signal.throwIfAborted();
    const { record } = execution;
    const usage = execution.usage();
    const command = maskBeginning(record.command, COMMAND_CHARS);
    const { data, text } = await describeExecution(execution, {
      inlineBytes: settings.limits.inlineOutputBytes,
      perStreamBytes: undefined,
      mostBytes: answerBytes(call.client),
      folds: fold,
      why: undefined,
      path: await executions.commandPath(),
      now: clock.now(),
      signal: call.signal,
    });
    const more = {
      command,
      execution_mode: record.mode,
      ...(record.sessionId !== undefined && { session_id: record.sessionId }),
      environment_variables: record.environment,
      ...(usage !== undefined && {
        memory_usage_mb: Math.round((usage.memoryBytes / 1024 / 1024) * 10) / 10,
        cpu_usage_percent: usage.cpuPercent,
        process_count: usage.processes,
      }),
      started_at: isoTime(record.createdAtMs),
      ...sizes(execution),
    };
    const using =
      usage === undefined
        ? ''
        : ` It uses ${describeBytes(usage.memoryBytes)} of memory and ${usage.cpuPercent} % of a processor in ${usage.processes} processes.`;
    return {
      data: { ...data, ...more },
      text: `${text}${using}\nCommand: ${showLines(command.slice(0, 1000))}`,
    };
  },
});

function sizes({ bundle, record }: Execution): { stdout_size?: number; stderr_size?: number } {
  const sizeOf = (type: 'stdout' | 'stderr' | 'combined' | 'log'): number | undefined => {
    if (!record.streams.includes(type)) return undefined;
    const source = bundle.source(type);
    const size = source?.size;
    source?.close();
    return size;
  };
  const stdout = sizeOf('stdout') ?? sizeOf('combined') ?? sizeOf('log');
  const stderr = sizeOf('stderr');
  return {
    ...(stdout !== undefined && { stdout_size: stdout }),
    ...(stderr !== undefined && { stderr_size: stderr }),
  };
}

/** Its lines stay lines; nothing else of it that a terminal would obey does. */
const showLines = (text: string): string => text.split('\n').map(escapeText).join('\n');
