/**
 * How a session's state leaves a shell: a few words before the command make the shell write its directory and its
 * exported variables to a descriptor of its own when it ends. Nothing of the command is changed or quoted again.
 */
import { shellName } from '../security/security.ts';

export interface ShellState {
  readonly directory: string;
  readonly variables: ReadonlyMap<string, string>;
}

/** The last entry; without it the shell was ended while it wrote. */
const END = 'mcp-shell-state-end';
/** The end only where env could say everything: it cannot be started with a variable above 128 KiB. */
const WRITE = `printf '%s\\0' "$PWD"; /usr/bin/env -0 && printf '%s\\0' ${END}`;

/** Moves the descriptor out of the way of scripts that use 3 themselves, where the shell can. */
const PREFIXES: Readonly<Record<string, string>> = {
  bash: `exec 250>&3 3>&-; trap '{ ${WRITE.replaceAll("'", `'\\''`)}; } >&250 2>/dev/null' EXIT; `,
  zsh: `exec {MCP_SHELL_fd}>&3 3>&-; trap '{ ${WRITE.replaceAll("'", `'\\''`)}; } >&$MCP_SHELL_fd 2>/dev/null' EXIT; `,
  sh: `exec 8>&3 3>&-; trap '{ ${WRITE.replaceAll("'", `'\\''`)}; } >&8 2>/dev/null' EXIT; `,
  fish: `function __mcp_shell_state --on-event fish_exit; begin; ${WRITE}; end >&3 2>/dev/null; end; `,
};

/** The command with the words before it; undefined where the shell is not one that we know how to ask. */
export function withStateReport(shell: string, command: string): string | undefined {
  const name = shellName(shell);
  const prefix =
    PREFIXES[name] ?? (name === 'dash' || name === 'ash' || name === 'ksh' ? PREFIXES['sh'] : undefined);
  return prefix === undefined ? undefined : prefix + command;
}

/** What the shell wrote; undefined where it wrote nothing, or not all. */
export function parseState(bytes: Buffer): ShellState | undefined {
  const entries = bytes.toString('utf8').split('\0');
  if (entries.pop() !== '' || entries.pop() !== END) return undefined;
  const directory = entries.shift();
  if (directory === undefined || !directory.startsWith('/')) return undefined;
  const variables = new Map<string, string>();
  for (const entry of entries) {
    const equals = entry.indexOf('=');
    if (equals > 0) variables.set(entry.slice(0, equals), entry.slice(equals + 1));
  }
  return { directory, variables };
}
