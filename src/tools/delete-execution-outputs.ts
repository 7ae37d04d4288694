/** delete_execution_outputs: removes stored outputs for good. */
import * as z from 'zod';
import { ShellServerError } from '../base/errors.ts';
import { type Call, defineTool } from './tool.ts';

const outputSchema = () =>
  z.object({
    deleted_outputs: z.array(z.string()),
    failed_outputs: z.array(z.object({ output_id: z.string(), reason: z.string() })),
    total_deleted: z.number(),
    audit_problem: z.string(),
  });

export const deleteExecutionOutputs = defineTool({
  name: 'delete_execution_outputs',
  title: 'Delete outputs',
  description: 'Deletes stored outputs for good. confirm must be true.',
  input: () =>
    z.strictObject({
      output_ids: z.array(z.string()).min(1).max(1000),
      confirm: z.boolean(),
    }),
  output: outputSchema,
  tellsUnrecorded: true,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  run: ({ output_ids: ids, confirm }, call) => deleteOutputs(ids, confirm, call),
});

export async function deleteOutputs(ids: readonly string[], isConfirmed: boolean, call: Call) {
  if (!isConfirmed) {
    throw new ShellServerError('PARAM_002', 'confirm is not true, so nothing was deleted.', {
      hint: 'To delete the outputs, call again with confirm: true.',
      details: { parameter: 'confirm' },
    });
  }
  await call.modules.executions.ready();
  const { deleted, failed } = call.modules.outputs.delete(call.principal, ids);
  const failures = failed.map(({ outputId, reason }) => `${outputId}: ${reason}`);
  return {
    data: {
      deleted_outputs: deleted,
      failed_outputs: failed.map(({ outputId, reason }) => ({ output_id: outputId, reason })),
      total_deleted: deleted.length,
    },
    text: [`Deleted ${deleted.length} of ${ids.length} outputs.`, ...failures].join('\n'),
  };
}
