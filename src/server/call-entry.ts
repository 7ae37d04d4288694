/** A call as the audit log and the metrics see it. */
import type { ErrorCode } from '../base/errors.ts';
import type { ClientInfo } from '../tools/tool.ts';

export interface StartedCall {
  readonly requestId: string;
  readonly principal: string;
  readonly client: ClientInfo;
  readonly tool: string;
  /** Another name for the tool, where the client used one. */
  readonly calledAs: string;
}

export interface CallEntry extends StartedCall {
  /** As it came, unmasked: the audit knows what is secret. */
  readonly input: unknown;
  readonly startedAtMs: number;
  readonly durationMs: number;
  /** `asked`: answered with a question, and the client is to call again. */
  readonly outcome: 'answered' | 'asked' | 'failed' | 'cancelled';
  readonly code?: ErrorCode;
}
