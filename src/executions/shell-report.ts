/**
 * What a shell reports when it ends: its directory and exported variables, for a session, and the statuses of the pipeline
 * that it ran last. A few words before the command make the shell write that to a descriptor of its own. Nothing of the
 * command is changed or quoted again.
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

/** Where the shell knows them. `builtin`, because a command may define a function of the other's name. */
const STATUSES: Readonly<Record<string, string>> = {
  bash: `builtin printf '|%s' "\${PIPESTATUS[@]}"; builtin printf '\\0'`,
  zsh: `builtin printf '|%s' "\${pipestatus[@]}"; builtin printf '\\0'`,
};

/** Moves the descriptor out of the way of scripts that use 3 themselves, where the shell can. */
const TRAPS: Readonly<Record<string, { readonly move: string; readonly to: string }>> = {
  // Where fewer descriptors are allowed, there is no report and no complaint.
  bash: { move: '{ exec 250>&3 3>&-; } 2>/dev/null', to: '250' },
  zsh: { move: 'exec {MCP_SHELL_fd}>&3 3>&-', to: '$MCP_SHELL_fd' },
  sh: { move: 'exec 8>&3 3>&-', to: '8' },
};

const FISH = `function __mcp_shell_state --on-event fish_exit; begin; ${WRITE}; end >&3 2>/dev/null; end; `;

export interface Wanted {
  readonly state: boolean;
  readonly statuses: boolean;
}

/** The command with the words before it; undefined where nothing is wanted that the shell can report. */
export function withReport(shell: string, command: string, wanted: Wanted): string | undefined {
  const name = shellName(shell);
  if (name === 'fish') return wanted.state ? FISH + command : undefined;
  const trap = TRAPS[name === 'dash' || name === 'ash' || name === 'ksh' ? 'sh' : name];
  const statuses = wanted.statuses ? STATUSES[name] : undefined;
  const parts = [statuses, wanted.state ? WRITE : undefined].filter((part) => part !== undefined);
  if (trap === undefined || parts.length === 0) return undefined;
  const report = parts.join('; ').replaceAll("'", `'\\''`);
  return `${trap.move}; trap '{ ${report}; } 2>/dev/null >&${trap.to}' EXIT; ${command}`;
}

/**
 * Of every stage; undefined where the shell did not say, or where they are not so many. A subshell of bash that ends over an
 * unset variable runs the trap as well: the shell itself is the last one.
 */
export function parseStatuses(bytes: Buffer, stages: number): readonly number[] | undefined {
  const [reports = ''] = /^(?:(?:\|\d{1,3})+\0)*/.exec(bytes.toString('latin1', 0, STATUSES_MAX_BYTES)) ?? [];
  const statuses = reports.split('\0').at(-2)?.slice(1).split('|').map(Number);
  return statuses?.length === stages ? statuses : undefined;
}

/** More stages than anybody writes. */
const STATUSES_MAX_BYTES = 4096;

/** What the shell wrote; undefined where it wrote nothing, or not all. */
export function parseState(bytes: Buffer): ShellState | undefined {
  const entries = bytes.toString('utf8').split('\0');
  if (entries.pop() !== '' || entries.pop() !== END) return undefined;
  while (entries[0]?.startsWith('|') === true) entries.shift();
  const directory = entries.shift();
  if (directory === undefined || !directory.startsWith('/')) return undefined;
  const variables = new Map<string, string>();
  for (const entry of entries) {
    const equals = entry.indexOf('=');
    if (equals > 0) variables.set(entry.slice(0, equals), entry.slice(equals + 1));
  }
  return { directory, variables };
}
