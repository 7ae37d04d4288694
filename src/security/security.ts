/**
 * The entry point of everything that decides whether a command may run, and with what. Nothing starts without a permit, and
 * permits are issued here alone: the directory is checked, the environment built, the decision written to the audit
 * log, and only then is there something that executions/ can launch.
 */
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { isInside, locatePath, realPathOf } from '../base/config/paths.ts';
import type { PresetName } from '../base/config/presets.ts';
import { ShellServerError } from '../base/errors.ts';
import { randomText } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import { once } from '../base/once.ts';
import type { SecuritySettings, Settings } from '../base/settings.ts';
import { askpassDirectory, askpassProgram, hasAskpass } from './askpass.ts';
import { type Audit, createAudit } from './audit/audit.ts';
import { RESERVE } from './audit/reserve.ts';
import { type ConsideredRequest, createConsider } from './consider.ts';
import { createDecisionCounts, type DecisionTotals } from './decision-counts.ts';
import { APPROVAL_OPEN, ApprovalNeeded, checkApproval, denied } from './decisions.ts';
import { createDirectories, type Directories } from './directories.ts';
import { buildEnvironment, MARKER_NAME } from './environment.ts';
import { definedEntries, type LaunchRequest } from './launch-request.ts';
import { issuePermit, type LaunchPermit, type Limits } from './permit.ts';
import type { Judgement, Policy, ProtectedProcess } from './policy/policy-types.ts';
import type { Wish } from './policy/tighten.ts';
import { checkProgram } from './programs.ts';
import { createRestrictions, type RestrictionStore, shellToolPolicy } from './restrictions.ts';
import type { PreparedSandbox, Sandbox } from './sandbox/sandbox.ts';
import { secretValues } from './secrets.ts';
import { createShellToolLog, type ShellToolLog } from './shell-tool-log.ts';
import { checkShell, chooseShells, judgedShell, type Shells, shellArgv, shellName } from './shells.ts';
import { checkTerminal, checkTerminalShell, createTypedCheck, type TypedCheck } from './typed.ts';
import { createWaitRules, type WaitRules } from './wait-rules.ts';

export { ASKPASS_SOCKET, GIVEN, makeAskpass, REFUSED } from './askpass.ts';
export { type Audit, type AuditHealth, createAudit } from './audit/audit.ts';
export { AUDIT_EVENTS, type AuditEntry, type Decision, type SecurityEvent } from './audit/audit-entry.ts';
export { type AuditLine, byTime, followAudit, readAudit, readNewest, type TimeRange } from './audit/read.ts';
export { RESERVE as AUDIT_RESERVE } from './audit/reserve.ts';
export { type AuditProblem, type Verification, verifyAudit } from './audit/verify.ts';
export type { ConsideredRequest } from './consider.ts';
export { ApprovalNeeded } from './decisions.ts';
export type { Directories } from './directories.ts';
export { checkDangerous, checkEnvironment, MARKER_NAME, withoutOwn } from './environment.ts';
export type { LaunchRequest, TerminalRequest } from './launch-request.ts';
export { createMasker } from './mask-stream.ts';
export type { LaunchPermit, Limits } from './permit.ts';
export { findLastPipeline } from './policy/last-pipeline.ts';
export { findNamedPaths } from './policy/named-paths.ts';
export type { Judgement, Policy, ProtectedProcess } from './policy/policy-types.ts';
export { PRESET_COMMANDS } from './policy/preset-lists.ts';
export { escapeJson, escapeText, quoteWord } from './policy/show-decision.ts';
export type { Wish } from './policy/tighten.ts';
export { createRestrictions, type Effective, type RestrictionStore, wireName } from './restrictions.ts';
export { findAppeared } from './sandbox/appeared.ts';
export { type CopyPlan, isFaithful, type MountCall, planCopy } from './sandbox/copy-plan.ts';
export { EXPOSURES } from './sandbox/exposures.ts';
export type { RunHelper } from './sandbox/probe.ts';
export { type BubblewrapSpec, SANDBOX_FDS, type SandboxSpec } from './sandbox/profile.ts';
export type { Sandbox, SandboxState } from './sandbox/sandbox.ts';
export { isMaskedName, MASK, maskBeginning, maskEnvironment, maskText, secretValues } from './secrets.ts';
export { shellName } from './shells.ts';
export type { InputRequest } from './typed.ts';
export type { UrlTarget } from './wait-rules.ts';

