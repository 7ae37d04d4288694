/**
 * The door of everything that decides whether a command may run, and with what. Nothing starts without a permit, and
 * permits are issued here alone: the directory is checked, the environment built, the decision written to the audit
 * log, and only then is there something that executions/ can launch.
 */
import { homedir } from 'node:os';
import type { Clock } from '../base/clock.ts';
import { isInside, locatePath, realPathOf } from '../base/config/paths.ts';
import { ShellServerError } from '../base/errors.ts';
import { randomText } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Settings } from '../base/settings.ts';
import { type Audit, createAudit } from './audit/audit.ts';
import { createDecisionCounts, type DecisionTotals } from './decision-counts.ts';
import { ApprovalNeeded, checkApproval, denied } from './decisions.ts';
import { createDirectories, type Directories } from './directories.ts';
import { buildEnvironment, checkDangerous, checkEnvironment, MARKER_NAME } from './environment.ts';
import { issuePermit, type LaunchPermit } from './permit.ts';
import type { Wish } from './policy/tighten.ts';
import type { ProtectedProcess } from './policy/types.ts';
import { createRestrictions, type RestrictionStore } from './restrictions.ts';
import type { RunHelper } from './sandbox/probe.ts';
import { createSandbox, type Sandbox } from './sandbox/sandbox.ts';
import { secretValues } from './secrets.ts';
import { checkShell, chooseShells, type Shells, shellArgv } from './shells.ts';

export { type Audit, type AuditHealth, createAudit } from './audit/audit.ts';
export type { AuditEntry, Decision, SecurityEvent } from './audit/entries.ts';
export { type AuditLine, byTime, followAudit, readAudit, readNewest, type TimeRange } from './audit/read.ts';
export { type AuditProblem, type Verification, verifyAudit } from './audit/verify.ts';
export { ApprovalNeeded } from './decisions.ts';
export type { Directories } from './directories.ts';
export { checkDangerous, checkEnvironment, MARKER_NAME, withoutOwn } from './environment.ts';
export { createMasker } from './mask-stream.ts';
export type { LaunchPermit, Limits } from './permit.ts';
export { escapeText } from './policy/show.ts';
export type { Judgement, Policy, ProtectedProcess } from './policy/types.ts';
export { createRestrictions, type Effective, type RestrictionStore, wireName } from './restrictions.ts';
export { findAppeared } from './sandbox/appeared.ts';
export type { RunHelper } from './sandbox/probe.ts';
export { type BubblewrapWall, WALL_FDS, WALL_FILE, type Wall } from './sandbox/profile.ts';
export type { Sandbox, SandboxState } from './sandbox/sandbox.ts';
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
  readonly inputData?: string | undefined;
  /** The binding of an ApprovalNeeded to which a person has agreed. */
  readonly approval?: string | undefined;
}

export interface Security {
  readonly shells: Shells;
  readonly directories: Directories;
  readonly audit: Audit;
  /** A permit, or a ShellServerError that says why not; audited either way. */
  authorize(request: LaunchRequest): Promise<LaunchPermit>;
  readonly sandbox: Sandbox;
  readonly restrictions: Pick<RestrictionStore, 'of' | 'warnings'>;
  /** Tightens what holds for a principal; audited, and so is an attempt to loosen it. */
  tighten(
    caller: {
      readonly principal: string;
      readonly requestId: string;
      readonly client: { readonly name: string };
    },
    wish: Wish,
  ): ReturnType<RestrictionStore['tighten']>;
  /** How commands of a principal were decided since then, by this server; the audit log has all of them. */
  decisionsSince(principal: string, sinceMs: number): DecisionTotals;
  dispose(): Promise<void>;
}

