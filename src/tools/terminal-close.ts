/** terminal_close: ends everything in a terminal; what it showed stays as an output, if wanted. */
import * as z from 'zod';
import { isoTime } from '../base/clock.ts';
import { listProcesses, survivorsOf } from './describe.ts';
import { describeEnd, endOutput } from './terminal-fields.ts';
import { defineTool } from './tool.ts';

export const terminalClose = defineTool({
  name: 'terminal_close',
  title: 'Close a terminal',
  description:
    'Ends everything that runs in a terminal. With save_history its transcript and its recording (asciicast) become outputs of type log.',
  input: () =>
    z.strictObject({
      terminal_id: z.string(),
      save_history: z.boolean().optional().describe('Default: auto_save_history'),
    }),
  output: () =>
    z.object({
      success: z.boolean(),
      terminal_id: z.string(),
      history_saved: z.boolean(),
      closed_at: z.string(),
      ...endOutput(),
      recording_output_id: z.string(),
      survivors: z.array(z.object({ process_id: z.number(), name: z.string() })),
    }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  async run(input, call) {
    const closed = await call.modules.terminals.close(call.principal, input.terminal_id, input.save_history);
    const { isSaved, execution } = closed;
    const { outcome } = execution.record;
    const { ended, words } = await describeEnd(call, input.terminal_id, true);
    const transcript = ended.output_id;
    const recording = execution.bundle.outputId('cast');
    const survivors = outcome?.survivors ?? [];
    const left = survivors.length === 0 ? '' : ` Could not be ended: ${listProcesses(survivors)}.`;
    const kept =
      transcript === undefined
        ? ''
        : ` Its transcript is ${transcript} (read_execution_output), its recording ${recording}.`;
    return {
      data: {
        success: survivors.length === 0,
        terminal_id: input.terminal_id,
        history_saved: isSaved,
        closed_at: isoTime(outcome?.endedAtMs ?? call.modules.clock.now()),
        ...ended,
        recording_output_id: recording,
        survivors: survivorsOf(outcome),
      },
      text: `${input.terminal_id} is closed.${left}${kept}${words.map((each) => ` ${each}.`).join('')}`,
    };
  },
});
