/** process_list: what this caller ran, newest first. */
import * as z from 'zod';
import { isoTime } from '../base/clock.ts';
import { renameId } from '../base/ids.ts';
import { createFilter } from '../base/pattern.ts';
import { durationOf, type Summary } from '../executions/executions.ts';
import { escapeText } from '../security/security.ts';
import { describeDuration } from './describe.ts';
import { countRows } from './known-clients.ts';
import { defineTool } from './tool.ts';

const processFields = () =>
  z.object({
    execution_id: z.string(),
    process_id: z.number().optional(),
    terminal_id: z.string().optional(),
    command: z.string(),
    status: z.string(),
    execution_mode: z.string(),
    exit_code: z.number().optional(),
    signal: z.string().optional(),
    session_id: z.string().optional(),
    working_directory: z.string(),
    execution_time_ms: z.number(),
    created_at: z.string(),
    completed_at: z.string().optional(),
  });

export const processList = defineTool({
  name: 'process_list',
  title: 'List executions',
  description: 'Executions, newest first, 50 unless limit. command_pattern is a regular expression.',
  input: () =>
    z.strictObject({
      status_filter: z.enum(['running', 'completed', 'failed', 'timeout', 'all']).default('all'),
      command_pattern: z.string().min(1).optional(),
      session_id: z.string().optional(),
      limit: z.number().int().min(1).max(500).default(50),
      offset: z.number().int().min(0).max(1_000_000).default(0),
    }),
  output: () =>
    z.object({
      processes: z.array(processFields()),
      total_count: z.number(),
      filtered_count: z.number(),
    }),
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  takesTurns: true,
  async run(input, call) {
    const matches = createFilter('command_pattern', input.command_pattern);
    const all = await call.modules.executions.list(call.principal);
    const isAll =
      input.status_filter === 'all' && input.session_id === undefined && input.command_pattern === undefined;
    const matching = isAll
      ? all
      : all.filter(
          (summary) =>
            (input.status_filter === 'all' || summary.status === input.status_filter) &&
            (input.session_id === undefined || summary.sessionId === input.session_id) &&
            matches(summary.command),
        );
    const now = call.modules.clock.now();
    const end = Math.max(0, matching.length - input.offset);
    const page = matching
      .slice(Math.max(0, end - input.limit), end)
      .reverse()
      .map((summary) => toWire(summary, now));
    const rows = page.map(
      (entry) =>
        `${entry.execution_id} ${entry.status}${entry.exit_code === undefined ? '' : ` (${entry.exit_code})`} ${describeDuration(entry.execution_time_ms)} pid ${entry.process_id ?? '-'}: ${escapeText(entry.command.split('\n')[0] ?? '')}`,
    );
    const lines = rows.slice(0, countRows(rows, call.client));
    const processes = page.slice(0, lines.length);
    const rest = matching.length - input.offset - processes.length;
    const more = rest > 0 ? `\n${rest} more: offset ${input.offset + processes.length}.` : '';
    return {
      data: { total_count: all.length, filtered_count: matching.length, processes },
      text: `${lines.join('\n')}${lines.length > 0 ? '\n' : ''}[${processes.length} of ${matching.length} that match, ${all.length} in all]${more}`,
    };
  },
});

function toWire(summary: Summary, now: number): z.input<ReturnType<typeof processFields>> {
  return {
    execution_id: summary.id,
    process_id: summary.pid,
    terminal_id: summary.mode === 'terminal' ? renameId(summary.id, 'term') : undefined,
    command: summary.command,
    status: summary.status,
    execution_mode: summary.mode,
    exit_code: summary.exitCode,
    signal: summary.signal,
    session_id: summary.sessionId,
    working_directory: summary.directory,
    execution_time_ms: durationOf(summary, now),
    created_at: isoTime(summary.createdAtMs),
    completed_at: summary.endedAtMs === undefined ? undefined : isoTime(summary.endedAtMs),
  };
}
