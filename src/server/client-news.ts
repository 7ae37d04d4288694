/** News in an answer: a line each in its text, and `events` in its structured part. */
import { renameId } from '../base/ids.ts';
import { describeAppeared, type News, type NewsEvent } from '../executions/executions.ts';
import { escapeText } from '../security/security.ts';
import type { ToolResult } from './encode.ts';

/** In the output schema of every tool; short, since every list carries it. */
export const NEWS_SCHEMA = {
  events: { type: 'array', items: { type: 'object' } },
  more_events: { type: 'number' },
};

/** The result, with what the reader was not told yet and it does not say itself. */
export function withNews(
  result: ToolResult,
  news: News,
  { principal, reader }: { readonly principal: string; readonly reader: string },
): ToolResult {
  const { events, more } = news.take(principal, reader, toldBy(result.structuredContent));
  if (events.length === 0) return result;
  const lines = events.map((event) => `[${describe(event)}]`);
  if (more > 0) lines.push(`[and ${more} more before; process_list shows them]`);
  const [first, ...others] = result.content;
  return {
    ...result,
    content: [{ type: 'text', text: [first?.text ?? '', ...lines].join('\n') }, ...others],
    structuredContent: {
      ...result.structuredContent,
      events: events.map(toWire),
      ...(more > 0 && { more_events: more }),
    },
  };
}

type Shown = Readonly<Record<string, unknown>>;

/** Which ends the data of an answer shows. */
function toldBy(data: Shown): { ended: ReadonlySet<string>; terminalId: string | undefined } {
  const rows = ['executions', 'processes', 'terminals'].flatMap((name) =>
    Array.isArray(data[name]) ? (data[name] as Shown[]) : [],
  );
  const ended = [data, ...rows].flatMap((row) => {
    const { execution_id: id, terminal_id: terminalId, status, termination_reason: reason } = row;
    const hasEnded = reason !== undefined || (typeof status === 'string' && !RUNNING.has(status));
    if (!hasEnded) return [];
    if (typeof id === 'string') return [id];
    return typeof terminalId === 'string' ? [renameId(terminalId, 'exec')] : [];
  });
  const terminalId = data['terminal_id'];
  return { ended: new Set(ended), terminalId: typeof terminalId === 'string' ? terminalId : undefined };
}

const RUNNING = new Set(['running', 'active', 'idle']);

function describe(event: NewsEvent): string {
  const who = event.terminalId ?? event.executionId;
  const command = event.command === '' ? '' : `, ${escapeText(event.command)}`;
  switch (event.kind) {
    case 'finished':
      return `${who} finished: ${howOf(event.outcome)}, ${Math.round(event.durationMs / 100) / 10} s${command}${newFilesOf(event)}`;
    case 'password_prompt':
      return `${who} waits for a password${command}`;
    case 'output_limit':
      return `${who} printed more than is kept, and still runs${command}`;
  }
}

function newFilesOf({ outcome }: Finished): string {
  const words = describeAppeared(outcome);
  return words === '' ? '' : `. ${escapeText(words)}`;
}

type Finished = NewsEvent & { readonly kind: 'finished' };

function howOf({ reason, exitCode, signal }: Finished['outcome']): string {
  switch (reason) {
    case 'exit':
      return `exit ${exitCode ?? 'unknown'}`;
    case 'signal':
      return `killed by ${signal ?? 'a signal'}`;
    default:
      return reason.replaceAll('_', ' ');
  }
}

function toWire(event: NewsEvent): Shown {
  const about = {
    event: event.kind,
    execution_id: event.executionId,
    ...(event.terminalId !== undefined && { terminal_id: event.terminalId }),
    command: event.command,
  };
  if (event.kind !== 'finished') return about;
  const { status, exitCode, signal, reason } = event.outcome;
  const message = describeAppeared(event.outcome);
  return {
    ...about,
    status,
    ...(exitCode !== undefined && { exit_code: exitCode }),
    ...(signal !== undefined && { signal }),
    termination_reason: reason,
    ...(message !== '' && { message }),
    execution_time_ms: Math.round(event.durationMs),
  };
}
