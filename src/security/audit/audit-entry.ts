/**
 * The lines of the audit log. Each kind is one member of the union, so that the writer provides all that a
 * reader needs, and readers know all kinds.
 */
import type { ErrorCode } from '../../base/errors.ts';

export type Decision = 'allow' | 'deny' | 'ask';

/** Marked so that they can be searched for: an agent that tries missing or forbidden commands is probing. */
export type SecurityEvent = 'command_not_found' | 'permission_denied' | 'stopped_by_sandbox';

interface Caller {
  readonly principal: string;
  readonly requestId: string;
  /** As the client calls itself. */
  readonly client?: string | undefined;
  readonly session?: string | undefined;
}

interface Ruling extends Caller {
  readonly decision: Decision;
  readonly rule?: unknown;
  readonly code?: ErrorCode | undefined;
  readonly reason?: string | undefined;
}

interface ExecutionDecided extends Ruling {
  readonly event: 'execution_allowed' | 'execution_denied' | 'approval_needed';
  readonly executionId: string;
  readonly command: string;
  /** Of a program without a shell, of which the command only shows the words. */
  readonly argv?: readonly string[] | undefined;
  readonly mode: string;
  readonly directory: string;
}

/** It was allowed, and then there was no process. */
interface ExecutionNotStarted extends Caller {
  readonly event: 'execution_not_started';
  readonly executionId: string;
  readonly reason: string;
}

interface ExecutionEnded extends Caller {
  readonly event: 'execution_ended';
  readonly executionId: string;
  readonly terminalId?: string | undefined;
  /** Its beginning; the whole of it is in the line that allowed it. */
  readonly command: string;
  readonly status: string;
  readonly reason: string;
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly code?: ErrorCode | undefined;
  readonly securityEvent?: SecurityEvent | undefined;
  readonly appeared?: readonly string[] | undefined;
  /** Protected files that it could write to after they were replaced from outside. */
  readonly unprotected?: readonly string[] | undefined;
  /** What could not be ended. */
  readonly survivors?: readonly number[] | undefined;
  readonly durationMs: number;
  /** What all its processes used together, as far as it is known. */
  readonly peakMemoryBytes?: number | undefined;
  readonly cpuSeconds?: number | undefined;
  readonly processes?: number | undefined;
  readonly outputs: readonly (string | undefined)[];
}

/** The owner of the state directory ended it from the command line. */
interface EndRequested extends Caller {
  readonly event: 'end_requested';
  readonly executionId: string;
}

/** Outputs that were removed by age, count or size, or by the owner of the state directory. */
interface OutputsCollected extends Caller {
  readonly event: 'outputs_collected';
  readonly executionIds: readonly string[];
}

/**
 * What was typed into a terminal. What is typed at a password prompt is nobody's business: then there is a flag and no
 * text; under a list of commands its length, too.
 */
interface TerminalInput extends Ruling {
  readonly event: 'terminal_input' | 'terminal_input_denied' | 'terminal_approval_needed';
  readonly terminalId: string;
  readonly input: { readonly text: string } | { readonly isSecret: true; readonly length?: number };
}

/** A person looks at it, types, resizes, or takes it over; what they type is not recorded. */
interface TerminalViewed extends Caller {
  readonly event: `terminal_${'attached' | 'typed' | 'resized' | 'held' | 'released' | 'detached'}`;
  readonly terminalId: string;
}

/** A person did something on the operator's page. */
interface PageAction extends Caller {
  readonly event: 'page_action';
  readonly action: 'open' | 'end' | 'take_over' | 'give_back' | 'allow' | 'deny' | 'give_secret';
  readonly questionId?: string | undefined;
  readonly executionId?: string | undefined;
  readonly terminalId?: string | undefined;
}

interface Approval extends Ruling {
  readonly event: 'approval_asked' | 'approval_given' | 'approval_refused';
  readonly tool: string;
  readonly command?: string | undefined;
  readonly askedIn?: string | undefined;
  readonly approval?: string | undefined;
  /** The operator, where it was not the person at the client. */
  readonly by?: string | undefined;
  /** The earlier approval that holds for it. */
  readonly remembered?: string | undefined;
}

