/** The line about each command of the tool `shell`, for the operator who follows the log; the audit has it anyway. */
import type { Log } from '../base/log.ts';
import { type ExtraRules, escapeText, type Mask, maskBeginning } from '../security/security.ts';

export type ShellToolLog = (
  request: Parameters<ExtraRules['onRefused']>[0],
  how: Readonly<Record<string, unknown>>,
) => void;

/** Of a command in the log. */
const LOGGED_LENGTH = 1000;

export function createShellToolLog(log: Log, isOn: boolean, mask: Mask): ShellToolLog {
  return ({ requestId, command, workingDirectory: directory }, how) => {
    if (!isOn) return;
    const shown = escapeText(maskBeginning(command, LOGGED_LENGTH, mask));
    log.info('shell', { request_id: requestId, command: shown, directory, ...how });
  };
}
