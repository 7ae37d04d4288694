/** The line about each command of the tool `shell`, for the operator who follows the log; the audit has it anyway. */
import type { Log } from '../base/log.ts';
import { escapeText } from './policy/show-decision.ts';
import { maskText } from './secrets.ts';

export interface LoggedCommand {
  readonly requestId: string;
  readonly command: string;
  readonly directory: string | undefined;
}

export type ShellToolLog = (command: LoggedCommand, how: Readonly<Record<string, unknown>>) => void;

/** Of a command in the log. */
const LOGGED_LENGTH = 1000;

export function createShellToolLog(log: Log, isOn: boolean): ShellToolLog {
  return ({ requestId, command, directory }, how) => {
    if (!isOn) return;
    const shown = escapeText(maskText(command).slice(0, LOGGED_LENGTH));
    log.info('shell', { request_id: requestId, command: shown, directory, ...how });
  };
}
