/** One line on what a failed command says of its failure, where a known tool printed it. */
import type { Execution } from '../executions/executions.ts';
import { extractFailure, readText, summarize, useSource } from '../outputs/views.ts';

/** Looked through with each answer to a failed command: both ends of a longer output. */
const TEXT_BYTES = 256 * 1024;

export async function describeFailure(
  { record, bundle }: Execution,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { outcome } = record;
  if (outcome?.reason !== 'exit' || outcome.exitCode === 0) return undefined;
  // Tools print failures to stderr and counts to stdout.
  const type = (['combined', 'stdout'] as const).find((one) => bundle.outputId(one) !== undefined);
  if (type === undefined) return undefined;
  return useSource(bundle.source(type), async (source) => {
    const results = extractFailure((await readText(source, TEXT_BYTES, signal)).text);
    if (results === undefined) return undefined;
    return `${summarize(results)}; read_execution_output with output_id "${bundle.outputId(type)}" and extract "${results.kind}" has them.`;
  });
}
