/**
 * The door of everything that decides whether a command may run, and with what. Nothing starts without a permit, and
 * permits are issued here alone: the directory is checked, the environment built, the decision written to the audit
 * log, and only then is there something that executions/ can launch.
 */
import type { Clock } from '../base/clock.ts';
import { ShellServerError } from '../base/errors.ts';
import { randomText } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import type { Settings } from '../base/settings.ts';
import { type Audit, createAudit } from './audit/audit.ts';
import { createDirectories, type Directories } from './directories.ts';
import { buildEnvironment, checkEnvironment, MARKER_NAME } from './environment.ts';
import { issuePermit, type LaunchPermit } from './permit.ts';
import { checkShell, chooseShells, type Shells, shellArgv } from './shells.ts';

export type { Audit, AuditEntry } from './audit/audit.ts';
export type { Directories } from './directories.ts';
export { checkEnvironment, MARKER_NAME, withoutOwn } from './environment.ts';
export type { LaunchPermit } from './permit.ts';
export { maskEnvironment, maskText } from './secrets.ts';
export { shellName } from './shells.ts';

export interface LaunchRequest {
  readonly principal: string;
  readonly client: string;
  readonly requestId: string;
  readonly executionId: string;
  readonly command: string;
  readonly mode: string;
  readonly sessionId: string | undefined;
  /** As the caller typed it; undefined: `defaultDirectory`. */
  readonly workingDirectory: string | undefined;
  readonly defaultDirectory: string;
  readonly callerEnvironment: Readonly<Record<string, string>>;
  readonly sessionEnvironment: ReadonlyMap<string, string | undefined>;
  readonly path: string;
  /** The command as it is handed to the shell, where that is more than the caller's text. */
  readonly script?: string;
}

export interface Security {
  readonly shells: Shells;
  readonly directories: Directories;
  readonly audit: Audit;
  /** A permit, or a ShellServerError that says why not; audited either way. */
  authorize(request: LaunchRequest): LaunchPermit;
  dispose(): void;
}

export function createSecurity(options: {
  readonly settings: Settings;
  readonly instance: string;
  readonly auditDirectory: string;
  readonly clock: Clock;
}): Security {
  const { settings } = options;
  const directories = createDirectories(settings.security.allowedDirectories);
  const shells = chooseShells(settings.shell, settings.environment['SHELL']);
  const audit = createAudit({
    directory: options.auditDirectory,
    instance: options.instance,
    clock: options.clock,
  });

  function decide(request: LaunchRequest): LaunchPermit {
    checkCommand(request.command);
    checkEnvironment(request.callerEnvironment);
    const directory = directories.check(
      request.workingDirectory ?? request.defaultDirectory,
      request.defaultDirectory,
    );
    checkShell(shells.forCommands, request.path);
    const marker = randomText();
    const seconds = settings.security.maxExecutionTimeSeconds;
    return issuePermit({
      argv: shellArgv(shells.forCommands, request.script ?? request.command),
      environment: buildEnvironment({
        inherited: settings.environment,
        path: request.path,
        shell: shells.configured,
        session: request.sessionEnvironment,
        caller: request.callerEnvironment,
        marker,
      }),
      directory,
      marker: `${MARKER_NAME}=${marker}`,
      maxDurationMs: seconds === undefined ? undefined : seconds * 1000,
      maxMemoryBytes: settings.security.maxMemoryBytes,
    });
  }

  return {
    shells,
    directories,
    audit,
    authorize(request) {
      const about = {
        principal: request.principal,
        client: request.client,
        requestId: request.requestId,
        executionId: request.executionId,
        command: request.command,
        mode: request.mode,
        session: request.sessionId,
      };
      try {
        const permit = decide(request);
        audit.write({ event: 'execution_allowed', decision: 'allow', ...about, directory: permit.directory });
        return permit;
      } catch (error) {
        if (error instanceof ShellServerError && error.code !== 'SYSTEM_002') {
          audit.write({
            event: 'execution_denied',
            decision: 'deny',
            code: error.code,
            reason: error.message,
            ...about,
            directory: request.workingDirectory ?? request.defaultDirectory,
          });
        }
        throw error;
      }
    },
    dispose: () => audit.close(),
  };
}

function checkCommand(command: string): void {
  if (command.trim() === '') {
    throw new ShellServerError('PARAM_002', 'command is empty.', { hint: 'Say what should be run.' });
  }
  const bytes = Buffer.byteLength(command);
  if (bytes <= LIMITS.commandBytes) return;
  throw new ShellServerError('PARAM_002', `command has ${bytes} bytes; at most ${LIMITS.commandBytes} fit.`, {
    hint: 'Send long data as input_data, which the command reads from its stdin, or write a script to a file first.',
    details: { parameter: 'command', bytes, limit: LIMITS.commandBytes },
  });
}
