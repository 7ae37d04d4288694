/** terminal_get_output: what a terminal shows, and what it has written. */
import * as z from 'zod';
import { LIMITS } from '../base/limits.ts';
import type { LookRequest, ReadResult } from '../terminals/terminals.ts';
import { answerBytes } from './known-clients.ts';
import {
  describeEnd,
  describeFront,
  describeWait,
  foregroundText,
  frontOutput,
  promptWords,
  waitInput,
  waitOf,
  waitOutput,
  waitWords,
} from './terminal-fields.ts';
import { fitScreen } from './terminal-output.ts';
import { type Answer, type Call, type DataOf, defineTool } from './tool.ts';

const inputSchema = () =>
  z.strictObject({
    terminal_id: z.string(),
    start_line: z.number().int().min(0).optional().describe('0: the oldest; absent: the last lines'),
    line_count: z.number().int().min(1).max(LIMITS.terminalLinesMax).default(LIMITS.terminalLinesDefault),
    include_ansi: z.boolean().default(false).describe('With colours'),
    include_foreground_process: z.boolean().default(false),
    view: z
      .enum(['scrollback', 'screen', 'new'])
      .default('scrollback')
      .describe('screen: what a person sees now; new: since you last read'),
    ...waitInput(),
  });

/** What a look at a terminal answers with, whichever tool takes it. */
export const viewFields = () => ({
  terminal_id: z.string(),
  output: z.string(),
  output_truncated: z.boolean(),
  start_line: z.number(),
  line_count: z.number(),
  total_lines: z.number(),
  has_more: z.boolean(),
  next_start_line: z.number(),
  missing_lines: z.number(),
  foreground_process: frontOutput(),
  cursor: z.object({ row: z.number(), column: z.number(), visible: z.boolean() }),
  title: z.string(),
  full_screen: z.boolean(),
  ...waitOutput(),
});
const viewSchema = () => z.object(viewFields());

export const terminalGetOutput = defineTool({
  name: 'terminal_get_output',
  title: 'Read a terminal',
  description:
    'Reads a terminal: lines it has written (scrollback), its screen as a person sees it (screen; for vim, less, htop), or what is new. Waits like terminal_send_input if asked.',
  input: inputSchema,
  output: viewSchema,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  run: readTerminal,
});

/** The first look at a terminal whose command was typed just now; at its screen where that is all there is to see. */
export async function lookAt(terminal_id: string, timeout_seconds: number, call: Call): Promise<Look> {
  const look = (more: object): Promise<Look> =>
    readTerminal(inputSchema().parse({ terminal_id, ...more }), call);
  const first = await look({ timeout_seconds });
  if (first.data.full_screen !== true) return first;
  const { data, text } = await look({ view: 'screen' });
  return { data: { ...first.data, ...data }, text };
}

type Look = Answer<DataOf<typeof viewSchema>>;

async function readTerminal(input: z.output<ReturnType<typeof inputSchema>>, call: Call): Promise<Look> {
  const { terminals, settings } = call.modules;
  const view = input.view === 'screen' ? 'screen' : 'scrollback';
  // A page that was asked for may have more than an answer usually has.
  const pageBytes = Math.max(settings.limits.inlineOutputBytes, LIMITS.readLinesBytes);
  const maxBytes = Math.min(pageBytes, answerBytes(call.client));
  const request: LookRequest = {
    view: input.view,
    from: input.start_line,
    count: input.line_count,
    maxBytes,
    withAnsi: input.include_ansi,
    withFront: input.include_foreground_process,
    wait: waitOf(input, call),
  };
  const fresh = await terminals.read(input.terminal_id, request, call);
  const page = view === 'screen' ? undefined : pageOf(fresh);
  const lines = page?.lines ?? fresh.lines;
  const { text, isCut } = fitScreen(lines, maxBytes + CUT_NOTE_BYTES, 'a smaller terminal shows less');
  const end = await describeEnd(call, input.terminal_id, fresh.outcome !== undefined);
  const about = describeView(call, fresh, page, input.include_foreground_process);
  return {
    data: {
      terminal_id: input.terminal_id,
      ...((isCut || fresh.isLineCut) && { output_truncated: true }),
      ...(page && { start_line: page.start }),
      line_count: page?.count ?? lines.length,
      total_lines: fresh.totalLines,
      has_more: page?.hasMore === true,
      ...(page && { next_start_line: page.next }),
      ...(fresh.missing > 0 && { missing_lines: fresh.missing }),
      ...(input.include_foreground_process && { foreground_process: describeFront(fresh.front) }),
      cursor: { row: fresh.cursor.row, column: fresh.cursor.column, visible: fresh.cursor.isVisible },
      title: fresh.title,
      full_screen: fresh.isAlternate,
      ...describeWait(fresh.waited, fresh.isSecretPrompt),
      ...end.ended,
      output: text,
    },
    text: `${text}${text === '' ? '' : '\n'}[${[about, ...end.words].join('; ')}]`,
  };
}

/** For the words in the place of a line's end. */
const CUT_NOTE_BYTES = 100;

type Page = ReturnType<typeof pageOf>;

/**
 * Which lines are shown, and where the next page begins. A line that may still change is shown and not counted, so
 * that the next page has it again.
 */
function pageOf({ lines: read, from, missing, totalLines, finalLines }: ReadResult) {
  const end = from + read.length + missing;
  const next = Math.min(end, finalLines);
  const counted = Math.max(0, next - from - missing);
  // Where nothing is counted, the next page would be this one.
  const hasMore = end < totalLines && next > from;
  const lines = hasMore ? read : withoutTrailing(read, counted);
  return { lines, start: lines.length === 0 ? next - missing : from, count: counted, next, hasMore };
}

function describeView(call: Call, result: ReadResult, page: Page | undefined, withFront: boolean): string {
  const { cursor, missing } = result;
  return [
    page === undefined ? `cursor at row ${cursor.row}, column ${cursor.column}` : describePage(result, page),
    ...(missing > 0 ? [`${missing} lines were not kept`] : []),
    ...(result.isAlternate && page !== undefined
      ? ['a full-screen program is on: view "screen" shows it']
      : []),
    ...(withFront ? [`foreground: ${foregroundText(result.front)}`] : []),
    ...waitWords(result.waited, promptWords(call, result)),
  ].join('; ');
}

function describePage({ totalLines, outcome }: ReadResult, { lines, start, next, hasMore }: Page): string {
  if (lines.length === 0) return `nothing new, ${totalLines} lines`;
  const range = `lines ${start} to ${start + lines.length - 1} of ${totalLines}`;
  if (hasMore) return `${range}; go on with start_line ${next}`;
  return outcome === undefined ? `${range}; later output: start_line ${next}` : range;
}

/** Without the empty lines at the end, as far as they are not among the first ones, which are kept. */
function withoutTrailing(lines: readonly string[], kept: number): readonly string[] {
  let end = lines.length;
  while (end > kept && lines[end - 1] === '') end--;
  return lines.slice(0, end);
}
