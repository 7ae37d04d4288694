/**
 * The entry point of everything that decides whether a command may run, and with what. Nothing starts without a permit, and
 * permits are issued by authorize.ts alone.
 */
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { locatePath } from '../base/config/paths.ts';
import type { PresetName } from '../base/config/presets.ts';
import { ShellServerError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { once } from '../base/once.ts';
import type { Settings } from '../base/settings.ts';
import { askpassDirectory, hasAskpass } from './askpass.ts';
import { type Audit, createAudit } from './audit/audit.ts';
import { RESERVE } from './audit/reserve.ts';
import { createAuthorize, limitsOf } from './authorize.ts';
import { type Consider, createConsider } from './consider.ts';
import { createDecisionCounts, type DecisionTotals } from './decision-counts.ts';
import { createDirectories, type Directories } from './directories.ts';
import { type Ended, type Explained, explainEnd } from './explain/explain.ts';
import type { ConsideredRequest, LaunchRequest } from './launch-request.ts';
import type { LaunchPermit } from './permit.ts';
import type { Judgement, ProtectedProcess } from './policy/policy-types.ts';
import { createRestrictions, type RestrictionStore } from './restrictions.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import { createMask } from './secrets.ts';
import { chooseShells, judgedShell, type Shells, shellName } from './shells.ts';
import type { Wish } from './tighten.ts';
import { createTypedCheck, type TypedCheck } from './typed.ts';
import { createWaitRules, type WaitRules } from './wait-rules.ts';

export { ASKPASS_SOCKET, GIVEN, makeAskpass, REFUSED } from './askpass.ts';
export { type Audit, type AuditHealth, createAudit } from './audit/audit.ts';
export { AUDIT_EVENTS, type AuditEntry, type Decision } from './audit/audit-entry.ts';
export { type AuditLine, byTime, followAudit, readAudit, readNewest, type TimeRange } from './audit/read.ts';
export { RESERVE as AUDIT_RESERVE } from './audit/reserve.ts';
export { type Verification, verifyAudit } from './audit/verify.ts';
export { ApprovalNeeded } from './decisions.ts';
export type { Directories } from './directories.ts';
export {
  checkDangerous,
  checkEnvironment,
  type Environment,
  MARKER_NAME,
  withoutOwn,
} from './environment.ts';
export type { ConsideredRequest, ExtraRules, LaunchRequest } from './launch-request.ts';
export { createMasker } from './mask-stream.ts';
export type { LaunchPermit, Limits } from './permit.ts';
export { findLastPipeline } from './policy/last-pipeline.ts';
export type { Judgement, Policy } from './policy/policy-types.ts';
export { escapeJson, escapeText, quoteWord } from './policy/show-decision.ts';
export { isShellName } from './policy/tables/shell-names.ts';
export { textForWaitingShell } from './policy/waiting-shell.ts';
export { isWholeText } from './policy/whole-text.ts';
export { PRESET_COMMANDS } from './preset-lists.ts';
export { createRestrictions, type Effective, extraPolicy } from './restrictions.ts';
export { findAppeared } from './sandbox/appeared.ts';
export { type CopyPlan, createComparison, type MountCall, planCopy } from './sandbox/copy-plan.ts';
export { EXPOSURES } from './sandbox/exposures.ts';
export type { RunHelper } from './sandbox/probe.ts';
export { type BubblewrapSpec, SANDBOX_FDS, type SandboxSpec } from './sandbox/profile.ts';
export type { Sandbox, SandboxState } from './sandbox/sandbox.ts';
export {
  createMask,
  isMaskedName,
  MASK,
  type Mask,
  maskBeginning,
  maskEnvironment,
  maskText,
  secretValues,
} from './secrets.ts';
export { shellArgv, shellName } from './shells.ts';
export { type Wish, wireName } from './tighten.ts';
export { readsPassword } from './typed.ts';
export type { UrlTarget } from './wait-rules.ts';

export interface Security
  extends TypedCheck,
    ReturnType<typeof createShellChoice>,
    ReturnType<typeof createTighten> {
  readonly shells: Shells;
  readonly directories: Directories;
  /** What a caller may wait for. */
  readonly waitRules: WaitRules;
  readonly audit: Audit;
  /** What would be decided about a request, without a line in the audit log; throws as `authorize` does before it judges. */
  explain(request: ConsideredRequest): Promise<Judgement | undefined>;
  /** A permit, or a ShellServerError that says why not; audited either way. */
  authorize(request: LaunchRequest): Promise<LaunchPermit>;
  /** What the commands of a principal run behind, as far as it does not depend on them. */
  expectedSandbox(principal: string): Promise<Pick<LaunchPermit, 'sandboxSpec' | 'limits'>>;
  readonly sandbox: Sandbox;
  /** Why an execution failed, and what the audit log should mark. */
  explainEnd(ended: Ended & { readonly principal: string; readonly startedAtMs: number }): Explained;
  /** The directory of the program that asks for passwords, where one may. */
  askpass(): string | undefined;
  readonly restrictions: Pick<RestrictionStore, 'of' | 'warnings'>;
  /** A token says what its principal starts with. */
  admit(principal: string, preset: PresetName | undefined): void;
  /** How commands of a principal were decided since then, by this server; the audit log has all of them. */
  decisionsSince(principal: string, sinceMs: number): DecisionTotals;
  dispose(): Promise<void>;
}

interface SecurityOptions {
  readonly settings: Settings;
  readonly instance: string;
  readonly auditDirectory: string;
  readonly clock: Clock;
  readonly log: Log;
  /** From here on this module's, which also disposes it. */
  readonly sandbox: Sandbox;
  /** What no command may end: the server and those it was started by. */
  protectedProcesses(): readonly ProtectedProcess[];
}

export function createSecurity(options: SecurityOptions): Security {
  const { settings, sandbox } = options;
  const restrictions = createRestrictions(settings.security);
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
  const audit = auditOf(options);
  const decisions = createDecisionCounts(options.clock);
  const { consider, policyOf } = createConsider({ ...options, restrictions, directories });
  const askpass = once(() =>
    settings.security.asksSecrets && hasAskpass()
      ? askpassDirectory(join(settings.stateDir, 'run', options.instance))
      : undefined,
  );
  const decided = { ...options, restrictions, audit, decisions };
  return {
    shells,
    ...createShellChoice(shells, policyOf),
    directories,
    waitRules: createWaitRules({ of: restrictions.of, sandbox }),
    audit,
    sandbox,
    askpass,
    restrictions,
    admit: restrictions.begin,
    ...createTighten(restrictions, audit, options.clock),
    async explain(request) {
      const { refuses, problem } = await sandbox.state();
      const considered = consider(request);
      if (refuses === true)
        throw new ShellServerError('SECURITY_003', `Nothing runs without a sandbox: ${problem ?? ''}.`, {
          details: { rule: 'sandbox' },
        });
      return considered.judgement;
    },
    explainEnd: (ended) =>
      explainEnd(ended, {
        security: restrictions.of(ended.principal).security,
        environment: settings.environment,
        refused: sandbox.refusedSince(ended.startedAtMs),
      }),
    authorize: createAuthorize({ ...decided, consider, shells, askpass }),
    async expectedSandbox(principal) {
      const prepared = await sandbox.prepare(principal);
      return { sandboxSpec: prepared?.sandboxSpec, limits: limitsOf(restrictions.of(principal).security) };
    },
    ...createTypedCheck(decided),
    decisionsSince: decisions.since,
    async dispose() {
      await sandbox.dispose();
      audit.close();
    },
  };
}

function auditOf({ settings, instance, auditDirectory: directory, clock, log }: SecurityOptions): Audit {
  const reserve = join(directory, '..', RESERVE);
  return createAudit({
    directory,
    instance,
    clock,
    ...settings.audit,
    reserve,
    mask: createMask(settings.environment),
    ...(settings.verbose && { log }),
  });
}

function createShellChoice({ configured, forCommands }: Shells, policyOf: Consider['policyOf']) {
  const noticed = new Set<string>();
  return {
    /** What a principal's commands run in: bash, wherever a list names commands. */
    shellFor: (caller: Pick<LaunchRequest, 'principal' | 'rules'>): string =>
      judgedShell(forCommands, policyOf(caller)),
    /** The same for its terminals, where it names no shell. */
    terminalShellFor: (principal: string): string => judgedShell(configured, policyOf({ principal })),
    /** For the first answer to a principal whose commands run in another shell than the configured one. */
    shellNotice(caller: Pick<LaunchRequest, 'principal' | 'rules'>): string | undefined {
      const shell = judgedShell(forCommands, policyOf(caller));
      if (shellName(shell) === shellName(forCommands) || noticed.has(caller.principal)) return undefined;
      noticed.add(caller.principal);
      return `Commands run in ${shell} rather than ${forCommands}: the lists of commands in force are judged by the grammar of bash.`;
    },
  };
}

interface Tightener {
  readonly principal: string;
  readonly requestId: string;
  readonly client: { readonly name: string };
}

function createTighten(restrictions: RestrictionStore, audit: Audit, clock: Clock) {
  const tighten = (principal: string, wish: Wish): ReturnType<RestrictionStore['tighten']> =>
    restrictions.tighten(principal, located(wish), clock.now());
  return {
    /** What a principal tightened in another server, to explain what is decided there; not audited. */
    retighten: (principal: string, wish: Wish): void => void tighten(principal, wish),
    /** Tightens what holds for a principal; audited, and so is an attempt to loosen it. */
    tighten(
      { principal, requestId, client }: Tightener,
      wish: Wish,
    ): ReturnType<RestrictionStore['tighten']> {
      const about = { principal, requestId, client: client.name, asked: wish };
      try {
        const tightened = tighten(principal, wish);
        audit.write({
          event: 'restrictions_tightened',
          decision: 'allow',
          ...about,
          restrictionId: tightened.effective.restriction?.id,
          changes: tightened.changes,
        });
        return tightened;
      } catch (error) {
        if (error instanceof ShellServerError) {
          const { code, message: reason } = error;
          audit.write({ event: 'restrictions_refused', decision: 'deny', code, reason, ...about });
        }
        throw error;
      }
    },
  };
}

/** With its directories as absolute paths. */
function located(wish: Wish): Wish {
  const { allowedDirectories } = wish;
  if (allowedDirectories === undefined) return wish;
  // They count from the home directory where they are not absolute.
  const place = { directory: homedir(), homedir: homedir() };
  return { ...wish, allowedDirectories: allowedDirectories.map((path) => locatePath(path, place)) };
}

/** Entries of the table that name a program, and not a pattern. */
const isProgram = (name: string): boolean => /^[\w.+-]+$/.test(name);
