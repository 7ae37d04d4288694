/** What a client puts before its model: where commands run, and the few rules that save it from guessing. */
import type { SecuritySettings } from '../base/settings.ts';
import type { SandboxState } from '../security/sandbox/sandbox.ts';

export interface InstructionFacts {
  readonly shell: string;
  readonly platform: string;
  readonly host: string;
  readonly user: string;
  readonly defaultDirectory: string;
  readonly allowedDirectories: readonly string[] | undefined;
  /** What commands can write to, where they run in a sandbox. */
  readonly workspace: readonly string[];
  readonly network: string;
  /** Which tools there are to speak of; undefined: all. */
  readonly tools?: readonly string[];
  /** undefined: not known yet. */
  readonly sandbox?: Pick<SandboxState, 'kind' | 'problem' | 'refuses' | 'openNetwork'> | undefined;
}

export function instructionsFor(facts: InstructionFacts): string {
  const bounds =
    facts.allowedDirectories && ` Working directories must lie in: ${facts.allowedDirectories.join(', ')}.`;
  const where = `Default working directory: ${facts.defaultDirectory}.${bounds ?? ''}`;
  const has = (name: string): boolean => facts.tools?.includes(name) ?? true;
  return [
    `Runs commands in ${facts.shell} on ${facts.platform} (host ${facts.host}, user ${facts.user}). ${where}`,
    describeSandbox(facts),
    `Commands run non-interactively: stdin is empty${has('shell_execute') ? ' unless input_data is given' : ''}, pagers and editors are off.`,
    !has('shell_execute') || !has('process_get_execution')
      ? ''
      : 'shell_execute answers when the command ends, or after 10 s with status "running"; process_get_execution with wait_seconds then waits for it. Dev servers and watchers: execution_mode "background".',
    `${has('shell_execute') ? 'A non-zero exit code is a result, not a tool error. ' : ''}When a command ends or is ended, so is everything it started.`,
    !has('read_execution_output')
      ? ''
      : 'Long output is cut in the middle; read_execution_output reads any part by its output_id, and searches it with pattern.',
  ]
    .filter((line) => line !== '')
    .join('\n');
}

/** What of the instructions depends on what holds for a principal. */
export function sandboxFacts(
  security: SecuritySettings,
): Pick<InstructionFacts, 'allowedDirectories' | 'workspace' | 'network'> {
  const { allowedDirectories, workspace } = security;
  return { allowedDirectories, workspace, network: describeNetwork(security) };
}

function describeNetwork(security: SecuritySettings): string {
  if (!security.network) return 'off';
  return security.allowedDomains.length === 0 ? 'on' : `only ${security.allowedDomains.join(', ')}`;
}

function describeSandbox({ sandbox, workspace, network }: InstructionFacts): string {
  if (sandbox === undefined) return '';
  if (sandbox.refuses === true)
    return `Every command is denied: the sandbox is unavailable (${sandbox.problem}), and the settings require one. Only the operator can change that.`;
  const warning =
    sandbox.openNetwork === undefined
      ? ''
      : ' WARNING: the settings have the network off, but commands can reach it. Do not use it; tell the operator.';
  if (sandbox.kind === 'none') {
    const reason = sandbox.problem === undefined ? '' : ` (${sandbox.problem})`;
    return `No sandbox${reason}: commands have the full privileges of this user, and the network is not restricted by this server.${warning}`;
  }
  if (sandbox.kind === 'container')
    return `Commands run in the container around this server; the network is the container's, and not restricted by this server.${warning}`;
  // Among the allowed directories, it is the host's.
  const tmp = workspace.includes('/tmp') ? '' : ' and a private /tmp';
  return `Commands run in a sandbox: they can write to ${workspace.join(', ')}${tmp}; credentials are hidden; network ${network}. Only the operator can change that, in the settings.`;
}
