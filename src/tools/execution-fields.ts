/** The fields of an answer about an execution. */
import * as z from 'zod';
import { TERMINATION_REASONS } from '../executions/executions.ts';
import type { DataOf } from './tool.ts';

export const executionFields = () => ({
  execution_id: z.string(),
  status: z.enum(['running', 'completed', 'failed', 'timeout']),
  success: z.boolean(),
  exit_code: z.number(),
  signal: z.string(),
  termination_reason: z.enum(TERMINATION_REASONS),
  error_code: z.string(),
  stdout: z.string(),
  stderr: z.string(),
  output_truncated: z.boolean(),
  output_id: z.string(),
  stderr_output_id: z.string(),
  pipeline: z.array(z.object({ command: z.string(), exit_code: z.number() })),
  survivors: z.array(z.object({ process_id: z.number(), name: z.string() })),
  execution_time_ms: z.number(),
  process_id: z.number(),
  terminal_id: z.string(),
  transition_reason: z.enum(['foreground_timeout', 'output_size_limit', 'wait_limit']),
  partial_output: z.boolean(),
  message: z.string(),
  working_directory: z.string(),
  default_working_directory: z.string(),
  working_directory_changed: z.boolean(),
  session_changes: z.object({
    working_directory: z.string().optional(),
    set: z.array(z.string()),
    unset: z.array(z.string()),
  }),
  session_lost: z.boolean(),
  created_at: z.string(),
  completed_at: z.string(),
});

const executionSchema = () => z.object(executionFields());
export type ExecutionData = DataOf<typeof executionSchema>;

/** The fields that say something, in their order. process_get_execution has all of them. */
export function leanFields(data: ExecutionData): ExecutionData {
  const entries = Object.entries(data) as [keyof ExecutionData, unknown][];
  return Object.fromEntries(
    entries.filter(([name, value]) => value !== undefined && !saysNothing(name, data)),
  );
}

/** A shorter time is not worth its tokens. */
const LONG_MS = 10_000;

function saysNothing(name: keyof ExecutionData, data: ExecutionData): boolean {
  const hasEnded = data.status !== 'running';
  switch (name) {
    case 'created_at':
    case 'completed_at':
      return true;
    case 'execution_time_ms':
      return data.termination_reason === 'exit' && (data.execution_time_ms ?? 0) < LONG_MS;
    case 'process_id':
      return hasEnded;
    case 'termination_reason':
      return data.termination_reason === 'exit';
    case 'output_truncated':
      return data.output_truncated === false;
    case 'stderr':
    case 'stderr_output_id':
      return data.stderr === undefined || data.stderr === '';
    case 'working_directory':
    case 'default_working_directory':
    case 'working_directory_changed':
      // A terminal may stay for long: where it began is worth knowing.
      return data.working_directory_changed === false && data.terminal_id === undefined;
    default:
      return false;
  }
}
