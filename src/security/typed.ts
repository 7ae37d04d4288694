/** What is typed into terminals: who may have one, and what the policy and the audit log have to do with it. */
import { hash } from 'node:crypto';
import { homedir } from 'node:os';
import { realPathOf } from '../base/config/paths.ts';
import { ShellServerError } from '../base/errors.ts';
import type { SecuritySettings, Settings } from '../base/settings.ts';
import type { Audit } from './audit/audit.ts';
import type { DecisionCounts } from './decision-counts.ts';
import { checkApproval, denied, refusalOf } from './decisions.ts';
import { setOf } from './list.ts';
import { isBuiltin } from './policy/builtins.ts';
import { differsInSh } from './policy/follow.ts';
import { isPlainRead } from './policy/plain-read.ts';
import type { JudgeContext, Judgement, Policy, ProtectedProcess } from './policy/policy-types.ts';
import { SHELLS } from './policy/tables/shell-names.ts';
import type { Effective, RestrictionStore } from './restrictions.ts';
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
  /** What a program that reads it may leave, any of which the shell would then run. */
  readonly left?: readonly string[] | undefined;
  /** It is a program's input, which the shell hardly ever gets, and need be no command. */
  readonly isLeftText?: boolean;
  /** The name of another shell that reads it. */
  readonly innerShell?: string | undefined;
  /** Variables that the terminal was opened with and the server does not have; null where it has none of that name. */
  readonly variables?: Readonly<Record<string, string | null>>;
  /** For the record. */
  readonly input: string;
  /** Whether it is typed at a password prompt. Without lists what is likely a password is not recorded either. */
  readonly secrecy?: 'none' | 'likely' | 'certain';
  /** What runs in the terminal's own shell, where it is that shell that reads it. */
  readonly running?: { readonly commands: string | undefined } | undefined;
  readonly approval?: string | undefined;
}

export type TypedCheck = ReturnType<typeof createTypedCheck>;

interface TypedOptions {
  readonly settings: Settings;
  readonly restrictions: RestrictionStore;
  readonly audit: Audit;
  readonly decisions: DecisionCounts;
  protectedProcesses(): readonly ProtectedProcess[];
}

export function createTypedCheck(options: TypedOptions) {
  const { restrictions, audit, decisions } = options;
  const hasLists = (principal: string): boolean => restrictions.of(principal).policy.hasLists;

  /** As the audit log has it. */
  function shownOf({ principal, input, secrecy = 'none', running }: InputRequest) {
    const isListed = hasLists(principal);
    const isLikely = secrecy === 'likely' && (running === undefined || readsPassword(running.commands));
    const isSecret = secrecy === 'certain' || (isLikely && !isListed);
    if (!isSecret) return { text: input };
    return { isSecret, ...(isListed && { length: input.replace(/<enter>$/, '').length }) } as const;
  }

  return {
    /** A checksum of what holds for a principal now. */
    rulesOf: (principal: string): string => checksumOf(restrictions.of(principal)),
    /** Whether a list names commands, so that nothing that a shell may run is typed unjudged. */
    hasLists,
    /** Throws where it must not be typed; audited either way, before anything is typed. */
    authorizeInput(request: InputRequest): void {
      const { principal, client, requestId, terminalId } = request;
      const about = { principal, client, requestId, terminalId, input: shownOf(request) };
      try {
        const judgement = judgeInput(request, options);
        if (request.commands !== undefined) decisions.note(principal, 'allow');
        audit.write({ event: 'terminal_input', decision: 'allow', rule: judgement?.rule, ...about });
      } catch (error) {
        const refusal = refusalOf(error);
        if (refusal !== undefined) {
          const { decision, recorded } = refusal;
          decisions.note(principal, decision);
          const event = decision === 'ask' ? 'terminal_approval_needed' : 'terminal_input_denied';
          audit.write({ event, ...recorded, ...about });
        }
        throw error;
      }
    },
  };
}

/** Whether these commands of a shell read a password, if it reads without echo. */
export const readsPassword = (commands: string | undefined): boolean =>
  commands !== undefined && isPlainRead(commands);