/** A program asked the operator for a password; neither the password nor its length is recorded. */
interface SecretAsked extends Caller {
  readonly event: 'secret_asked' | 'secret_given' | 'secret_refused';
  readonly executionId: string;
  readonly questionId?: string | undefined;
  /** The program's own text. */
  readonly prompt?: string | undefined;
  readonly reason?: string | undefined;
  readonly by?: string | undefined;
}

/** The operator has taken back an approval that was remembered. */
interface ApprovalRevoked extends Caller {
  readonly event: 'approval_revoked';
  readonly remembered: string;
  readonly command: string;
  /** The principal that had it. */
  readonly of: string;
}

interface RestrictionsChanged extends Ruling {
  readonly event: 'restrictions_tightened' | 'restrictions_refused';
  /** Of what the caller has tightened, where it has. */
  readonly restrictionId?: string | undefined;
  readonly asked: unknown;
  readonly changes?: unknown;
}

/** A caller has said where its commands run that name no directory. */
interface DefaultDirectorySet extends Caller {
  readonly event: 'default_directory_set';
  /** Resolved. */
  readonly directory: string;
}

/** Who may call over HTTP has changed. */
interface TokenChanged extends Caller {
  readonly event: 'token_created' | 'token_revoked';
  /** All that is kept about it but its hash. */
  readonly scope: object;
}

/** An HTTP request was denied before its body was read: without a token, with an invalid one, or from a foreign page. */
interface RequestRefused extends Ruling {
  readonly event: 'request_refused';
  readonly status: number;
  readonly from: string;
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  /** Like it, in the same minute, without a line of their own. */
  readonly others?: number | undefined;
}

/** Every call of a tool, when it was answered: what was read, deleted, listed or asked for. */
interface Called extends Caller {
  readonly event: 'call';
  readonly tool: string;
  readonly calledAs: string;
  readonly input: unknown;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly outcome: 'answered' | 'asked' | 'failed' | 'cancelled';
  readonly code?: ErrorCode | undefined;
}

export type AuditEntry =
  | ExecutionDecided
  | ExecutionNotStarted
  | ExecutionEnded
  | EndRequested
  | OutputsCollected
  | TerminalInput
  | TerminalViewed
  | PageAction
  | Approval
  | ApprovalRevoked
  | SecretAsked
  | RestrictionsChanged
  | DefaultDirectorySet
  | TokenChanged
  | RequestRefused
  | Called;

const EVENTS: Readonly<Record<(AuditEntry | LogEntry)['event'], true>> = {
  execution_allowed: true,
  execution_denied: true,
  approval_needed: true,
  execution_not_started: true,
  execution_ended: true,
  end_requested: true,
  outputs_collected: true,
  terminal_input: true,
  terminal_input_denied: true,
  terminal_approval_needed: true,
  terminal_attached: true,
  terminal_typed: true,
  terminal_resized: true,
  terminal_held: true,
  terminal_released: true,
  terminal_detached: true,
  page_action: true,
  approval_asked: true,
  approval_given: true,
  approval_refused: true,
  approval_revoked: true,
  secret_asked: true,
  secret_given: true,
  secret_refused: true,
  restrictions_tightened: true,
  restrictions_refused: true,
  default_directory_set: true,
  token_created: true,
  token_revoked: true,
  request_refused: true,
  call: true,
  log_opened: true,
  entries_lost: true,
  log_closed: true,
};
/** Every kind of line; the compiler misses none. */
export const AUDIT_EVENTS: readonly string[] = Object.keys(EVENTS);

/** The last line of another log, as it was seen when this one was opened. */
export interface Head {
  readonly instance: string;
  readonly seq: number;
  readonly hash: string;
}

/** What the writer says about the log itself. */
export type LogEntry =
  | {
      readonly event: 'log_opened';
      /** The operator, where a command of theirs writes the log and no server. */
      readonly principal?: string;
      readonly instance: string;
      readonly part: number;
      readonly pid: number;
      readonly heads: readonly Head[];
    }
  /** Of so many entries before this line it is not certain that they were written. */
  | { readonly event: 'entries_lost'; readonly count: number; readonly reason: string }
  | { readonly event: 'log_closed'; readonly principal?: string };
