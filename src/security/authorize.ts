/**
 * From a request to a permit: the directory is checked, the environment built, the decision written to the audit log, and
 * only then is there something that executions/ can launch.
 */
import { homedir } from 'node:os';
import { isInside, realPathOf } from '../base/config/paths.ts';
import { randomText } from '../base/ids.ts';
import type { SecuritySettings, Settings } from '../base/settings.ts';
import { askpassProgram } from './askpass.ts';
import type { Audit } from './audit/audit.ts';
import type { Consider } from './consider.ts';
import type { DecisionCounts } from './decision-counts.ts';
import { checkApproval, denied, refusalOf } from './decisions.ts';
import { createEnvironments, MARKER_NAME } from './environment.ts';
import { definedEntries, type LaunchRequest } from './launch-request.ts';
import { issuePermit, type LaunchPermit, type Limits } from './permit.ts';
import type { Policy } from './policy/policy-types.ts';
import { checkProgram } from './programs.ts';
import type { RestrictionStore } from './restrictions.ts';
import type { PreparedSandbox, Sandbox } from './sandbox/sandbox.ts';
import { secretValues } from './secrets.ts';
import { checkShell, judgedShell, type Shells, shellArgv } from './shells.ts';
import { checkTerminal, checkTerminalShell } from './typed.ts';

interface AuthorizeOptions {
  readonly audit: Audit;
  readonly decisions: DecisionCounts;
  readonly settings: Settings;
  readonly sandbox: Sandbox;
  readonly restrictions: RestrictionStore;
  readonly consider: Consider['consider'];
  readonly shells: Shells;
  /** The directory of the program that asks for passwords, where one may. */
  askpass(): string | undefined;
}

export function createAuthorize(options: AuthorizeOptions) {
  const { audit, decisions } = options;
  const decide = createDecide(options);
  return async (request: LaunchRequest): Promise<LaunchPermit> => {
    const { principal, client, requestId, executionId, command, argv, mode, sessionId: session } = request;
    const about = { principal, client, requestId, executionId, command, argv, mode, session };
    try {
      const { permit, rule } = await decide(request);
      decisions.note(principal, 'allow');
      const { directory } = permit;
      audit.write({ event: 'execution_allowed', decision: 'allow', rule, ...about, directory });
      return permit;
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal !== undefined) {
        const { decision, code } = refusal;
        decisions.note(principal, decision);
        request.rules?.onRefused(request, { decision, code });
        audit.write({
          event: decision === 'ask' ? 'approval_needed' : 'execution_denied',
          ...refusal.recorded,
          ...about,
          directory: request.workingDirectory ?? request.defaultDirectory,
        });
      }
      throw error;
    }
  };
}

/** A permit, and which rule decided. */
function createDecide(options: Omit<AuthorizeOptions, 'audit' | 'decisions'>) {
  const { settings, sandbox, shells } = options;
  const inherited = settings.environment;
  const environmentOf = createEnvironments();
  return async (request: LaunchRequest): Promise<{ permit: LaunchPermit; rule: string }> => {
    const { principal, terminal, callerEnvironment, sessionEnvironment } = request;
    // What a path means depends on the sandbox.
    await sandbox.state();
    const { directory, policy, argv, judgement } = options.consider(request);
    const { security } = options.restrictions.of(principal);
    if (judgement?.decision === 'deny') throw denied(judgement);
    if (judgement?.decision === 'ask') checkApproval(request, judgement, { directory, policy, inherited });
    const prepared = await sandbox.prepare(principal, terminal?.scripts);
    const isSandboxed = prepared !== undefined;
    const isShut = security.root !== 'host' && isSandboxed;
    const path = isShut ? SYSTEM_PATH : request.path;
    if (terminal !== undefined) {
      checkTerminal(policy, security, isSandboxed);
      checkTerminalShell(policy, terminal.shell);
      checkShell(terminal.shell, path);
    }
    const started = terminal?.start(prepared?.scripts ?? terminal.scripts, { isSandboxed, inherited });
    if (argv !== undefined)
      checkProgram(argv[0] ?? '', { directory, path: callerEnvironment['PATH'] ?? path, isSandboxed });
    const program = started?.argv ?? argv ?? shellCommand(request, shells, policy, path);
    const seconds = security.maxExecutionTimeSeconds;
    const permit = issuePermit({
      argv: prepared?.relayed(program) ?? program,
      environment: environmentOf({
        inherited,
        mode: security.environment,
        allowed: security.allowedEnvironment,
        home: isShut ? homeInSandbox(security.workspace) : undefined,
        isSandboxed,
        hasNetwork: !isSandboxed || security.network,
        path,
        shell: shells.configured,
        session: sessionEnvironment,
        caller: {
          ...prepared?.variables,
          ...callerEnvironment,
          // What was judged is read by bash in this encoding.
          ...(policy.hasAllowList && { LC_ALL: 'C.UTF-8' }),
          ...started?.environment,
        },
        isTerminal: terminal !== undefined,
        askpass: askpassFor(request, prepared, options.askpass()),
      }),
      directory,
      marker: `${MARKER_NAME}=${randomText()}`,
      maxDurationMs: seconds === undefined ? undefined : seconds * 1000,
      sandboxSpec: prepared?.sandboxSpec,
      limits: limitsOf(security),
      hasLists: policy.hasLists,
      given: terminal === undefined ? {} : givenIn(request, inherited),
      masked: security.masksOutput ? maskedIn(request, inherited) : [],
    });
    return { permit, rule: judgement?.rule ?? 'terminal' };
  };
}

/** Only where this server copies the output can what was typed be kept out of it. */
function askpassFor(
  { mode, terminal }: LaunchRequest,
  prepared: PreparedSandbox | undefined,
  directory: string | undefined,
): string | undefined {
  if (directory === undefined || terminal !== undefined || mode === 'detached') return undefined;
  return prepared === undefined ? askpassProgram(directory) : prepared.askpass;
}

function shellCommand(
  { script, command }: LaunchRequest,
  { forCommands }: Shells,
  policy: Policy,
  path: string,
): readonly string[] {
  const shell = judgedShell(forCommands, policy);
  checkShell(shell, path);
  return shellArgv(shell, script ?? command);
}

function givenIn(
  { sessionEnvironment, callerEnvironment }: LaunchRequest,
  inherited: Readonly<Record<string, string>>,
): Record<string, string | null> {
  const all = [...sessionEnvironment, ...Object.entries(callerEnvironment)];
  return Object.fromEntries(
    all.filter(([name, value]) => inherited[name] !== value).map(([name, value]) => [name, value ?? null]),
  );
}

/** Values that must not be in what a command prints. */
function maskedIn(
  { sessionEnvironment, callerEnvironment }: LaunchRequest,
  inherited: Readonly<Record<string, string>>,
): string[] {
  const session = Object.fromEntries(definedEntries(sessionEnvironment));
  return [inherited, session, callerEnvironment].flatMap(secretValues);
}

export const limitsOf = (security: SecuritySettings): Limits => ({
  memoryBytes: security.maxMemoryBytes,
  processes: security.maxPids,
  cpuPercent: security.maxCpuPercent,
  cpuSeconds: security.maxCpuSeconds,
  fileBytes: security.maxFileBytes,
});

/** Where only a minimal root is, the tools of a home directory are not. */
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

function homeInSandbox(workspace: readonly string[]): string {
  const home = realPathOf(homedir());
  return workspace.some((directory) => isInside(home, realPathOf(directory))) ? home : '/tmp';
}
