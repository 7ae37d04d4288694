/** terminal_list: the caller's terminals, newest first. */
import * as z from 'zod';
import { createFilter } from '../base/pattern.ts';
import { escapeText } from '../security/security.ts';
import type { TerminalState } from '../terminals/terminals.ts';
import {
  describeDetails,
  describeEnd,
  foregroundText,
  statusOf,
  terminalDetails,
} from './terminal-fields.ts';
import { defineTool } from './tool.ts';

export const terminalList = defineTool({
  name: 'terminal_list',
  title: 'List terminals',
  description:
    'Open terminals, newest first. idle: the shell waits for a command. session_name_pattern is a regular expression.',
  input: () =>
    z.strictObject({
      session_name_pattern: z.string().min(1).optional(),
      status_filter: z.enum(['active', 'idle', 'all']).default('all'),
      limit: z.number().int().min(1).max(500).default(50),
    }),
  output: () =>
    z.object({
      terminals: z.array(z.object(terminalDetails()).partial()),
      total_count: z.number(),
    }),
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  async run(input, call) {
    const matches = createFilter('session_name_pattern', input.session_name_pattern);
    const all = await call.modules.terminals.list(call.principal);
    const matching = all.filter(
      (state) =>
        (input.status_filter === 'all' || statusOf(state) === input.status_filter) &&
        matches(state.sessionName),
    );
    const shown = matching.slice(0, input.limit);
    const describe = async (state: TerminalState) => ({
      ...describeDetails(state),
      ...(await describeEnd(call, state.id, state.outcome !== undefined)).ended,
    });
    const lines = shown.map(
      (state) =>
        `${state.id} ${escapeText(state.sessionName)} ${statusOf(state)} ${escapeText(state.workingDirectory ?? '?')} foreground: ${foregroundText(state.front)}`,
    );
    return {
      data: { terminals: await Promise.all(shown.map(describe)), total_count: matching.length },
      text: [...lines, `[${shown.length} of ${matching.length} terminals]`].join('\n'),
    };
  },
});
