/**
 * The one table of error codes, and the one error that carries them.
 *
 * Everything that can go wrong on purpose is thrown as a ShellServerError with a code from this table; the
 * server's edge turns it into the wire shape. Anything else that is thrown is a bug and becomes SYSTEM_001.
 */

/**
 * By code: what it means, in one sentence, which the reference page prints; and what to do next, where the thrower has
 * nothing better to say.
 */
export const ERRORS = {
  AUTH_001: {
    meaning: 'Authentication is required.',
    hint: 'Send the header "Authorization: Bearer <token>".',
  },
  AUTH_002: {
    meaning: 'The credentials are not valid.',
    hint: 'Check the token; it may have been revoked or may belong to another server.',
  },
  AUTH_003: {
    meaning: 'The caller is not allowed to do this.',
    hint: 'Only the operator can grant this, in the settings of the server.',
  },
  PARAM_001: {
    meaning: 'A required parameter is missing.',
    hint: 'Add the parameter and call again.',
  },
  PARAM_002: {
    meaning: 'A parameter is unknown, or its value is not allowed.',
    hint: 'Correct the value and call again.',
  },
  PARAM_003: {
    meaning: 'A parameter has the wrong type.',
    hint: 'Send the value with the type in the schema.',
  },
  RESOURCE_001: {
    meaning: 'There is no such process or execution.',
    hint: 'process_list shows what this server started.',
  },
  RESOURCE_002: {
    meaning: 'There is no such terminal.',
    hint: 'terminal_list shows the open terminals.',
  },
  RESOURCE_003: {
    meaning: 'There is no such output: the id is unknown, or the output was deleted or collected.',
    hint: 'list_execution_outputs shows the outputs that are kept.',
  },
  RESOURCE_004: {
    meaning: 'Something of that name exists already.',
    hint: 'Choose another name.',
  },
  RESOURCE_005: {
    meaning: 'A limit on the number of resources is reached.',
    hint: 'Terminate a running execution, then call again.',
  },
  EXECUTION_001: {
    meaning: 'The command could not be started.',
    hint: 'Check the shell and the working directory.',
  },
  EXECUTION_002: {
    meaning: 'The time limit was reached.',
    hint: 'Raise timeout_seconds, or run it with execution_mode "background".',
  },
  EXECUTION_003: {
    meaning: 'The memory limit was reached.',
    hint: 'Reduce the memory usage of the command; the operator sets the limit.',
  },
  EXECUTION_004: {
    meaning: 'The disk is full.',
    hint: 'Free some space on the disk of the state directory, or delete old outputs.',
  },
  EXECUTION_005: {
    meaning: 'The network could not be used.',
    hint: 'Check whether the network is enabled for this server.',
  },
  SYSTEM_001: {
    meaning: 'An internal error occurred in the server.',
    hint: "Try again; the server's log on stderr has the details under this request_id.",
  },
  SYSTEM_002: {
    meaning: 'The server cannot accept new work now.',
    hint: 'Try again later.',
  },
  SYSTEM_003: {
    meaning: 'The settings of the server are invalid.',
    hint: 'Correct the named key, then start the server again.',
  },
  SECURITY_001: {
    meaning: 'The command was recognised as destructive.',
    hint: 'Narrow the command (for example to a project directory), or ask the user to run it.',
  },
  SECURITY_002: {
    meaning: 'The directory is outside the allowed directories.',
    hint: 'Work in one of the allowed directories.',
  },
  SECURITY_003: {
    meaning: 'The security policy denies this.',
    hint: 'Rephrase the command so that it stays within the policy.',
  },
} as const satisfies Record<string, { readonly meaning: string; readonly hint: string }>;

export type ErrorCode = keyof typeof ERRORS;
export type ErrorCategory = ErrorCode extends `${infer Category}_${number}` ? Category : never;

/** "PARAM" of "PARAM_001". */
export const categoryOf = (code: string): ErrorCategory => code.slice(0, code.indexOf('_')) as ErrorCategory;

export interface ErrorOptionsOfOurs {
  /** What the caller should do next; the table's hint where absent. */
  readonly hint?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

export class ShellServerError extends Error {
  override readonly name = 'ShellServerError';
  readonly code: ErrorCode;
  readonly hint: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorOptionsOfOurs = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint ?? ERRORS[code].hint;
    this.details = options.details;
  }

  get category(): ErrorCategory {
    return categoryOf(this.code);
  }
}

/** As it goes from one of our processes to another. */
export interface EncodedError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
  readonly details?: object;
}

export function encodeError({ code, message, hint, details }: ShellServerError): EncodedError {
  return { code, message, hint, ...(details !== undefined && { details }) };
}

export function decodeError({ code, message, hint, details }: EncodedError): ShellServerError {
  return new ShellServerError(code, message, {
    ...(hint !== undefined && { hint }),
    ...(details !== undefined && { details: details as Record<string, unknown> }),
  });
}

/** The errno name ("ENOENT") of an error thrown by Node, if it has one. */
export function errnoOf(error: unknown): string | undefined {
  if (error === null || typeof error !== 'object' || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
