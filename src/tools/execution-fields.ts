/** The fields of an answer about an execution. */
import { z } from 'zod';
import { TERMINATION_REASONS } from '../executions/executions.ts';

/** Nothing is required: an error result is checked against the same schema. */
export const executionFields = () => ({
  execution_id: z.string().optional(),
  status: z.enum(['running', 'completed', 'failed', 'timeout']).optional(),
  success: z.boolean().optional(),
  exit_code: z.number().optional(),
  signal: z.string().optional(),
  termination_reason: z.enum(TERMINATION_REASONS).optional(),
  error_code: z.string().optional(),
  stdout: z.string().optional(),
  stderr: z.string().optional(),
  output_truncated: z.boolean().optional(),
  output_id: z.string().optional(),
  stderr_output_id: z.string().optional(),
  pipeline: z.array(z.object({ command: z.string(), exit_code: z.number() })).optional(),
  survivors: z.array(z.object({ process_id: z.number(), name: z.string() })).optional(),
  execution_time_ms: z.number().optional(),
  process_id: z.number().optional(),
  terminal_id: z.string().optional(),
  transition_reason: z.enum(['foreground_timeout', 'output_size_limit', 'wait_limit']).optional(),
  partial_output: z.boolean().optional(),
  message: z.string().optional(),
  working_directory: z.string().optional(),
  default_working_directory: z.string().optional(),
  working_directory_changed: z.boolean().optional(),
  session_changes: z
    .object({
      working_directory: z.string().optional(),
      set: z.array(z.string()),
      unset: z.array(z.string()),
    })
    .optional(),
  session_lost: z.boolean().optional(),
  created_at: z.string().optional(),
  completed_at: z.string().optional(),
});

const executionSchema = () => z.object(executionFields());
export type ExecutionData = z.input<ReturnType<typeof executionSchema>>;

/** The fields that say something, in their order. process_get_execution has all of them. */
export function leanFields(data: ExecutionData): ExecutionData {
  const entries = Object.entries(data) as [keyof ExecutionData, unknown][];
  return Object.fromEntries(entries.filter(([name]) => !saysNothing(name, data)));
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
