/** What a launch is asked for with, and what of it can be refused before anything is looked up. */
import { isInside, realPathOf } from '../base/config/paths.ts';
import { ShellServerError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Policy } from './policy/policy-types.ts';

export interface LaunchRequest extends ConsideredRequest {
  readonly client: string;
  readonly requestId: string;
  readonly executionId: string;
  readonly mode: string;
  readonly sessionId: string | undefined;
  readonly path: string;
  /** The command as it is handed to the shell, where that is more than the caller's text. */
  readonly script?: string | undefined;
  readonly inputData?: string | undefined;
  /** The binding of an ApprovalNeeded to which a person has agreed. */
  readonly approval?: string | undefined;
}

/** What is decided about before anything is prepared. */
export interface ConsideredRequest {
  readonly principal: string;
  readonly command: string;
  /** A program with its arguments, to be started without a shell; `command` then only shows it. */
  readonly argv?: readonly string[] | undefined;
  /** As the caller typed it; undefined: `defaultDirectory`. */
  readonly workingDirectory: string | undefined;
  /** The session that `workingDirectory` was left by, where the caller typed none. */
  readonly carriedBy?: string | undefined;
  readonly defaultDirectory: string;
  readonly callerEnvironment: Readonly<Record<string, string>>;
  readonly sessionEnvironment: ReadonlyMap<string, string | undefined>;
  readonly rules?: ExtraRules | undefined;
  /** A line for a shell in a terminal that has run others before. */
  readonly isTyped?: boolean;
  /** A shell in a terminal, into which the command is typed; there may be none. */
  readonly terminal?: TerminalRequest | undefined;
}

/** What holds for a request besides the rules of its principal; it can only tighten them. */
export interface ExtraRules {
  readonly policy: Policy | undefined;
  readonly allowedDirectories: readonly string[] | undefined;
  /** Called where the request is denied or needs approval, before the audit log has it. */
  onRefused(
    request: Pick<LaunchRequest, 'requestId' | 'command' | 'workingDirectory'>,
    how: { readonly decision: 'ask' | 'deny'; readonly code: string },
  ): void;
}

export interface TerminalRequest {
  readonly shell: string;
  /** The directory with the start-up files of shells. */
  readonly scripts: string;
  start(
    scripts: string,
    options: { readonly isSandboxed: boolean; readonly inherited: Readonly<Record<string, string>> },
  ): { readonly argv: readonly string[]; readonly environment: Readonly<Record<string, string>> };
}

export function checkCommand(command: string): void {
  if (command.trim() === '') {
    throw new ShellServerError('PARAM_002', 'command is empty.', { hint: 'Set command to the text to run.' });
  }
  if (command.includes('\0'))
    throw new ShellServerError('PARAM_002', 'command has a NUL character, which no argument can hold.');
  const bytes = Buffer.byteLength(command);
  if (bytes <= LIMITS.commandBytes) return;
  throw new ShellServerError(
    'PARAM_002',
    `command has ${bytes} bytes; at most ${LIMITS.commandBytes} are allowed.`,
    {
      hint: 'Send long data as input_data, which the command reads from its stdin, or write a script to a file first.',
      details: { parameter: 'command', bytes, limit: LIMITS.commandBytes },
    },
  );
}

/** The default directory where it is open to the tool, else the first that is. */
export function startIn(defaultDirectory: string, within: readonly string[] | undefined): string {
  const isOpen = within?.some((path) => isInside(realPathOf(defaultDirectory), realPathOf(path))) ?? true;
  return isOpen ? defaultDirectory : (within?.[0] ?? defaultDirectory);
}

export function definedEntries(variables: ReadonlyMap<string, string | undefined>): [string, string][] {
  return [...variables].flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as [string, string]],
  );
}