export function createSecurity(options: {
  readonly settings: Settings;
  readonly instance: string;
  readonly auditDirectory: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly runHelper: RunHelper;
  /** The server's own program and what it loads. */
  readonly installation: readonly string[];
  /** Private, and gone with the server. */
  readonly runDirectory: string;
  /** What no command may end: the server and those it was started by. */
  protectedProcesses(): readonly ProtectedProcess[];
}): Security {
  const { settings } = options;
  const restrictions = createRestrictions(settings.security);
  const shells = chooseShells(settings.shell, settings.environment['SHELL']);
  const sandbox = createSandbox({
    ...options,
    shell: shells.forCommands,
    securityOf: (principal) => restrictions.of(principal).security,
    programsOf: (principal) =>
      Object.keys(restrictions.of(principal).policy.allowedTable()).filter(isProgram),
  });
  const directories = createDirectories(
    (principal) => restrictions.of(principal).security.allowedDirectories,
    sandbox.hostPathOf,
  );
  const audit = createAudit({
    directory: options.auditDirectory,
    instance: options.instance,
    clock: options.clock,
    syncs: settings.audit.syncs,
    maxFileBytes: settings.audit.maxFileBytes,
  });

  const decisions = createDecisionCounts(options.clock);

  async function decide(request: LaunchRequest): Promise<Decided> {
    const { principal } = request;
    checkCommand(request.command);
    checkEnvironment(request.callerEnvironment);
    checkDangerous(request.callerEnvironment);
    // What a path means depends on the wall.
    await sandbox.state();
    const directory = directories.check(
      request.workingDirectory ?? request.defaultDirectory,
      request.defaultDirectory,
      { principal },
    );
    const { policy, security } = restrictions.of(principal);
    const judgement = policy.judge(request.command, {
      directory,
      home: homedir(),
      realPath: realPathOf,
      environment: {
        ...Object.fromEntries(definedEntries(request.sessionEnvironment)),
        ...request.callerEnvironment,
      },
      protectedProcesses: options.protectedProcesses(),
    });
    if (judgement.decision === 'deny') throw denied(judgement);
    if (judgement.decision === 'ask') checkApproval(request, judgement, { directory, policy });
    const enclosure = await sandbox.wallFor(principal);
    const isShut = security.root !== 'host' && enclosure !== undefined;
    const path = isShut ? SYSTEM_PATH : request.path;
    // Under an allow-list, exactly the shell whose grammar was judged.
    const shell = policy.hasAllowList ? JUDGED_SHELL : shells.forCommands;
    checkShell(shell, path);
    const marker = randomText();
    const seconds = security.maxExecutionTimeSeconds;
    const argv = shellArgv(shell, request.script ?? request.command);
    const permit = issuePermit({
      argv: enclosure?.relayed(argv) ?? argv,
      environment: buildEnvironment({
        inherited: settings.environment,
        mode: security.environment,
        allowed: security.allowedEnvironment,
        home: isShut ? homeBehindWall(security.workspace) : undefined,
        isWalled: enclosure !== undefined,
        hasNetwork: enclosure === undefined || security.network,
        path,
        shell: shells.configured,
        session: request.sessionEnvironment,
        caller: {
          ...enclosure?.variables,
          ...request.callerEnvironment,
          // What was judged is read by bash in this encoding.
          ...(policy.hasAllowList && { LC_ALL: 'C.UTF-8' }),
        },
        marker,
      }),
      directory,
      marker: `${MARKER_NAME}=${marker}`,
      maxDurationMs: seconds === undefined ? undefined : seconds * 1000,
      wall: enclosure?.wall,
      limits: {
        memoryBytes: security.maxMemoryBytes,
        processes: security.maxPids,
        cpuPercent: security.maxCpuPercent,
        cpuSeconds: security.maxCpuSeconds,
        fileBytes: security.maxFileBytes,
      },
      masked: security.masksOutput
        ? secretValues({ ...settings.environment, ...request.callerEnvironment })
        : [],
    });
    return { permit, rule: judgement.rule };
  }

  return {
    shells,
    directories,
    audit,
    sandbox,
    restrictions,
    tighten({ principal, requestId, client }, wish) {
      const about = { principal, requestId, client: client.name, asked: wish };
      try {
        const located = wish.allowedDirectories?.map((path) => locatePath(path, PLACE()));
        const tightened = restrictions.tighten(principal, {
          ...wish,
          ...(located !== undefined && { allowedDirectories: located }),
        });
        audit.write({
          event: 'restrictions_tightened',
          decision: 'allow',
          ...about,
          changes: tightened.changes,
        });
        return tightened;
      } catch (error) {
        if (error instanceof ShellServerError)
          audit.write({
            event: 'restrictions_refused',
            decision: 'deny',
            code: error.code,
            reason: error.message,
            ...about,
          });
        throw error;
      }
    },
    async authorize(request) {
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
        const { permit, rule } = await decide(request);
        decisions.note(request.principal, 'allow');
        audit.write({
          event: 'execution_allowed',
          decision: 'allow',
          rule,
          ...about,
          directory: permit.directory,
        });
        return permit;
      } catch (error) {
        if (error instanceof ShellServerError && error.code !== 'SYSTEM_002') {
          // Not decided yet: whether a person was asked and what they said, the edge records.
          const isOpen = error instanceof ApprovalNeeded;
          decisions.note(request.principal, isOpen ? 'ask' : 'deny');
          audit.write({
            event: isOpen ? 'approval_needed' : 'execution_denied',
            decision: isOpen ? 'ask' : 'deny',
            code: error.code,
            rule: error.details?.['rule'],
            reason: error.message,
            ...about,
            directory: request.workingDirectory ?? request.defaultDirectory,
          });
        }
        throw error;
      }
    },
    decisionsSince: decisions.since,
    async dispose() {
      await sandbox.dispose();
      audit.close();
    },
  };
}

/** Paths of a caller count from the home directory where they are not absolute. */
const PLACE = (): { directory: string; homedir: string } => ({ directory: homedir(), homedir: homedir() });

/** What an allow-list was judged by. */
const JUDGED_SHELL = '/bin/bash';

interface Decided {
  readonly permit: LaunchPermit;
  /** Which rule decided. */
  readonly rule: string;
}

/** Entries of the table that name a program, and not a pattern. */
const isProgram = (name: string): boolean => /^[\w.+-]+$/.test(name);

function definedEntries(variables: ReadonlyMap<string, string | undefined>): [string, string][] {
  return [...variables].flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as [string, string]],
  );
}

/** Where only a minimal root is, the tools of a home directory are not. */
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

function homeBehindWall(workspace: readonly string[]): string {
  const home = realPathOf(homedir());
  return workspace.some((directory) => isInside(home, realPathOf(directory))) ? home : '/tmp';
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