/** A best-effort filter: only the sandbox contains what is typed key by key, or into another program. */
function judgeInput(
  request: InputRequest,
  { settings, restrictions, protectedProcesses }: TypedOptions,
): Judgement | undefined {
  const { principal, openedUnder, commands, left = [], innerShell, uncertain } = request;
  const { directory = settings.defaultWorkdir } = request;
  const now = restrictions.of(principal);
  if (openedUnder !== checksumOf(now))
    throw refused('terminal', {
      reason: 'The restrictions have changed since this terminal was opened.',
      hint: 'Close it with terminal_close and open another, which obeys them.',
    });
  if (uncertain !== undefined) throw refused('uncertain_line', uncertain);
  const context: JudgeContext = {
    directory,
    home: homedir(),
    realPath: realPathOf,
    isContinued: true,
    environment: leadingOf(request.variables),
    protectedProcesses: protectedProcesses(),
  };
  const isText = request.isLeftText === true;
  for (const text of left) checkLeft(now.policy.judge(text, context), now.policy, isText);
  if (commands === undefined || commands.trim() === '') return undefined;
  if (innerShell !== undefined) checkTerminalShell(now.policy, innerShell);
  if (request.isPlainShell === true && now.policy.hasLists && differsInSh(commands))
    throw refused('uncertain_line', {
      reason: 'sh may parse this line differently from bash, whose grammar the policy uses.',
      hint: 'Avoid bash syntax, or open a terminal with shell_type "bash".',
    });
  const judgement = now.policy.judge(commands, context);
  if (judgement.decision === 'deny') throw denied(judgement);
  if (judgement.decision === 'ask') {
    const variables = Object.entries(request.variables ?? {});
    const sessionEnvironment = new Map(variables.map(([name, value]) => [name, value ?? undefined]));
    const asked = { ...request, command: commands, callerEnvironment: {}, sessionEnvironment };
    checkApproval(asked, judgement, { directory, policy: now.policy, inherited: {} });
  }
  return judgement;
}

/** Variables of the terminal that decide where its shell goes; the others may have changed since. */
const leadingOf = (variables: InputRequest['variables'] = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries(variables).flatMap(([name, value]) =>
      (name === 'CDPATH' || name === 'HOME') && value !== null ? [[name, value]] : [],
    ),
  );

/** A question would show what may be a password; what is not read to its end may go on in the next line. */
function checkLeft(judgement: Judgement, policy: Policy, isText: boolean): void {
  if (isText && isUnlisted(judgement, policy)) return;
  if (judgement.decision === 'deny') throw denied(judgement);
  if (judgement.decision === 'allow' && (isText || judgement.unknowns.length === 0)) return;
  throw refused('uncertain_line', {
    reason:
      'Nothing was sent: the program may leave some of this line to the shell, and it is not certain what that would run.',
    hint: 'Use a program that reads whole passwords (sudo, ssh, gpg), or ask the operator to type it.',
  });
}

/** Of the shell's own commands, those that change something else than the shell's variables and directory. */
const OTHER_BUILTINS = setOf('bg coproc disown fg history kill suspend time ulimit umask');

/** Under an allow-list a terminal has the allowed programs only, and `y` is none of them. */
function isUnlisted({ refused: named, decision, ruleClass }: Judgement, policy: Policy): boolean {
  if (decision !== 'deny' || ruleClass !== 'not-allowed' || named === undefined) return false;
  const names = Object.keys(policy.allowedTable()).map((name) => name.split(' ')[0] ?? '');
  return (
    /^[\w.-]+$/.test(named.command) &&
    !isBuiltin(named.command) &&
    !OTHER_BUILTINS.has(named.command) &&
    names.every((name) => /^[\w.+-]+$/.test(name) && name !== named.command)
  );
}

function checksumOf({ security, policy }: Effective): string {
  return hash('sha256', JSON.stringify([security, policy.identity])).slice(0, 32);
}

function refused(
  rule: string,
  { reason, hint }: NonNullable<InputRequest['uncertain']>,
  details: object = {},
): ShellServerError {
  return new ShellServerError('SECURITY_003', reason, { hint, details: { rule, ...details } });
}

/** What is typed cannot be held to a list; that only the programs on it exist can. */
export function checkTerminal(policy: Policy, security: SecuritySettings, isSandboxed: boolean): void {
  const hasPrograms = isSandboxed && security.root === 'programs';
  if (security.hasTerminals && (!policy.hasAllowList || hasPrograms)) return;
  const why = security.hasTerminals
    ? 'Only some commands are allowed, and what is typed into a terminal cannot be held to that'
    : `There are no terminals under the preset ${security.preset}`;
  throw refused('terminal', {
    reason: `${why}.`,
    hint: 'Use shell_execute. Under an allow-list, terminals need a sandbox in which only the allowed programs exist (preset "production").',
  });
}

/** Lines are judged by the grammar of bash, which `sh` has a part of and zsh and fish have not. */
export function checkTerminalShell(policy: Policy, shell: string): void {
  const name = shellName(shell);
  const isJudged = SHELLS[name] === 'bash' || SHELLS[name] === 'posix';
  if (!policy.hasLists || isJudged || process.platform === 'win32') return;
  const reason = `Terminals run bash here: the policy uses its grammar, not that of ${name}.`;
  throw refused('terminal', { reason, hint: 'Open it with shell_type "bash".' }, { shell: name });
}
