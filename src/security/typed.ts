/** What is typed into terminals: who may have one, and what the policy and the audit log have to do with it. */
import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { realPathOf } from '../base/config/paths.ts';
import { ShellServerError } from '../base/errors.ts';
import type { SecuritySettings, Settings } from '../base/settings.ts';
import type { Audit } from './audit/audit.ts';
import type { createDecisionCounts } from './decision-counts.ts';
import { APPROVAL_OPEN, ApprovalNeeded, checkApproval, denied } from './decisions.ts';
import { differsInSh } from './policy/follow.ts';
import type { Judgement, Policy, ProtectedProcess } from './policy/policy-types.ts';
import { SHELLS } from './policy/tables/wrappers.ts';
import type { RestrictionStore } from './restrictions.ts';
import { shellName } from './shells.ts';

/** What is about to be typed into a terminal. */
export interface InputRequest {
  readonly principal: string;
  readonly client: string;
  readonly requestId: string;
  readonly terminalId: string;
  /** What `rulesOf` said when the terminal was opened. */
  readonly openedUnder: string;
  readonly directory: string | undefined;
  /** Commands that the shell would run; undefined where it is not the shell that gets it. */
  readonly commands: string | undefined;
  /** The shell may be one that reads its lines plainly, as `sh` does, and not by the grammar of bash. */
  readonly isPlainShell?: boolean;
  /** Why nobody can tell what the shell would run: then it is not typed. */
  readonly uncertain?: { readonly reason: string; readonly hint: string } | undefined;
  /** For the record; undefined at a password prompt. */
  readonly input: string | undefined;
  readonly approval?: string | undefined;
}

export interface TypedCheck {
  /** A checksum of what holds for a principal now. */
  rulesOf(principal: string): string;
  /** Throws where it must not be typed; audited either way, before anything is typed. */
  authorizeInput(request: InputRequest): void;
}

export function createTypedCheck(options: {
  readonly settings: Settings;
  readonly restrictions: RestrictionStore;
  readonly audit: Audit;
  readonly decisions: ReturnType<typeof createDecisionCounts>;
  protectedProcesses(): readonly ProtectedProcess[];
}): TypedCheck {
  const { settings, restrictions, audit, decisions } = options;

  function rulesOf(principal: string): string {
    const { security: held, policy } = restrictions.of(principal);
    return createHash('sha256')
      .update(JSON.stringify([held, policy.identity]))
      .digest('hex')
      .slice(0, 32);
  }

  /** A best-effort filter: only the sandbox contains what is typed key by key, or into another program. */
  function judgeInput(request: InputRequest): Judgement | undefined {
    const { principal, openedUnder, commands, uncertain, directory = settings.defaultWorkdir } = request;
    const now = restrictions.of(principal);
    if (openedUnder !== rulesOf(principal)) {
      throw new ShellServerError(
        'SECURITY_003',
        'The restrictions have changed since this terminal was opened.',
        {
          hint: 'Close it with terminal_close and open another, which obeys them.',
          details: { rule: 'terminal' },
        },
      );
    }
    if (uncertain !== undefined)
      throw new ShellServerError('SECURITY_003', uncertain.reason, {
        hint: uncertain.hint,
        details: { rule: 'uncertain_line' },
      });
    if (commands === undefined || commands.trim() === '') return undefined;
    if (request.isPlainShell === true && now.policy.hasLists && differsInSh(commands))
      throw new ShellServerError(
        'SECURITY_003',
        'sh may parse this line differently from bash, whose grammar the policy uses.',
        {
          hint: 'Avoid bash syntax, or open a terminal with shell_type "bash".',
          details: { rule: 'uncertain_line' },
        },
      );
    const judgement = now.policy.judge(commands, {
      directory,
      home: homedir(),
      realPath: realPathOf,
      isContinued: true,
      environment: {},
      protectedProcesses: options.protectedProcesses(),
    });
    if (judgement.decision === 'deny') throw denied(judgement);
    if (judgement.decision === 'ask') {
      const asked = { ...request, command: commands, callerEnvironment: {}, sessionEnvironment: new Map() };
      checkApproval(asked, judgement, { directory, policy: now.policy, inherited: {} });
    }
    return judgement;
  }

  return {
    rulesOf,
    authorizeInput(request) {
      const { principal, client, requestId, terminalId, input } = request;
      const about = {
        principal,
        client,
        requestId,
        terminalId,
        input: input === undefined ? ({ isSecret: true } as const) : { text: input },
      };
      try {
        const judgement = judgeInput(request);
        if (request.commands !== undefined) decisions.note(principal, 'allow');
        audit.write({ event: 'terminal_input', decision: 'allow', rule: judgement?.rule, ...about });
      } catch (error) {
        if (error instanceof ShellServerError && error.code !== 'SYSTEM_002') {
          const isOpen = error instanceof ApprovalNeeded;
          decisions.note(principal, isOpen ? 'ask' : 'deny');
          audit.write({
            event: isOpen ? 'terminal_approval_needed' : 'terminal_input_denied',
            decision: isOpen ? 'ask' : 'deny',
            ...(isOpen ? { reason: APPROVAL_OPEN } : { code: error.code, reason: error.message }),
            rule: error.details?.['rule'],
            ...about,
          });
        }
        throw error;
      }
    },
  };
}

/** What is typed cannot be held to a list; that only the programs on it exist can. */
export function checkTerminal(policy: Policy, security: SecuritySettings, isSandboxed: boolean): void {
  const hasPrograms = isSandboxed && security.root === 'programs';
  if (security.hasTerminals && (!policy.hasAllowList || hasPrograms)) return;
  const why = security.hasTerminals
    ? 'Only some commands are allowed, and what is typed into a terminal cannot be held to that'
    : `There are no terminals under the preset ${security.preset}`;
  throw new ShellServerError('SECURITY_003', `${why}.`, {
    hint: 'Use shell_execute. Under an allow-list, terminals need a sandbox in which only the allowed programs exist (preset "production").',
    details: { rule: 'terminal' },
  });
}

/** Lines are judged by the grammar of bash, which `sh` has a part of and zsh and fish have not. */
export function checkTerminalShell(policy: Policy, shell: string): void {
  const name = shellName(shell);
  const isJudged = SHELLS[name] === 'bash' || SHELLS[name] === 'posix';
  if (!policy.hasLists || isJudged || process.platform === 'win32') return;
  throw new ShellServerError(
    'SECURITY_003',
    `Terminals run bash here: the policy uses its grammar, not that of ${name}.`,
    { hint: 'Open it with shell_type "bash".', details: { rule: 'terminal', shell: name } },
  );
}