export interface Security extends TypedCheck {
  readonly shells: Shells;
  readonly directories: Directories;
  /** What a caller may wait for. */
  readonly waitRules: WaitRules;
  readonly audit: Audit;
  /** What a principal's commands run in: bash, wherever a list names commands. */
  shellFor(caller: Pick<LaunchRequest, 'principal' | 'rules'>): string;
  /** The same for its terminals, where it names no shell. */
  terminalShellFor(principal: string): string;
  /** For the first answer to a principal whose commands run in another shell than the configured one. */
  shellNotice(principal: string): string | undefined;
  /** What would be decided about a request, without a line in the audit log; throws as `authorize` does before it judges. */
  explain(request: ConsideredRequest): Promise<Judgement | undefined>;
  /** A permit, or a ShellServerError that says why not; audited either way. */
  authorize(request: LaunchRequest): Promise<LaunchPermit>;
  /** What the commands of a principal run behind, as far as it does not depend on them. */
  expectedSandbox(principal: string): Promise<Pick<LaunchPermit, 'sandboxSpec' | 'limits'>>;
  readonly sandbox: Sandbox;
  /** The directory of the program that asks for passwords, where one may. */
  askpass(): string | undefined;
  readonly restrictions: Pick<RestrictionStore, 'of' | 'warnings'>;
  /** A token says what its principal starts with. */
  admit(principal: string, preset: PresetName | undefined): void;
  /** Tightens what holds for a principal; audited, and so is an attempt to loosen it. */
  tighten(
    caller: {
      readonly principal: string;
      readonly requestId: string;
      readonly client: { readonly name: string };
    },
    wish: Wish,
  ): ReturnType<RestrictionStore['tighten']>;
  /** Says in the log how a command of the tool `shell` ended, or why it did not begin. */
  readonly logShellTool: ShellToolLog;
  /** What a principal tightened in another server, to explain what is decided there; not audited. */
  retighten(principal: string, wish: Wish): void;
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
  /** From here on this module's, which also disposes it. */
  readonly sandbox: Sandbox;
  /** What no command may end: the server and those it was started by. */
  protectedProcesses(): readonly ProtectedProcess[];
}): Security {
  const { settings, sandbox } = options;
  const shellTool = shellToolPolicy(settings.shellTool);
  const restrictions = createRestrictions(settings.security, shellTool?.warnings);
  const shells = chooseShells(settings.shell, settings.environment['SHELL']);
  sandbox.bind({
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
    reserve: join(options.auditDirectory, '..', RESERVE),
    ...(settings.verbose && { log: options.log }),
  });

  const decisions = createDecisionCounts(options.clock);
  const logShellTool = createShellToolLog(options.log, settings.shellTool.logsCommands);

  const input = createTypedCheck({ ...options, restrictions, audit, decisions });

  const { consider, policyOf } = createConsider({ ...options, restrictions, directories });

  async function decide(request: LaunchRequest): Promise<Decided> {
    const { principal, terminal } = request;
    // What a path means depends on the sandbox.
    await sandbox.state();
    const { directory, policy, argv, judgement } = consider(request);
    const { security } = restrictions.of(principal);
    if (judgement?.decision === 'deny') throw denied(judgement);
    if (judgement?.decision === 'ask')
      checkApproval(request, judgement, { directory, policy, inherited: settings.environment });
    const prepared = await sandbox.prepare(principal, terminal?.scripts);
    if (terminal !== undefined) {
      checkTerminal(policy, security, prepared !== undefined);
      checkTerminalShell(policy, terminal.shell);
    }
    const isShut = security.root !== 'host' && prepared !== undefined;
    const path = isShut ? SYSTEM_PATH : request.path;
    const marker = randomText();
    const seconds = security.maxExecutionTimeSeconds;
    if (terminal !== undefined) checkShell(terminal.shell, path);
    const started = terminal?.start(prepared?.scripts ?? terminal.scripts, {
      isSandboxed: prepared !== undefined,
      inherited: settings.environment,
    });
    if (argv !== undefined)
      checkProgram(argv[0] ?? '', {
        directory,
        path: request.callerEnvironment['PATH'] ?? path,
        isSandboxed: prepared !== undefined,
      });
    const program = started?.argv ?? argv ?? shellCommand(request, { policy, path });
    const permit = issuePermit({
      argv: prepared?.relayed(program) ?? program,
      environment: buildEnvironment({
        inherited: settings.environment,
        mode: security.environment,
        allowed: security.allowedEnvironment,
        home: isShut ? homeInSandbox(security.workspace) : undefined,
        isSandboxed: prepared !== undefined,
        hasNetwork: prepared === undefined || security.network,
        path,
        shell: shells.configured,
        session: request.sessionEnvironment,
        caller: {
          ...prepared?.variables,
          ...request.callerEnvironment,
          // What was judged is read by bash in this encoding.
          ...(policy.hasAllowList && { LC_ALL: 'C.UTF-8' }),
          ...started?.environment,
        },
        marker,
        isTerminal: terminal !== undefined,
        askpass: askpassFor(request, prepared),
      }),
      directory,
      marker: `${MARKER_NAME}=${marker}`,
      maxDurationMs: seconds === undefined ? undefined : seconds * 1000,
      sandboxSpec: prepared?.sandboxSpec,
      limits: limitsOf(security),
      masked: security.masksOutput
        ? [
            settings.environment,
            Object.fromEntries(definedEntries(request.sessionEnvironment)),
            request.callerEnvironment,
          ].flatMap(secretValues)
        : [],
    });
    return { permit, rule: judgement?.rule ?? 'terminal' };
  }

  const askpass = once(() =>
    settings.security.asksSecrets && hasAskpass()
      ? askpassDirectory(join(settings.stateDir, 'run', options.instance))
      : undefined,
  );

  /** Only where this server copies the output can what was typed be kept out of it. */
  function askpassFor({ mode, terminal }: LaunchRequest, prepared: PreparedSandbox | undefined) {
    const directory = askpass();
    if (directory === undefined || terminal !== undefined || mode === 'detached') return undefined;
    return prepared === undefined ? askpassProgram(directory) : prepared.askpass;
  }

  function shellCommand(
    { script, command }: LaunchRequest,
    { policy, path }: { readonly policy: Policy; readonly path: string },
  ): readonly string[] {
    const shell = judgedShell(shells.forCommands, policy);
    checkShell(shell, path);
    return shellArgv(shell, script ?? command);
  }

  const noticed = new Set<string>();

  return {
    shells,
    shellFor: (caller) => judgedShell(shells.forCommands, policyOf(caller)),
    terminalShellFor: (principal) => judgedShell(shells.configured, restrictions.of(principal).policy),
    shellNotice(principal) {
      const shell = judgedShell(shells.forCommands, restrictions.of(principal).policy);
      if (shellName(shell) === shellName(shells.forCommands) || noticed.has(principal)) return undefined;
      noticed.add(principal);
      return `Commands run in ${shell} rather than ${shells.forCommands}: the lists of commands in force are judged by the grammar of bash.`;
    },
    directories,
    waitRules: createWaitRules({ of: restrictions.of, sandbox }),
    audit,
    sandbox,
    askpass,
    restrictions,
    admit: restrictions.begin,
    retighten(principal, wish) {
      restrictions.tighten(principal, located(wish), options.clock.now());
    },
    tighten({ principal, requestId, client }, wish) {
      const about = { principal, requestId, client: client.name, asked: wish };
      try {
        const tightened = restrictions.tighten(principal, located(wish), options.clock.now());
        audit.write({
          event: 'restrictions_tightened',
          decision: 'allow',
          ...about,
          restrictionId: tightened.effective.restriction?.id,
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
    async explain(request) {
      const { refuses, problem } = await sandbox.state();
      const considered = consider(request);
      if (refuses === true)
        throw new ShellServerError('SECURITY_003', `Nothing runs without a sandbox: ${problem ?? ''}.`, {
          details: { rule: 'sandbox' },
        });
      return considered.judgement;
    },
    async authorize(request) {
      const about = {
        principal: request.principal,
        client: request.client,
        requestId: request.requestId,
        executionId: request.executionId,
        command: request.command,
        argv: request.argv,
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
          if (request.rules !== undefined)
            logShellTool(
              { ...about, directory: request.workingDirectory },
              { decision: isOpen ? 'ask' : 'deny', code: error.code },
            );
          audit.write({
            event: isOpen ? 'approval_needed' : 'execution_denied',
            decision: isOpen ? 'ask' : 'deny',
            ...(isOpen ? { reason: APPROVAL_OPEN } : { code: error.code, reason: error.message }),
            rule: error.details?.['rule'],
            ...about,
            directory: request.workingDirectory ?? request.defaultDirectory,
          });
        }
        throw error;
      }
    },
    async expectedSandbox(principal) {
      const prepared = await sandbox.prepare(principal);
      return { sandboxSpec: prepared?.sandboxSpec, limits: limitsOf(restrictions.of(principal).security) };
    },
    ...input,
    logShellTool,
    decisionsSince: decisions.since,
    async dispose() {
      await sandbox.dispose();
      audit.close();
    },
  };
}

const limitsOf = (security: SecuritySettings): Limits => ({
  memoryBytes: security.maxMemoryBytes,
  processes: security.maxPids,
  cpuPercent: security.maxCpuPercent,
  cpuSeconds: security.maxCpuSeconds,
  fileBytes: security.maxFileBytes,
});

/** With its directories as absolute paths. */
function located(wish: Wish): Wish {
  const { allowedDirectories } = wish;
  if (allowedDirectories === undefined) return wish;
  return { ...wish, allowedDirectories: allowedDirectories.map((path) => locatePath(path, PLACE())) };
}

/** Paths of a caller count from the home directory where they are not absolute. */
const PLACE = (): { directory: string; homedir: string } => ({ directory: homedir(), homedir: homedir() });

interface Decided {
  readonly permit: LaunchPermit;
  /** Which rule decided. */
  readonly rule: string;
}

/** Entries of the table that name a program, and not a pattern. */
const isProgram = (name: string): boolean => /^[\w.+-]+$/.test(name);

/** Where only a minimal root is, the tools of a home directory are not. */
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

function homeInSandbox(workspace: readonly string[]): string {
  const home = realPathOf(homedir());
  return workspace.some((directory) => isInside(home, realPathOf(directory))) ? home : '/tmp';
}
