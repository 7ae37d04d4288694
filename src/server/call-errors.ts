/** What goes wrong about a call in the words of JSON-RPC; everything else that does is an answer. */
import { messageOf, type ShellServerError } from '../base/errors.ts';
import { INTERNAL_ERROR, INVALID_PARAMS } from './json-rpc.ts';
import { clip, quote } from './quote.ts';

/** A failure of a method, as JSON-RPC says it. */
export class MethodError extends Error {
  override readonly name: string = 'MethodError';
  readonly code: number;
  readonly data: Readonly<Record<string, unknown>> | undefined;

  constructor(code: number, message: string, data?: Readonly<Record<string, unknown>>) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The one thing about a call that is a protocol error. */
export class UnknownToolError extends MethodError {
  override readonly name = 'UnknownToolError';

  constructor(tool: string, suggestion: string | undefined) {
    const hint = suggestion === undefined ? 'tools/list shows the tools.' : `Did you mean "${suggestion}"?`;
    super(INVALID_PARAMS, `Unknown tool ${quote(tool)}. ${hint}`, {
      name: 'ToolNotFound',
      tool: clip(tool),
      ...(suggestion !== undefined && { suggestion }),
    });
  }
}

/** The code of a method for any failure of a command. */
const COMMAND_FAILED = -32_000;

export function toMethodError({ message, details }: ShellServerError): MethodError {
  return details?.['name'] === 'InvalidParameters'
    ? new MethodError(INVALID_PARAMS, message, details)
    : new MethodError(COMMAND_FAILED, message);
}

/** The error of a JSON-RPC answer. Anything that is none of these is a bug, which only tests let through to here. */
export function toErrorObject(thrown: unknown): Pick<MethodError, 'code' | 'message'> & { data?: object } {
  if (thrown instanceof MethodError) {
    const { code, message, data } = thrown;
    return { code, message, ...(data !== undefined && { data }) };
  }
  return { code: INTERNAL_ERROR, message: messageOf(thrown) };
}
