/** What a caller asks for when it starts an execution. */
import type { LaunchPermit, Security } from '../security/security.ts';
import type { Held } from './detached/launch-detached.ts';
import type { ExecutionMode, ExecutionRecord } from './record.ts';

export interface StartRequest {
  readonly principal: string;
  readonly client: string;
  readonly requestId: string;
  readonly command: string;
  /** A program with its arguments, to be started without a shell; `command` then only shows it. */
  readonly argv?: readonly string[] | undefined;
  readonly mode: ExecutionMode;
  readonly workingDirectory: string | undefined;
  readonly environment: Readonly<Record<string, string>>;
  readonly inputData: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly captureStderr: boolean;
  readonly mergeStderr: boolean;
  readonly sessionId: string | undefined;
  /** What a person has agreed to. */
  readonly approval?: string | undefined;
  /** The settings of one tool that hold besides everybody's. */
  readonly rules?: 'shell_tool' | undefined;
  /** How long the caller can wait for its turn in the session. */
  readonly patienceMs: number;
  /** With the mode `terminal`. */
  readonly terminal?: TerminalStart | undefined;
}

type TerminalRequest = NonNullable<Parameters<Security['authorize']>[0]['terminal']>;

/** A shell with a screen, which the host of terminals starts and holds. */
export interface TerminalStart {
  readonly record: NonNullable<ExecutionRecord['terminal']>;
  /** What is typed into the shell at once. */
  readonly command: string;
  readonly shell: TerminalRequest;
  open(what: {
    readonly record: ExecutionRecord;
    readonly permit: LaunchPermit;
    /** Where its files lie. */
    readonly directory: string;
  }): Promise<Held>;
}
