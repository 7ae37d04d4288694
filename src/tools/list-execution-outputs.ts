/** list_execution_outputs: what is kept of what commands printed. */
import * as z from 'zod';
import { isoTime } from '../base/clock.ts';
import type { OutputFilter } from '../outputs/types.ts';
import { describeBytes } from './describe.ts';
import { countRows } from './known-clients.ts';
import { type Call, defineTool } from './tool.ts';

export const listInput = () =>
  z.strictObject({
    output_type: z.enum(['stdout', 'stderr', 'combined', 'log', 'all']).default('all'),
    execution_id: z.string().optional(),
    name_pattern: z.string().min(1).optional(),
    limit: z.number().int().min(1).max(1000).default(100),
  });

const outputSchema = () =>
  z.object({
    outputs: z.array(
      z.object({
        output_id: z.string(),
        execution_id: z.string(),
        output_type: z.string(),
        name: z.string(),
        size: z.number(),
        order: z.enum(['exact', 'approximate']),
        is_running: z.boolean(),
        created_at: z.string(),
      }),
    ),
    total_count: z.number(),
  });

export const listExecutionOutputs = defineTool({
  name: 'list_execution_outputs',
  title: 'List outputs',
  description: 'Stored command outputs, newest first. name_pattern is a regular expression on the command.',
  input: listInput,
  output: outputSchema,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  takesTurns: true,
  run: ({ output_type: type, execution_id: executionId, name_pattern: namePattern, limit }, call) =>
    listOutputs({ types: type === 'all' ? undefined : [type], executionId, namePattern, limit }, call),
});

export async function listOutputs(asked: OutputFilter, call: Call) {
  await call.modules.executions.ready();
  const { outputs: found, total } = call.modules.outputs.list(call.principal, asked);
  const rows = found.map(
    (output) =>
      `${output.outputId} ${output.type} ${describeBytes(output.sizeBytes)} ${isoTime(output.createdAtMs)} ${output.name.split('\n')[0]}`,
  );
  const lines = rows.slice(0, countRows(rows, call.client));
  const outputs = found.slice(0, lines.length);
  const more = outputs.length < found.length ? '; name_pattern or execution_id finds older ones' : '';
  return {
    data: {
      total_count: total,
      outputs: outputs.map((output) => ({
        output_id: output.outputId,
        execution_id: output.executionId,
        output_type: output.type,
        name: output.name,
        size: output.sizeBytes,
        order: output.exactOrder ? ('exact' as const) : ('approximate' as const),
        is_running: output.isRunning,
        created_at: isoTime(output.createdAtMs),
      })),
    },
    text: `${lines.join('\n')}${lines.length > 0 ? '\n' : ''}[${outputs.length} of ${total}${more}]`,
  };
}
