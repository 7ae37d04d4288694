/**
 * What a tool returned or threw, as an MCP result. Both views are complete: Claude Code and Codex show a model only
 * structuredContent where there is one, Gemini CLI only the text.
 */
import { isoTime } from '../base/clock.ts';
import { ERRORS, ShellServerError } from '../base/errors.ts';
import type { Answer } from '../tools/tool.ts';
import { closed } from './quote.ts';

/** A type and not an interface: the SDK's results have an index signature. */
export type ToolResult = {
  content: { type: 'text'; text: string }[];
  structuredContent: Record<string, unknown>;
  isError?: true;
  _meta?: Record<string, unknown>;
};

/** For a client that would show its model the structured part alone. */
export type TextResult = Omit<ToolResult, 'structuredContent'> & { structuredContent?: undefined };

export function encodeAnswer(answer: Answer<unknown>): ToolResult {
  return {
    content: [answer.text, ...(answer.more ?? [])].map((text) => ({ type: 'text', text })),
    structuredContent: answer.data as Record<string, unknown>,
    ...(answer.isError === true && { isError: true }),
    ...(answer.meta !== undefined && { _meta: { ...answer.meta } }),
  };
}

export function encodeError(error: ShellServerError, requestId: string, nowMs: number): ToolResult {
  // The request id is for the operator who reads the log, which only our own failures need.
  const label = error.category === 'SYSTEM' ? `${error.code}, request_id ${requestId}` : error.code;
  return {
    content: [{ type: 'text', text: `${closed(error.message)} ${error.hint} (${label})` }],
    structuredContent: { error: toWireError(error, requestId, nowMs) },
    isError: true,
  };
}

export function textAlone(result: ToolResult): TextResult {
  const { structuredContent: _, ...text } = result;
  return text;
}

/** The shape of errors in results. */
export function toWireError(error: ShellServerError, requestId: string, nowMs: number) {
  return {
    code: error.code,
    message: error.message,
    category: error.category,
    details: { ...error.details, hint: error.hint },
    timestamp: isoTime(nowMs),
    request_id: requestId,
  };
}

/** Anything that was not thrown on purpose is a bug: the caller learns that, and nothing of its text or stack. */
export function toShellServerError(thrown: unknown): ShellServerError {
  if (thrown instanceof ShellServerError) return thrown;
  return new ShellServerError('SYSTEM_001', ERRORS.SYSTEM_001.meaning, { cause: thrown });
}
