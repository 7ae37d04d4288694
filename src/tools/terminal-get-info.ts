/** terminal_get_info: one terminal as it is now. */
import * as z from 'zod';
import { escapeText } from '../security/security.ts';
import { describeDetails, describeEnd, foregroundText, terminalDetails } from './terminal-fields.ts';
import { defineTool } from './tool.ts';

export const terminalGetInfo = defineTool({
  name: 'terminal_get_info',
  title: 'Look at a terminal',
  description: 'State of a terminal: working directory, foreground process, last exit code, size.',
  input: () => z.strictObject({ terminal_id: z.string() }),
  output: () => z.object(terminalDetails()),
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  async run(input, call) {
    const state = await call.modules.terminals.get(call.principal, input.terminal_id);
    const hasEnded = state.outcome !== undefined;
    const end = await describeEnd(call, state.id, hasEnded);
    const data = { ...describeDetails(state), ...end.ended };
    const ended = hasEnded
      ? ` It ended (${state.outcome.reason}) with exit code ${end.ended.exit_code ?? 'unknown'}.${end.words.map((words) => ` ${words}.`).join('')}`
      : '';
    const last = state.lastExitCode === undefined ? '' : ` Last exit code ${state.lastExitCode}.`;
    return {
      data,
      text: `${state.id} (${escapeText(state.sessionName)}): ${data.status}, ${state.shell}, ${data.dimensions.width}x${data.dimensions.height}, in ${escapeText(state.workingDirectory ?? '?')}. In front: ${foregroundText(state.front)}.${last}${ended}`,
    };
  },
});
