/** What a caller asks for when it starts an execution. */
import type { LaunchPermit, Security } from '../security/security.ts';
import type { Held } from './detached/launch-detached.ts';
import type { ExecutionMode, ExecutionRecord } from './record.ts';

type LaunchRequest = Parameters<Security['authorize']>[0];

export interface StartRequest
  extends Omit<
    LaunchRequest,
    | 'executionId'
    | 'mode'
    | 'defaultDirectory'
    | 'callerEnvironment'
    | 'sessionEnvironment'
    | 'path'
    | 'script'
    | 'terminal'
  > {
  readonly mode: ExecutionMode;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number | undefined;
  readonly captureStderr: boolean;
  readonly mergeStderr: boolean;
  /** How long the caller can wait for its turn in the session. */
  readonly patienceMs: number;
  /** With the mode `terminal`. */
  readonly terminal?: TerminalStart | undefined;
}

/** A shell with a screen, which the host of terminals starts and holds. */
export interface TerminalStart {
  readonly record: NonNullable<ExecutionRecord['terminal']>;
  /** What is typed into the shell at once. */
  readonly command: string;
  readonly shell: NonNullable<LaunchRequest['terminal']>;
  open(what: {
    readonly record: ExecutionRecord;
    readonly permit: LaunchPermit;
    /** Where its files lie. */
    readonly directory: string;
  }): Promise<Held>;
}
