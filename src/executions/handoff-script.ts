/**
 * How a command is handed off to what waits in a sandbox, so that nothing of that is left of it: a shell in one that bwrap
 * has built, a process of the forker in a copy. Through a pipe: every user of the machine sees the arguments of a process,
 * and variables may be secrets.
 */
import { oncePer } from '../base/once.ts';
import { type Environment, SANDBOX_FDS } from '../security/security.ts';

export interface Handoff {
  readonly argv: readonly string[];
  readonly environment: Environment;
  readonly directory: string;
  readonly stdin: 'inherited' | 'input';
  readonly stderr: 'own' | 'merged' | 'discarded';
  readonly keepsState: boolean;
  /** Of processes, where no cgroup enforces it. */
  readonly maxProcesses: number | undefined;
}

/** Reads a script that is not there yet. */
export const WAITING_SHELL = ['/bin/sh', '-c', `. /dev/fd/${SANDBOX_FDS.handoff}`];

/** The first thing it reads: it says that it is there. */
export const readyScript = (words: string): string =>
  `echo "r ${words}" >&${SANDBOX_FDS.report}; exec ${SANDBOX_FDS.report}>&-\n`;

export function handoffScript(handoff: Handoff): string {
  const { environment, directory, maxProcesses } = handoff;
  const names = Object.keys(environment).filter((name) => name !== '_' && name !== 'PWD');
  const isShells = (name: string): boolean => !/^[A-Za-z_]\w*$/.test(name) || OF_SHELLS.test(name);
  const exported = names.filter((name) => !isShells(name));
  const assign = (name: string): string => `${name}=${quoted(environment[name] ?? '')}`;
  // A shell drops what cannot be a variable of its own, such as exported functions; env(1) puts it back.
  const odd = names.filter(isShells).map((name) => quoted(`${name}=${environment[name]}`));
  const argv = [...(odd.length === 0 ? [] : ['/usr/bin/env', '--', ...odd]), ...handoff.argv.map(quoted)];
  return [
    // Before anything is said there: nobody reads from it.
    ...(handoff.stderr === 'own' ? [] : [handoff.stderr === 'merged' ? 'exec 2>&1' : 'exec 2>/dev/null']),
    // Shells have two names for it.
    ...(maxProcesses === undefined
      ? []
      : [`{ ulimit -u ${maxProcesses} || ulimit -p ${maxProcesses}; } 2>/dev/null || exit 126`]),
    `cd -P ${quoted(directory)} || exit 126`,
    // Shells have some of their own, and bash complains of languages that are not there.
    'unset OLDPWD SHLVL',
    `{ export ${[...exported.map(assign), `PWD=${quoted(directory)}`].join(' ')}; } 2>/dev/null`,
    // bash takes one away again.
    ...(/^\d+$/.test(environment['SHLVL'] ?? '') ? ['[ -z "$BASH_VERSION" ] || SHLVL=$((SHLVL + 1))'] : []),
    `exec ${argv.join(' ')} ${redirections(handoff)}\n`,
  ].join('; ');
}

/** For the forker's `await_command`. No word can contain a NUL; without the last one, nothing runs. */
export function handoffWords(handoff: Handoff): string {
  const { argv, directory, stdin, stderr, keepsState, maxProcesses } = handoff;
  const variables = insideOf(handoff);
  return [
    directory,
    stdin === 'input' ? 1 : '',
    stderr,
    keepsState ? 1 : '',
    maxProcesses ?? '',
    argv.length,
    ...argv,
    ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
    'end',
  ].join('\0');
}

/** Its environment as a shell in the same place would pass it on. */
export const insideOf = oncePer(
  ({ environment, directory }: Pick<Handoff, 'environment' | 'directory'>): Environment => {
    const { _, ...variables } = environment;
    return { ...variables, PWD: directory };
  },
);

function redirections({ stdin, keepsState }: Handoff): string {
  const { input, handoff } = SANDBOX_FDS;
  return [
    ...(stdin === 'input' ? [`<&${input}`] : []),
    `${input}<&-`,
    `${handoff}<&-`,
    ...(keepsState ? [] : ['3>&-']),
  ].join(' ');
}

/** Those that a shell does not take like any other; `_` is every shell's own. */
const OF_SHELLS =
  /^(?:PPID|E?UID|GROUPS|OPTIND|LINENO|S?RANDOM|SECONDS|SHELLOPTS|BASHOPTS|BASHPID|BASH_(?:VERSINFO|COMMAND|SUBSHELL|ARGV0)|FUNCNAME|DIRSTACK|EPOCH(?:SECONDS|REALTIME)|HISTCMD|PIPESTATUS)$/;

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;
