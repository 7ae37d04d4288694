/** terminal_resize: the program in it is notified, as when a person resizes a window. */
import * as z from 'zod';
import { isoTime } from '../base/clock.ts';
import { dimensionsOutput, dimensionsRequired, toDimensions } from './terminal-fields.ts';
import { defineTool } from './tool.ts';

export const terminalResize = defineTool({
  name: 'terminal_resize',
  title: 'Resize a terminal',
  description: 'Changes the size of a terminal; the program in it redraws.',
  input: () => z.strictObject({ terminal_id: z.string(), dimensions: dimensionsRequired() }),
  output: () =>
    z.object({
      success: z.boolean(),
      terminal_id: z.string(),
      dimensions: dimensionsOutput(),
      updated_at: z.string(),
    }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  async run(input, call) {
    const { terminals, clock } = call.modules;
    const state = await terminals.resize(call.principal, input.terminal_id, toDimensions(input.dimensions));
    const dimensions = { width: state.dimensions.columns, height: state.dimensions.rows };
    return {
      data: { success: true, terminal_id: state.id, dimensions, updated_at: isoTime(clock.now()) },
      text: `${state.id} is ${dimensions.width}x${dimensions.height} now.`,
    };
  },
});
